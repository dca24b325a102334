"""What was found of one Function, as a few lines of HTML for the cell of a notebook, in the colours around it."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from ..documents.summary import coded
from ..documents.typography import number
from .result import FAULTY, LEVELS, Checked, counted

WRONG, RIGHT = "#d55e00", "#009e73"  # seen on light and dark
ROW = Markup('<tr><td style="{0}opacity:.7;white-space:nowrap">{1}</td><td style="{0}">{2}</td></tr>')
CELL = Markup("text-align:left;vertical-align:top;padding:.15em 1.2em .15em 0;")


def card(found: Checked) -> str:
    """The word, the sentence, how it was called, where it was looked at, and what the X-ray found."""
    colour = RIGHT if found.ok else WRONG
    head = Markup('<p style="margin:.2em 0"><b>{}</b>: <b style="color:{}">{}</b>. {}</p>').format(
        found.name, colour, found.word, coded(found.sentence)
    )
    rows = Markup("").join(ROW.format(CELL, label, said) for label, said in _rows(found))
    table = Markup('<table style="margin:.4em 0;border:0">{}</table>').format(rows) if rows else Markup("")
    return str(Markup('<div class="gradloupe">{}{}</div>').format(head, table))


def _rows(found: Checked) -> Iterator[tuple[str, Markup]]:
    for sentence in found.elsewhere:
        yield "out of sight", coded(sentence)
    if found.recipe:
        yield "called as", Markup("<code>{}</code>").format(found.recipe)
    for each in found.sweeps:
        word = f": {each.word}" if each.word != found.word and each.word in FAULTY else ""
        said = Markup("<code>{}</code> by <code>{}</code> from {} to {}{}")
        yield "swept", said.format(each.of, each.wrt, number(each.start), number(each.stop), word)
    if found.left_out:
        yield "not swept", coded(found.left_out)
    for finding in found.findings:
        if finding.level in LEVELS[:2]:
            yield finding.level, Markup("<code>{}</code> {}").format(finding.id, coded(finding.said))
    if found.findings:
        rest = counted(found.findings) or f"{len(found.findings)} checks found right"
        yield "X-ray", Markup("{}").format(rest)
