"""The report in the terminal: a table of all Functions, and below it the failures and warnings."""

import os
from collections import Counter
from collections.abc import Callable
from io import StringIO
from itertools import pairwise
from typing import IO

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.measure import Measurement
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from ..documents.typography import number_apart_from, typeset_number, typeset_powers, typeset_sentence
from ..schema.op import LoadError
from ..schema.verdict_words import FAILING_WORDS, VERDICTS, verdict_name
from .findings import VERDICT_ID, XrayFinding, count_findings
from .result import CheckFailure, CheckResult, ExaminedFunction, Report

_MIN_WIDTH, _MAX_WIDTH = 100, 160  # columns outside of a terminal; the upper bound is for the table
_TONES = {"good": "green", "bad": "red", "doubtful": "yellow", "plain": ""}
COLOURS = {word: _TONES[each.tone] for word, each in VERDICTS.items()} | {"error": "red", "warning": "yellow"}
COLOURS["note"] = "dim"
# Words that are neither right nor a failure.
_OPEN_WORDS = tuple(word for word, each in VERDICTS.items() if not each.follows and each.tone in ("doubtful", "plain"))
_HINT = (
    "If a difference is meant, as in a straight-through estimator, say what backward follows instead, by a "
    "line `Gradloupe surrogate: x` in its docstring, or by `from gradloupe.ops import Op` and "
    "`op = Op({}, surrogate=lambda x: x)` below the class. Or pass --allow {}."
)
_ALLOW_HINT = "A check that need not be passed is forgiven with --allow NAME:CHECK, such as --allow {}:{}."


def console(stream: IO[str]) -> Console:
    """A console on ``stream``: with colours and the width of the window only in a terminal."""
    if stream.isatty():
        return Console(file=stream, highlight=False)
    given = os.environ.get("COLUMNS", "")
    wide = max(_MIN_WIDTH, int(given) if given.isascii() and given.isdigit() else 0)
    return Console(
        file=stream,
        highlight=False,
        width=wide,
        no_color=True,
        force_terminal=False,
        force_jupyter=False,  # where it would write to the cell, and not to the stream
        legacy_windows=False,
    )


def plain_text(write: Callable[[Console], None], width: int = 0) -> str:
    """What is written, without spaces at ends of lines; ``width`` columns wide, as outside of a terminal if 0."""
    written = StringIO()
    out = console(written)
    out.width = width or out.width
    write(out)
    return "\n".join(line.rstrip() for line in written.getvalue().splitlines())


def print_report(report: Report, out: Console, verbose: bool) -> None:
    """Write the report, notes of the X-ray only if ``verbose``; outside a terminal without spaces at ends of lines."""
    if out.is_terminal:
        _write(report, out, verbose)
        return
    text = plain_text(lambda plain: _write(report, plain, verbose))
    out.file.write(f"{text}\n")
    out.file.flush()


def _write(report: Report, out: Console, verbose: bool) -> None:
    for trouble in report.troubles:
        out.print(_trouble(trouble, out.is_terminal))
    if report.troubles and not report.found:
        return
    if report.troubles:
        out.print()
    if not report.found:
        out.print(_notes(report))
        return
    table = _table(report, out.is_terminal)
    natural = Measurement.get(out, out.options.update(width=_MAX_WIDTH), table).maximum
    wide = out.width
    out.width = wide if out.is_terminal else max(wide, natural)
    out.print(table)
    out.width = wide
    out.print()
    for each in report.found:
        if said := _details(each.checked, verbose):
            out.print(Group(Text(each.checked.name, "bold"), *said))
            out.print(f"  {each.option}\n" * bool(each.option), soft_wrap=True, markup=False)
    if report.notes:
        out.print(_notes(report))
    out.print(_summary(report, out.is_terminal))


def _notes(report: Report) -> RenderableType:
    return Group(*(_paragraph("note", each, COLOURS["note"]) for each in report.notes), Text(""))


