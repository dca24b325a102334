"""The live figure of ``gradloupe.look``: a standalone page in an iframe of a notebook cell, which needs no server."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ..documents.compact import compact_document
from ..html.assets import Assets
from ..html.inline_bundle import Bundle, with_gzipped_library
from ..html.pages import Pages, SectionPage
from ..protocol.frames import Frame
from ..report.atomic_write import atomic_write
from ..report.result import FAILING_WORDS, CheckResult, ExaminedFunction
from ..standalone.export import export_bundle, export_page
from ..standalone.sliders import SliderAxis, address_at, section_addresses, section_count, slider_axes
from ..standalone.string_pool import StringPool
from ..standalone.string_pool import document_parts as parts_of
from ..url.address import Address, canonical_address
from ..worker.answer import device_summary
from .run import examine_subject, subject_or_error
from .subject import CheckArguments, Subject

_HEIGHT = 800  # pixels
_HIDDEN = ("source", "reading")  # parts of the page that are hidden in a cell
_MAX_BYTES = 1_000_000  # bytes of answers; the page itself is as large again, with the full plotly.js twice
_MAX_SECONDS = 6.0  # seconds for computing all answers of the sliders
_COUNTS = (9, 7, 5, 3)  # values of a slider, tried in this order until size and time suffice
_MAX_SLIDERS = 3  # sliders
_GRAD_OUTPUT = 3
_FRAME = Markup(
    '<iframe srcdoc="{}" title="{}" width="100%" height="{}" sandbox="allow-scripts" loading="lazy"'
    ' style="border:0;display:block"></iframe>'
)


@dataclass(frozen=True, repr=False)
class _Look:
    """A figure to show: ``checked`` is the result, ``page`` its HTML, empty where nothing could be drawn."""

    checked: CheckResult
    page: bytes = b""
    height: int = _HEIGHT

    def __repr__(self) -> str:
        return repr(self.checked)

    def _repr_html_(self) -> str:
        if not self.page:
            return self.checked._repr_html_()
        title = f"{self.checked.name}, a live figure"
        return str(_FRAME.format(self.page.decode(), title, self.height))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self._repr_html_(), "text/plain": repr(self)}

    def save(self, path: str | Path) -> Path:
        """Write the page, which works from a disk; returns where it is. Raises ``OSError``.

        Raises ``ValueError`` where there is no figure, because the Function could not be called.
        """
        if not self.page:
            raise ValueError(f"There is no figure to save. {self.checked.sentence}")
        atomic_write(Path(path), self.page)
        return Path(path)


def notebook_figure(function: Any, wanted: CheckArguments, height: int | None) -> _Look:
    """What ``gradloupe.look`` returns; raises nothing that a Function raises."""
    subject = subject_or_error(function, wanted)
    if isinstance(subject, ExaminedFunction):
        return _Look(subject.checked)
    examined = examine_subject(subject)
    if examined.curves is None or not examined.curves.columns:
        return _Look(examined.checked)
    page = _page(subject, subject.wanted.address(subject.told), examined.curves, _caveat(examined.checked))
    return _Look(examined.checked, page, height or _HEIGHT)


def _caveat(checked: CheckResult) -> str:
    """The sentence on a fault of the Function that the drawn section does not show; "" if there is none."""
    shown, gravest = checked.sweeps[0], checked.swept
    if shown.word in FAILING_WORDS or not (checked.accused or gravest is not shown):
        return ""
    return f"That is of {shown.of} by {shown.wrt} alone. {checked.sentence}"


def _page(subject: Subject, address: Address, curves: Frame, beside: str) -> bytes:
    """The page, with as many answers as size and time allow, and a sentence ``beside`` the verdict."""
    began, op = time.monotonic(), subject.told
    present = address_at(address, {})
    each = sum(map(len, parts_of(_document(subject, present)).values()))
    seconds = time.monotonic() - began
    most = min(_MAX_BYTES // each, int(_MAX_SECONDS / seconds))
    address, grid = next(_grids(op, address, most))
    pool = StringPool()
    for section in section_addresses(address, grid):
        pool.add(_document(subject, section))
    shown = replace(address, hide=_HIDDEN)
    view = SectionPage(op, device_summary(), shown, canonical_address(op, present), curves, "", beside=beside)
    pages, bundle = _page_parts()
    return export_page(pages, view, grid, pool, bundle)


def _grids(op: dict[str, Any], address: Address, limit: int) -> Iterator[tuple[Address, tuple[SliderAxis, ...]]]:
    """Choices of sliders and their axes that make at most so many sections, the richest first; no sliders at last."""
    kinds = {each["name"]: each["kind"] for each in op["parameters"] if each["name"] != address.question.wrt.name}
    for controls in range(min(_MAX_SLIDERS, len(kinds)), -1, -1):
        for count in _COUNTS:
            numeric = ("float", "int")
            chosen = tuple((name, count if kinds[name] in numeric else 0) for name in list(kinds)[:controls])
            sliding = replace(address, sliders=(*chosen, ("grad_output", _GRAD_OUTPUT)))
            if math.prod(max(2, values) for _, values in sliding.sliders) <= limit:
                grid = slider_axes(op, sliding)
                if section_count(grid) <= limit:
                    yield sliding, grid
    yield replace(address, sliders=()), ()


def _document(subject: Subject, section: Address) -> dict[str, Any]:
    return compact_document(subject.frame(section.question), canonical_address(subject.told, section))


@cache
def _page_parts() -> tuple[Pages, Bundle]:
    return Pages.shared(), with_gzipped_library(export_bundle(Assets.shared()))
