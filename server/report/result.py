"""The results of a check: of one Function, as data, as text and as HTML; and of all Functions in a report."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap

from markupsafe import Markup

from ..documents.text_alternative import code_markup
from ..documents.typography import typeset_number, typeset_sentence
from ..protocol.answer import CurvesAnswer
from ..schema.op import LoadError, OpStub
from ..schema.verdict_words import FAILING_WORDS, verdict_name
from ..schema.views import HIDDEN_ID, WRONG_GRADIENT_IDS, ContractRecord
from .findings import (
    DEFAULT_ID,
    FORGIVABLE_WORDS,
    GRAVE_LEVELS,
    HURRIED_ID,
    LOST_ID,
    PASSED_OVER_ID,
    REMARK_ID,
    UNJUDGED_WORDS,
    UNTOUCHED_IDS,
    VERDICT_ID,
    SweptSection,
    WorstPoint,
    XrayFinding,
    count_findings,
    deciding_finding,
    faulty_sweeps,
    gravest_sweep,
)

_WIDTH = 96  # columns of the text
_WITHIN_ARGUMENT = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|(?<!;) """)  # of a recipe
WRONG_COLOUR, RIGHT_COLOUR = "#d55e00", "#009e73"  # legible on light and dark
_ROW = Markup('<tr><td style="{0}opacity:.7;white-space:nowrap">{1}</td><td style="{0}">{2}</td></tr>')
_CELL = Markup("text-align:left;vertical-align:top;padding:.15em 1.2em .15em 0;")


