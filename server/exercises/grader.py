"""Grades edits: asks what a goal asks of the engine of an edit, and once of the engine of the goal's model."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cachetools import LRUCache

from ..documents.columns import document_columns
from ..protocol.answer import Answer, curves_of
from ..protocol.errors import BadQuestion, EngineBroken, Unsolved
from ..protocol.fingerprint import fingerprint
from ..schema.answer_notes import SOLVED
from ..schema.op import OpDescription
from ..supervisor.edits import Edits
from ..supervisor.engine import Engine
from ..supervisor.single_flight import IsDisconnected
from ..url.address import query_values
from ..url.parse import parse_query, read_address
from .exercise import Goal
from .grade import Document, Grade, Hint, grade_answers, grade_check, graded_text, line_hint

_MOST_MODELS = 64  # budget: of an exercise each, of which one has a few hundred kB


class Measured(NamedTuple):
    """A document of a model, and the whole query that it answers, by name."""

    words: dict[str, str]
    document: Document


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
        return grade_answers(text, goal, answers, [model.document for model in models])

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
    """What a model answers to these queries, with all that they leave open written out."""
    measured = []
    for query in queries:
        words = parse_query(query)
        op = await _first_op(engine, words)
        address = read_address(op, await engine.device(), words)
        values = query_values(address) | {"recipe": words.get("recipe") or op["recipe"]}
        document = _document(await engine.answer(address.question, gone))
        measured.append(Measured({name: value for name, value in values.items() if value}, document))
    return measured


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
        return Grade(False, "broken", (Hint("Where?", trouble["sentence"]), *line_hint(text, trouble["line"])))
    return Grade(False, "unsolved", (Hint("Where?", str(problem)),))