def _table(report: Report, framed: bool) -> Table:
    table = Table(box=SIMPLE_HEAD if framed else None, padding=(0, 1), pad_edge=framed, header_style="bold")
    table.add_column("Function", overflow="fold", min_width=12)
    table.add_column("called with", overflow="fold", style="dim")
    table.add_column("verdict", min_width=10)
    looked = any(sweep.proved for each in report.found for sweep in each.checked.sweeps)
    if looked:
        table.add_column("proved", min_width=6)
    table.add_column("where", min_width=16)
    table.add_column("X-ray", no_wrap=True)
    for each in report.found:
        result = each.checked
        called = escape(result.recipe) or ("as declared" if result.declared else "")
        proved = [_proved(result)] if looked else []
        table.add_row(escape(result.name), called, _verdict(result), *proved, escape(_where(result)), _xray(result))
    return table


def _verdict(result: CheckResult) -> Text:
    text = Text(result.verdict_name, COLOURS.get(result.word, ""))
    if result.word in FAILING_WORDS and result.ok:
        text.append(f", {'a specimen' if result.claim == 'broken' else result.excuse(VERDICT_ID)}", "dim")
    for each in result.call_remarks:
        text.append(f", {each}", COLOURS["warning"])
    if any(each.remark for each in result.sweeps) and result.word.startswith("matches"):
        text.append(", with a remark", "dim")
    return text


def _proved(result: CheckResult) -> Text:
    """The share of the range that is proved, of the section that the verdict is about."""
    proved = None if result.accused or result.swept is None else result.swept.proved
    text = Text(proved.said, "red" * (proved.word == "refuted" and not result.ok)) if proved else Text("—")
    return text.append(" of the range") if proved and proved.share and result.word == "matches here" else text


def _where(result: CheckResult) -> str:
    swept = result.swept
    if result.accused:
        return f"{result.accused.element or 'gradients'}, by the X-ray"
    if swept is None:
        return ""
    worst = swept.worst if swept.word == "differs" else None
    if worst is None:
        return f"{swept.of} by {swept.wrt}"
    at = f"{swept.wrt} = {typeset_number(worst.x)}"
    backward = number_apart_from(worst.analytical, worst.numerical)
    slope = number_apart_from(worst.numerical, worst.analytical)
    return f"{at}: backward {backward}, slope {slope}"


def _xray(result: CheckResult) -> Text:
    grave = [each for each in result.findings if each.level in ("error", "warning")]
    text = Text("\n").join(_id(result, each) for each in grave)
    return text if grave else Text(count_findings(result.findings) or "-" * (not result.findings), COLOURS["note"])


def _id(result: CheckResult, finding: XrayFinding) -> Text:
    text = Text(finding.id, COLOURS[finding.level])
    excuse = result.excuse(finding.id) if finding.level == "error" else ""
    return text.append(f", {excuse}", "dim") if excuse else text


def _details(result: CheckResult, verbose: bool) -> list[RenderableType]:
    """The sentences on one Function, each under its id; failures with their file and line, and notes if ``verbose``."""
    parts: list[RenderableType] = []
    for fault in _without_repeats(result):
        colour = "red" if fault.id != VERDICT_ID else COLOURS.get(result.word, "")
        parts.append(_paragraph(fault.id, fault.sentence, colour))
        if result.file:
            parts.append(Padding(Text(result.place(fault.line), "dim"), (0, 0, 0, 2)))
    if result.word in _OPEN_WORDS and not _is_of_verdict(result):
        parts.append(_paragraph(result.verdict_name, result.sentence))
    told = {each.sentence for each in result.faults}
    parts += [_paragraph(verdict_name("matches here"), each) for each in result.beyond if each not in told]
    parts += [_paragraph("not swept", result.left_out)] * bool(result.left_out)
    parts += [_paragraph("your data", each.seen.replace("`", "")) for each in result.sweeps if each.seen]
    parts += [_paragraph("proof", each) for each in result.refutations]
    told |= {*result.beyond}
    parts += [
        _paragraph(each.id, each.sentence, COLOURS["warning"]) for each in result.warnings if each.sentence not in told
    ]
    notes = [each for each in result.findings if each.level == "note" and verbose]
    return parts + [_paragraph(each.id, f"{each.title}: {each.said}", COLOURS["note"]) for each in notes]


