"""What was seen, as a table: one row for each Function and call site."""

from __future__ import annotations

from io import StringIO

from markupsafe import Markup
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from ..capture.record import Capture, SiteRecord
from ..capture.samples import Summary, sample_of, summarize
from ..documents.typography import typeset_number

_WIDTH = 120  # columns
_COLUMNS = ("Function", "where", "calls", "inputs", "grad_outputs")
NOTHING = "No custom Function was called."


def seen_text(capture: Capture) -> str:
    """The table as text, with the notes below."""
    out = StringIO()
    console = Console(file=out, width=_WIDTH, no_color=True, highlight=False)
    sites = capture.record["sites"]
    if sites:
        table = Table(*_COLUMNS, box=SIMPLE_HEAD, padding=(0, 1))
        for each in sites:
            table.add_row(*_row(capture, each))
        console.print(table)
    else:
        console.print(NOTHING)
    for note in capture.record["notes"]:
        console.print(note, markup=False)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()).strip("\n")


def seen_html(capture: Capture) -> str:
    """The same for the cell of a notebook."""
    head = Markup("").join(Markup("<th>{}</th>").format(each) for each in _COLUMNS)
    rows = Markup("").join(
        Markup("<tr>{}</tr>").format(
            Markup("").join(Markup("<td>{}</td>").format(cell) for cell in _row(capture, each))
        )
        for each in capture.record["sites"]
    )
    notes = Markup("").join(Markup("<p>{}</p>").format(each) for each in capture.record["notes"])
    table = Markup("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>").format(head, rows)
    return str(Markup('<div class="gradloupe">{}{}</div>').format(table if rows else NOTHING, notes))


def _row(capture: Capture, site: SiteRecord) -> tuple[str, ...]:
    inputs, grads = (summarize(sample_of(capture, [site], role)) for role in ("input", "grad_output"))
    where = site["path"] or site["line"]
    calls = f"{site['calls']} + {site['backwards']} back"
    return site["function"], where, calls, range_words(inputs), range_words(grads)


def range_words(said: Summary) -> str:
    """From where to where most of a sample lies, and what else is to be said of it."""
    if not said.size:
        return ""
    words = []
    if said.quantiles:
        low, below, _, above, high = map(typeset_number, said.quantiles)
        words.append(f"{low} … {high}, most {below} … {above}")
    words += [f"{share_words(share)} {name}" for name, share in (("NaN", said.nan), ("inf", said.infinite)) if share]
    words += [f"{share_words(share)} are {typeset_number(value)}" for value, share in said.repeated[:1]]
    return "; ".join(words)


def share_words(share: float) -> str:
    """A share of a sample in percent: more digits would say what a sample does not know."""
    percent = 100 * share
    if 0 < percent < 0.1:
        return "less than 0.1 %"
    if 99.9 < percent < 100:
        return "more than 99.9 %"
    return f"{percent:.1f} %" if percent < 10 and percent != round(percent) else f"{percent:.0f} %"