@dataclass(frozen=True)
class CheckFailure:
    """A failure of a check: its id, that of the verdict or of a finding, a sentence, and the line of the file.

    ``word`` is that of the verdict or the level of the finding; ``input`` is the one it is about, empty where that is
    no one input.
    """

    id: str
    sentence: str
    line: int | None
    word: str = "warning"
    input: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is known by in a baseline: neither its line nor its words, which change."""
        return self.id, self.word, self.input


@dataclass(frozen=True)
class CheckResult:
    """The result of one Function, also of one that could not be called.

    ``word``, ``sentence``, ``worst`` and ``intervals`` are those of the gravest of ``sweeps``, of which the first is
    the one on its page; ``unsolved`` where no call of it was found. Where the sweeps match, and the X-ray finds a wrong
    gradient elsewhere, that finding is ``accused``, and decides word and sentence. ``unswept`` are inputs that nothing
    but the X-ray looked at: with some it is ``undecided``.

    ``recipe`` is how it was called, and ``assumed`` what inference assumed for that, by argument. ``file`` and ``line``
    are where it is defined, empty and 0 if that is not known; ``target`` is what it was found in. No failure are: the
    checks in ``forgiven``, that of the verdict among them, what is declared as broken, and a surrogate that differs by
    another input than its default one. ``left`` are the arguments that no call was found to have their declared
    default, each with a sentence, and ``passed_over`` is one on a likelier call in which backward raises: warnings.
    With ``strict``, ``warnings`` are failures, too. ``known`` are the keys of failures that a baseline lists.
    ``spared`` says why a wrong gradient is no failure: the data of a step do not touch it.
    """

    name: str
    word: str
    sentence: str
    recipe: str = ""
    sweeps: tuple[SweptSection, ...] = ()
    findings: tuple[XrayFinding, ...] = ()
    assumed: tuple[tuple[str, str], ...] = ()
    target: str = ""
    file: str = ""
    line: int = 0
    claim: str = "exact"
    declared: bool = False
    forgiven: tuple[str, ...] = ()
    unswept: tuple[str, ...] = ()
    left: tuple[tuple[str, str], ...] = ()
    strict: bool = False
    passed_over: str = ""
    known: tuple[tuple[str, str, str], ...] = ()
    spared: str = ""

    @property
    def verdict_name(self) -> str:
        """The word as people read it."""
        return verdict_name(self.word, self.claim)

    @property
    def allowed(self) -> bool:
        """Whether its verdict may be that it differs."""
        return VERDICT_ID in self.forgiven

    @property
    def accused(self) -> XrayFinding | None:
        """The finding of the X-ray that decides the word; None where the sweeps do."""
        return deciding_finding(self.sweeps, self.findings, self.claim)

    @property
    def left_out(self) -> str:
        """A sentence on the inputs that were not swept, empty if all were."""
        if not self.unswept:
            return ""
        ids = {each.id for each in self.findings if each.level != "fine" or each.id == WRONG_GRADIENT_IDS[0]}
        examined = WRONG_GRADIENT_IDS[0] in ids and HIDDEN_ID not in ids
        return f"{', '.join(self.unswept)}{'; the X-ray looked at them.' if examined else '.'}"

    @property
    def swept(self) -> SweptSection | None:
        """The section that the verdict is about."""
        return gravest_sweep(self.sweeps)

    @property
    def worst(self) -> WorstPoint | None:
        """The point with the largest difference; None where there is none."""
        return self.swept.worst if self.swept else None

    @property
    def intervals(self) -> tuple[tuple[float, float], ...]:
        """The intervals in which it differs."""
        return self.swept.intervals if self.swept else ()

    @property
    def beyond(self) -> tuple[str, ...]:
        """Sentences on the x outside of the sections, where those match only within."""
        return tuple(each.beyond for each in self.sweeps if each.word == "matches here" and each.beyond)

    @property
    def elsewhere(self) -> tuple[str, ...]:
        """The same, without what the verdict's sentence has already."""
        return tuple(each for each in self.beyond if each not in self.sentence)

    @property
    def warnings(self) -> tuple[CheckFailure, ...]:
        """What is no failure unless one is ``strict``: of the call, remarks, warnings of the X-ray."""
        return tuple(self._warnings()) if self.sweeps and self.claim != "broken" else ()

    @property
    def refutations(self) -> tuple[str, ...]:
        """Sentences on the boxes in which a section that makes it fail is refuted, with numbers."""
        faulty = () if self.ok else faulty_sweeps(self.sweeps)
        return tuple(each.proved.sentence for each in faulty if each.proved and each.proved.word == "refuted")

    @property
    def call_remarks(self) -> tuple[str, ...]:
        """What a headline says of the call, and of how little was looked at."""
        left = (f"{name} not at its default" for name, _ in self.left)
        few = any(each.hurried for each in self.sweeps)
        return (*left, *["backward raises in a likelier call"] * bool(self.passed_over), *["at few points"] * few)

    @property
    def hurried(self) -> bool:
        """Whether there was no time for some of what is usually looked at."""
        ids = {each.id for each in self.findings if each.level == "warning"}
        return LOST_ID in ids or any(each.hurried for each in self.sweeps)

    @property
    def judged(self) -> bool:
        """Whether anything is known of its gradient, or it is meant to be as it is."""
        return self.ok or any(each.word not in UNJUDGED_WORDS for each in self.sweeps)

    @property
    def faults(self) -> tuple[CheckFailure, ...]:
        """The failures, that of the verdict first."""
        return tuple(each for each in self._faults() if each.key not in self.known and not self._is_spared(each))

    @property
    def ok(self) -> bool:
        """Whether there are no failures."""
        return not self.faults

    def _warnings(self) -> Iterator[CheckFailure]:
        for name, sentence in self.left:
            yield CheckFailure(DEFAULT_ID, sentence, self.line or None, input=name)
        if self.passed_over:
            yield CheckFailure(PASSED_OVER_ID, self.passed_over, self.line or None)
        for each in self.sweeps:
            if each.remark and not each.fault:
                yield CheckFailure(REMARK_ID, f"{each.of} by {each.wrt}: {each.sentence}", each.line, input=each.input)
            if each.hurried and not each.fault:
                sentence = f"{each.of} by {each.wrt}: {each.sentence} --deadline gives it more time."
                yield CheckFailure(HURRIED_ID, sentence, each.line, input=each.input)
            if each.word == "matches here" and each.beyond:
                yield CheckFailure(REMARK_ID, each.beyond, each.line, input=each.input)
        yield from (_failure(each) for each in self.findings if each.level == "warning")

    def _faults(self) -> Iterator[CheckFailure]:
        if self.claim == "broken":
            return
        if not self.sweeps:
            yield CheckFailure(VERDICT_ID, self.sentence, self.line or None, self.word)
        if self.unswept and not self.allowed:
            yield CheckFailure(VERDICT_ID, f"Not swept: {self.left_out}", self.line or None, "undecided")
        yield from (each for each in self.warnings if self.strict and each.id not in self.forgiven)
        wrong = [each for each in faulty_sweeps(self.sweeps) if not (self.allowed and each.word in FORGIVABLE_WORDS)]
        returned = {each.input: each.line for each in self.findings if (each.id, each.level) == (VERDICT_ID, "error")}
        for each in wrong:
            sentence = " ".join(filter(None, (each.sentence, each.explanation)))
            yield CheckFailure(VERDICT_ID, sentence, returned.get(each.input) or each.line, each.word, each.input)
        if (accused := self.accused) and not (self.allowed or self.forgives(accused)):
            sentence = f"{self.sentence} {accused.advice}".rstrip()
            yield CheckFailure(VERDICT_ID, sentence, accused.line, self.word, accused.input)
        inputs = {each.input for each in wrong}
        failed = {each.sentence.rstrip(".") for each in wrong if each.word == "failed"}
        for finding in self.findings:
            repeated = finding.id == VERDICT_ID and (finding is accused or finding.input in inputs)
            repeated = repeated or finding.seen.rstrip(".") in failed
            if finding.level == "error" and not (repeated or self.forgives(finding)):
                yield _failure(finding)

    def forgives(self, finding: XrayFinding) -> bool:
        """Whether a finding is no failure because it is allowed."""
        return finding.id in self.forgiven

    def excuse(self, id_: str) -> str:
        """Why a check that failed is no failure, in a word; empty where none of its findings has an excuse."""
        known = "known" if any(key[0] == id_ for key in self.known) else ""
        spared = self.spared if any(each.id == id_ and self._is_spared(each) for each in self._faults()) else ""
        return "allowed" if id_ in self.forgiven else known or spared

    def _is_spared(self, fault: CheckFailure) -> bool:
        """Whether it is about the gradient alone, which no number of the data gets."""
        return bool(self.spared) and fault.id in UNTOUCHED_IDS and fault.word in ("error", *FORGIVABLE_WORDS)

    def place(self, line: int | None) -> str:
        """``file:line``, of a line or of the definition; empty where it was not defined in a file."""
        return f"{self.file}:{line or self.line}" if self.file else ""

    def __bool__(self) -> bool:  # ``assert check(F)`` is a test
        return self.ok

    def __repr__(self) -> str:
        return "\n".join(_lines(self))

    def _repr_html_(self) -> str:
        return result_html(self)