def _without_repeats(result: CheckResult) -> list[CheckFailure]:
    """The failures without that of the finding that decides the verdict, which repeats it."""
    deciding = {result.accused.id} - {VERDICT_ID} if result.accused and _is_of_verdict(result) else set[str]()
    return [each for each in result.faults if each.id not in deciding]


def _paragraph(head: str, sentence: str, colour: str = "") -> RenderableType:
    return Padding(Text(f"{head}  ", colour).append(_sentence(sentence), "default"), (0, 0, 0, 2))


def _summary(report: Report, timed: bool) -> Text:
    """How many there are of each word, and what comes of it; how long that took only where it is ``timed``."""
    count = Counter(each.checked.verdict_name for each in report.found)
    words = ", ".join(f"{word} {number}" for word, number in count.most_common())
    total = len(report.found)
    text = Text(f"{total} Function{'s' * (total != 1)}: {words}. ")
    wrong = len(report.faulty)
    open_ = [f"{report.left} not checked: it was interrupted."] * bool(report.left)
    open_ += [f"{len(report.troubles)} of {len(report.targets)} targets not loaded."] * bool(report.troubles)
    outcome = [f"{wrong} need{'s' * (wrong == 1)} attention."] if wrong else [] if open_ else [report.well]
    text.append(" ".join([*outcome, *open_]), "bold red" if wrong or open_ else "bold green")
    seconds = f", {report.seconds:.1f} s" * timed
    text.append(f" torch {report.torch}{seconds}." * bool(report.torch), "dim")
    meant = [each for each in report.faulty if _may_be_meant(each)]
    for each in meant[:1]:
        name = each.checked.name
        text.append(f"\n{_HINT.format(each.op['bound'] if each.op else name, name)}")
    alone = next((each.checked for each in report.faulty if not _is_of_verdict(each.checked)), None)
    if alone is not None:
        text.append(f"\n{_ALLOW_HINT.format(alone.name, alone.faults[0].id)}")
    return text


def _may_be_meant(examined: ExaminedFunction) -> bool:
    """Whether backward may follow something else by design: it differs on a stretch where forward stands still, or
    where forward has no slope.
    """
    result = examined.checked
    if result.word != "differs" or result.declared or result.accused or result.worst is None:
        return False
    if examined.curves is None or result.swept is not result.sweeps[0]:
        return not result.worst.numerical
    rows = list(zip(examined.curves.columns["x"], examined.curves.columns["numerical"], strict=True))
    within = [any(low <= x <= high for low, high in result.intervals) for x, _ in rows]
    still = [differs and slope == 0 for differs, (_, slope) in zip(within, rows, strict=True)]
    return result.worst.numerical is None or any(map(all, pairwise(still)))


def _is_of_verdict(result: CheckResult) -> bool:
    return any(each.id == VERDICT_ID for each in result.faults)


def _trouble(trouble: LoadError, framed: bool) -> RenderableType:
    """A load error, with the lines around it."""
    parts: list[RenderableType] = [Text(_sentence(trouble["sentence"]), "bold red")]
    if trouble["excerpt"]:
        at = f"{trouble['file']}:{trouble['line']}"
        parts.append(Rule(at, style="dim", align="left") if framed else Text(at))
        parts += [_excerpt(line, text, line == trouble["line"]) for line, text in trouble["excerpt"]]
    return Group(*parts)


def _excerpt(line: int, text: str, culprit: bool) -> Text:
    return Text(f"{'>' if culprit else ' '} {line:>4}  {text}", "red" if culprit else "dim", no_wrap=True)


def _sentence(text: str) -> str:
    return typeset_powers(typeset_sentence(text)).replace("\N{NO-BREAK SPACE}", " ")
