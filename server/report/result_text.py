"""What was found of one Function, as lines of text: what a notebook and an interpreter show."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from ..documents.typography import prose
from .result import FAULTY, LEVELS, Checked, counted

WIDE = 96  # columns


def lines(found: Checked) -> Iterator[str]:
    """The word, the sentence, how it was called, where it was looked at, and what the X-ray found."""
    yield f"{found.name}: {', but '.join([found.word, *_beside(found)])}"
    yield from _said("", prose(found.sentence))
    if found.swept and found.swept.explanation:
        yield from _said("", prose(found.swept.explanation))
    for sentence in found.elsewhere:
        yield from _said("", prose(sentence))
    if found.recipe:
        yield from _said("called as", found.recipe)
    for each in found.sweeps:
        beside = "" if each.word == found.word else f": {each.word}"
        yield from _said("swept", prose(f"{each.of} by {each.wrt} from {each.start:g} to {each.stop:g}{beside}"))
    if found.left_out:
        yield from _said("not swept", found.left_out)
    if found.file:
        yield from _said("written in", found.place(found.line))
    if found.findings:
        yield from _said("X-ray", counted(found.findings) or f"{len(found.findings)} checks found right")
    for finding in found.findings:
        if finding.level in LEVELS[:2]:
            yield from _said(finding.level, prose(f"{finding.id}: {finding.said}"), 4)


def _beside(found: Checked) -> list[str]:
    """What is wrong where the verdict is not, or why it is not wrong where the verdict is."""
    ids = dict.fromkeys(each.id for each in found.faults if each.id != "gradient")
    if found.word in FAULTY:
        return [] if not found.ok else ["a specimen"] if found.claim == "broken" else ["allowed"]
    return [", ".join(ids)] if ids else []


def _said(label: str, text: str, indent: int = 2) -> list[str]:
    head = " " * indent + (f"{label:<12}" if label else "")
    return wrap(text, WIDE, initial_indent=head, subsequent_indent=" " * len(head)) or [head.rstrip()]
