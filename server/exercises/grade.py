"""The grade of an edit: whether it reaches a goal by what the judge has answered, and the note of what it lacks; asked
of the engine of the edit, and once of that of the goal's model.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple

from cachetools import LRUCache

from ..documents.columns import document_columns
from ..protocol.answer import Answer, curves_of
from ..protocol.errors import BadQuestion, EngineBroken, Unsolved
from ..protocol.fingerprint import fingerprint
from ..schema.answer_notes import SOLVED, note_of
from ..schema.op import OpDescription, ParameterDescription
from ..supervisor.edits import Edits
from ..supervisor.engine import Engine
from ..supervisor.single_flight import IsDisconnected
from ..url.address import query_values, value_text
from ..url.parse import parse_query, read_address
from .exercise import GOALS, READINGS, Goal, line_to_mend

Document = dict[str, Any]  # an answer with its columns as lists
_Column = list[float]
_RTOL = 1e-9  # bound: forwards that differ by less, as a share of the largest value, are the same but for rounding
_ONE_CALL = "right-in-one-call"  # the answer note of what is wrong for other values of a parameter alone
TRIED = "Tried"  # the Function that is left when a check has rejected all others
# What is right, and not what is asked for: the answer note, and what the goal is.
_OTHERWISE = {
    "matches": ("no-surrogate", "backward is the derivative of forward; the goal is that of the surrogate instead."),
    "matches its surrogate": ("surrogate", "backward is the derivative of a surrogate; the goal is that of forward."),
}
_FORWARD_CHANGED = "forward does not return what it did: only backward is to be mended."
_HARNESS = f"""

from torch.autograd.gradcheck import GradcheckError