@dataclass(frozen=True)
class ExaminedFunction:
    """One Function: its result and description, and the answers for its curves and its contract X-ray.

    Where no call was found, ``op`` is what is known without calling it, None where that is nothing; ``tried`` are some
    calls, with what came of each; ``curves`` and ``contract`` are None. ``sayable`` is a recipe to edit, where how it
    is called has to be said, and else empty.
    """

    checked: CheckResult
    op: OpStub | None = None
    curves: CurvesAnswer | None = None
    contract: ContractRecord | None = None
    tried: Sequence[tuple[str, str]] = ()
    sayable: str = ""

    @property
    def option(self) -> str:
        """What to type, and to edit, where how it is called has to be said; else empty."""
        text = f"{self.checked.name}: {self.sayable}"
        quoted = shlex.quote(text) if set(text) & set('"$`\\!') else f'"{text}"'
        return f"--recipe {quoted}" if self.sayable else ""


@dataclass(frozen=True)
class Report:
    """The results of all Functions of ``targets``, in the order of their files.

    ``troubles`` are the load errors of targets: sentence, kind, file, line, excerpt and traceback. ``seconds`` is how
    long it took; ``torch`` and ``device`` are empty where torch was not loaded. ``left`` is the number of Functions not
    examined because of an interrupt; ``notes`` are remarks on what the files do when they are loaded.
    """

    targets: tuple[str, ...]
    found: tuple[ExaminedFunction, ...] = ()
    troubles: tuple[LoadError, ...] = ()
    torch: str = ""
    device: str = ""
    seconds: float = 0.0
    left: int = 0
    notes: tuple[str, ...] = ()

    @property
    def faulty(self) -> tuple[ExaminedFunction, ...]:
        """The Functions that make the check fail."""
        return tuple(each for each in self.found if not each.checked.ok)

    @property
    def well(self) -> str:
        """What is said where nothing is faulty."""
        hurried = any(each.checked.hurried for each in self.found)
        beyond = sum(bool(each.checked.beyond) for each in self.found)
        if beyond:
            return f"Well within the range that is looked at; beyond it {beyond} differ{'s' * (beyond == 1)}."
        return "All is well, as far as there was time to look." if hurried else "All is well."

    @property
    def code(self) -> int:
        """The exit code: 0 where all is well, 1 where something is wrong or undecided.

        2 where a target could not be loaded, or of no Function anything could be judged.
        """
        if self.troubles or (self.found and not any(each.checked.judged for each in self.found)):
            return 2
        return 1 if self.faulty else 0


def _failure(finding: XrayFinding) -> CheckFailure:
    sentence = f"{finding.title}: {finding.said}"
    return CheckFailure(finding.id, sentence, finding.line, finding.level, finding.input)