class {TRIED}(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


def _passes(function):
    try:
        return check(function) is not False
    except (AssertionError, GradcheckError):
        return False


for _name in {{names}}:
    if not _passes(globals()[_name]):
        del globals()[_name]
"""


class Hint(NamedTuple):
    """What somebody may ask who is stuck, and the sentence that answers it."""

    asks: str
    says: str


@dataclass(frozen=True)
class Grade:
    """Whether a goal is reached; the answer ``note``, ``solved`` where it is; and what helps, from hint to hint.

    ``trouble`` is why the edit cannot be called, "" where it can.
    """

    solved: bool
    note: str
    hints: tuple[Hint, ...] = ()
    trouble: str = ""


def graded_text(text: str, goal: Goal) -> str:
    """The text that is run to grade an edit: the edit, and behind it what the goal appends."""
    harness = _HARNESS.format(names=sorted((*goal.catches, *goal.spares))) if goal.kind == "check" else ""
    return f"{text}\n\n{goal.appended}{harness}" if goal.appended or harness else text


class Measured(NamedTuple):
    """A document of a model, the whole query that it answers, by name, and how a reader changes what is shown to it."""

    words: dict[str, str]
    document: Document
    changed: str = ""


def grade_answers(text: str, goal: Goal, answers: Sequence[Document], models: Sequence[Measured]) -> Grade:
    """The grade by the documents of the edit and of the model, one for each query of the goal and each value that is
    tried of a parameter.

    The first that is wrong gives the note. ``answers`` may end at it.
    """
    for answer, model in zip(answers, models, strict=False):
        if not answer["failure"] and not same_forward(answer, model.document):
            return Grade(False, "forward-changed", (Hint("Where?", model.changed + _FORWARD_CHANGED),))
        verdict = answer["verdict"]
        note = verdict["note"]
        if model.changed and note != SOLVED:
            says = f"{model.changed}{verdict['headline']}"
            return Grade(False, _ONE_CALL, (Hint("Where?", says), *line_hint(text, line_to_mend(text, note))))
        if note == SOLVED and verdict["word"] != GOALS[goal.kind]:
            note, says = _OTHERWISE[verdict["word"]]
            return Grade(False, note, (Hint("Where?", says), *line_hint(text, line_to_mend(text, note))))
        if note != SOLVED:
            failure = answer["failure"]
            return Grade(False, note, _hints(text, note, answer), failure["sentence"] if failure else "")
    for check in goal.clean:
        if line := READINGS[check](text):
            note = note_of(check)
            return Grade(False, note, (Hint("Where?", "In no curve: it is in what is kept."), *line_hint(text, line)))
    return Grade(True, SOLVED)


def grade_check(goal: Goal, left: Collection[str]) -> Grade:
    """The grade of a check that a reader has written, by the names of the Functions that it has ``left``."""
    missed = [name for name in goal.catches if name in left]
    accused = [name for name in goal.spares if name not in left]
    caught = f"It catches {len(goal.catches) - len(missed)} of {len(goal.catches)} wrong backwards"
    if accused:
        return Grade(False, "right-accused", (Hint("Where?", f"{caught}, and rejects a right one."),))
    if missed:
        note = goal.catches[missed[0]]
        kind = f"One that it lets through is of the kind “{note}”."
        return Grade(False, f"misses-{note}", (Hint("Where?", f"{caught}."), Hint("What kind?", kind)))
    return Grade(True, SOLVED)


def same_forward(answer: Document, model: Document) -> bool:
    """Whether two documents agree in forward, and in a surrogate that is declared, wherever both have looked.

    Of a second derivative they say nothing: its forward is what backward returned.
    """
    if model["order"] != 1:
        return True
    one, other = answer["columns"], model["columns"]
    rows = {x: row for row, x in enumerate(one["x"])}
    pairs = [(rows[x], row) for row, x in enumerate(other["x"]) if x in rows]
    return len(pairs) >= model["count"] // 2 and all(
        _same_column(one[name], other[name], pairs) for name in ("forward", "surrogate")
    )


def _same_column(one: _Column | None, other: _Column | None, pairs: Sequence[tuple[int, int]]) -> bool:
    if one is None or other is None:
        return one is other
    numbers = [(_finite(one[mine]), _finite(other[theirs])) for mine, theirs in pairs]
    bound = _RTOL * max((abs(second) for _, second in numbers if second is not None), default=0.0)
    return all(
        first is second if first is None or second is None else abs(first - second) <= bound
        for first, second in numbers
    )


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def _hints(text: str, note: str, answer: Document) -> tuple[Hint, ...]:
    """Where it is wrong, of what kind that is, and in which line."""
    verdict, failure = answer["verdict"], answer["failure"]
    story = failure or verdict["explanation"] or {"sentence": ""}
    pairs = (Hint("Where?", verdict["headline"]), Hint("What kind?", story["sentence"]))
    return tuple(hint for hint in pairs if hint.says) + line_hint(text, line_to_mend(text, note))


def line_hint(text: str, line: int | None) -> tuple[Hint, ...]:
    """Which line it is, as it stands there."""
    lines = text.splitlines()
    if not line or line > len(lines):
        return ()
    return (Hint("Which line?", f"Line {line}: `{lines[line - 1].strip()}`"),)


_MOST_MODELS = 64  # budget: of an exercise each, of which one has a few hundred kB


class Grader:
    """Grades the edits of one server. The documents of models are kept, and measured again when they are forgotten."""

    def __init__(self, edits: Edits) -> None:
        self._edits = edits
        self._models: LRUCache[str, list[Measured]] = LRUCache(_MOST_MODELS)

    async def grade(self, text: str, goal: Goal, address: str, gone: IsDisconnected | None = None) -> Grade:
        """The grade of an edit, asked for by a client at this address. Raises ``EngineBusy``.

        And ``BadQuestion`` for a goal whose own model cannot be asked.
        """
        models = [] if goal.kind == "check" else await self._model(goal, address, gone)
        async with self._edits.engine(graded_text(text, goal), address, gone) as engine:
            try:
                if goal.kind == "check":
                    await engine.wait_ready()
                    return grade_check(goal, await engine.catalogue())
                answers = await _answers(engine, models, gone)
            except BadQuestion as problem:
                return Grade(False, "call-changed", (Hint("Where?", str(problem)),))
            except (EngineBroken, Unsolved) as problem:
                return _grade_of_trouble(text, engine, problem)
        return grade_answers(text, goal, answers, models)

    async def _model(self, goal: Goal, address: str, gone: IsDisconnected | None) -> list[Measured]:
        key = fingerprint(goal.model, goal.appended, *goal.asks)
        if key not in self._models:
            async with self._edits.engine(graded_text(goal.model, goal), address, gone) as engine:
                try:
                    self._models[key] = await _measured(engine, goal.asks, gone)
                except (EngineBroken, Unsolved) as problem:
                    sentence = _grade_of_trouble(goal.model, engine, problem).hints[0].says
                    raise BadQuestion(f"The code that the edit started from cannot be run: {sentence}") from None
        return self._models[key]


async def _measured(engine: Engine, queries: Sequence[str], gone: IsDisconnected | None) -> list[Measured]:
    """What a model answers to these queries, with all that they leave open written out.

    Then to the same with other values of the parameters that they leave open, where it is right for these, too.
    """
    asked = [await _asked(engine, parse_query(query), "", gone) for query in queries]
    for query in queries:
        words = parse_query(query)
        for each in (await _first_op(engine, words))["parameters"]:
            for value in [] if each["name"] in words else _other_values(each):
                changed = {each["name"]: value_text(value)}
                other = await _asked(engine, words | changed, f"Set {each['name']} to {value_text(value)}. ", gone)
                asked += [other] * (other.document["verdict"]["note"] == SOLVED)
    return asked


async def _asked(engine: Engine, words: dict[str, str], changed: str, gone: IsDisconnected | None) -> Measured:
    op = await _first_op(engine, words)
    address = read_address(op, await engine.device(), words)
    values = query_values(address) | {"recipe": words.get("recipe") or op["recipe"]}
    document = _document(await engine.answer(address.question, gone))
    return Measured({name: value for name, value in values.items() if value}, document, changed)


def _other_values(parameter: ParameterDescription) -> Iterator[bool | float | str]:
    """Values of a parameter within its bounds that are not its default."""
    if parameter["kind"] == "switch":
        yield not parameter["default"]
    elif parameter["kind"] == "choice":
        yield from (each for each in parameter["choices"] if each != parameter["default"])
    else:
        value = parameter["default"]
        for end in (parameter["minimum"], parameter["maximum"]):
            if end is not None and end != value:
                halfway = (value + end) / 2
                yield halfway if parameter["kind"] == "float" else round(halfway) if round(halfway) != value else end


async def _answers(engine: Engine, models: Sequence[Measured], gone: IsDisconnected | None) -> list[Document]:
    """What an edit answers where the models were asked, up to the first answer that is wrong."""
    documents = list[Document]()
    for model in models:
        op = await _first_op(engine, model.words)
        question = read_address(op, await engine.device(), model.words).question
        documents.append(_document(await engine.answer(question, gone)))
        if documents[-1]["verdict"]["note"] != SOLVED:
            break
    return documents


async def _first_op(engine: Engine, words: Mapping[str, str]) -> OpDescription:
    await engine.wait_ready()
    return await engine.op(next(iter(await engine.catalogue())), words.get("recipe", ""))


def _document(answer: Answer) -> Document:
    return {**curves_of(answer).header, "columns": document_columns(answer)}


def _grade_of_trouble(text: str, engine: Engine, problem: Exception) -> Grade:
    """The grade of a text that cannot be loaded, or in which no call works."""
    trouble = engine.trouble
    if isinstance(problem, EngineBroken) and trouble is not None:
        hints = Hint("Where?", trouble["sentence"]), *line_hint(text, trouble["line"])
        return Grade(False, "broken", hints, trouble["sentence"])
    return Grade(False, "unsolved", (Hint("Where?", str(problem)),), str(problem))