def _lines(result: CheckResult) -> Iterator[str]:
    """The result as text: word, sentences, call, sweeps, findings."""
    yield f"{result.name}: {', but '.join([result.verdict_name, *_remarks(result)])}"
    yield from _wrapped("", typeset_sentence(result.sentence))
    if result.swept and result.swept.explanation:
        yield from _wrapped("", typeset_sentence(result.swept.explanation))
    for sentence in result.elsewhere:
        yield from _wrapped("", typeset_sentence(sentence))
    if result.recipe:
        yield from _wrapped_recipe(result.recipe)
    for said in [each.seen for each in result.sweeps if each.seen]:
        yield from _wrapped("your data", typeset_sentence(said.replace("`", "")))
    for each in result.sweeps:
        word = "" if each.word == result.word else f": {verdict_name(each.word)}"
        yield from _wrapped(
            "swept", typeset_sentence(f"{each.of} by {each.wrt} from {each.start:g} to {each.stop:g}{word}")
        )
    if result.left_out:
        yield from _wrapped("not swept", result.left_out)
    if result.file:
        yield from _wrapped("written in", result.place(result.line))
    if result.findings:
        yield from _wrapped("X-ray", count_findings(result.findings) or f"{len(result.findings)} checks passed")
    for finding in result.findings:
        if finding.level in GRAVE_LEVELS:
            yield from _wrapped(finding.level, typeset_sentence(f"{finding.id}: {finding.said}"), 4)


def _remarks(result: CheckResult) -> list[str]:
    """Failed checks and left defaults beside a verdict that is no failure, or the reason why a failed one is none."""
    if result.word in FAILING_WORDS:
        return [] if not result.ok else ["a specimen" if result.claim == "broken" else result.excuse(VERDICT_ID)]
    ids = dict.fromkeys(each.id for each in result.faults if each.id != VERDICT_ID)
    return [", ".join(ids)] * bool(ids) + list(result.call_remarks)


def _wrapped(label: str, text: str, indent: int = 2) -> list[str]:
    head = " " * indent + (f"{label:<12}" if label else "")
    return wrap(text, _WIDTH, initial_indent=head, subsequent_indent=" " * len(head)) or [head.rstrip()]


def _wrapped_recipe(recipe: str) -> list[str]:
    """The recipe in lines that end between its arguments, so that it can be read again."""
    whole = _WITHIN_ARGUMENT.sub(lambda found: found[0].replace(" ", "\0"), recipe)
    indent = " " * 14
    lines = wrap(whole, _WIDTH - len(indent), break_long_words=False, break_on_hyphens=False)
    return [f"{indent if place else '  called as   '}{each}".replace("\0", " ") for place, each in enumerate(lines)]


def result_html(result: CheckResult) -> str:
    """The result as HTML for notebooks: word, sentences, call, sweeps, findings."""
    colour = RIGHT_COLOUR if result.ok else WRONG_COLOUR
    head = Markup('<p style="margin:.2em 0"><b>{}</b>: <b style="color:{}">{}</b>. {}</p>').format(
        result.name, colour, result.verdict_name, code_markup(result.sentence)
    )
    rows = Markup("").join(_ROW.format(_CELL, label, said) for label, said in _rows(result))
    table = Markup('<table style="margin:.4em 0;border:0">{}</table>').format(rows) if rows else Markup("")
    return str(Markup('<div class="gradloupe">{}{}</div>').format(head, table))


def _rows(result: CheckResult) -> Iterator[tuple[str, Markup]]:
    for sentence in result.elsewhere:
        yield "out of sight", code_markup(sentence)
    if result.recipe:
        yield "called as", Markup("<code>{}</code>").format(result.recipe)
    for said in [each.seen for each in result.sweeps if each.seen]:
        yield "your data", code_markup(said)
    for each in result.sweeps:
        word = f": {each.word}" if each.word != result.word and each.word in FAILING_WORDS else ""
        template = Markup("<code>{}</code> by <code>{}</code> from {} to {}{}")
        yield "swept", template.format(each.of, each.wrt, typeset_number(each.start), typeset_number(each.stop), word)
    if result.left_out:
        yield "not swept", code_markup(result.left_out)
    for finding in result.findings:
        if finding.level in GRAVE_LEVELS:
            yield finding.level, Markup("<code>{}</code> {}").format(finding.id, code_markup(finding.said))
    if result.findings:
        rest = count_findings(result.findings) or f"{len(result.findings)} checks passed"
        yield "X-ray", Markup("{}").format(rest)
