"""The live figure of ``gradloupe.look``: a widget of the kernel, whose controls ask that, or one file in an iframe;
both need no server.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from textwrap import fill
from typing import Any

import orjson
from markupsafe import Markup

from ..html.assets import Assets
from ..html.glossary import unlinked
from ..html.pages import Pages
from ..http.problem_details import problem_json
from ..output import atomic_write
from ..protocol.answer import curves_of
from ..protocol.errors import BadQuestion
from ..publish.figure import Figure, measured_figure, one_file
from ..publish.sliders import SliderAxis, section_count, slider_axis
from ..report.result import CheckResult, ExaminedFunction
from ..schema.op import OpDescription
from ..schema.verdict_words import FAILING_WORDS
from ..url.address import MOST_SECTIONS, Address, canonical_address, curves_only
from ..url.parse import parse_query, read_address
from ..worker.answer import device_summary
from . import process_restored
from .arguments import CheckArguments
from .subject import Subject, examine_subject, run_to_end, subject_or_error

_HEIGHT = 560  # pixels
_WIDTH = 96  # columns of its text, as those of a result
_HIDDEN = ("source",)  # parts of the figure that are hidden in a cell
_MAX_BYTES = 600_000  # bytes of sections; the page itself is as large again, with the full plotly.js twice
_MAX_SECONDS = 6.0  # seconds for computing all answers of the sliders
_COUNTS = (9, 7, 5, 3)  # values of a slider, tried in this order until size and time suffice
_MAX_SLIDERS = 3  # sliders
_LAST, _GRAD_OUTPUT = "grad_output", 3  # the slider that every Function has, and its values
_FRAME = Markup(
    '<iframe srcdoc="{}" title="{}" width="100%" height="{}" sandbox="allow-scripts" loading="lazy"'
    ' style="border:0;display:block"></iframe>'
)


@dataclass(frozen=True, repr=False)
class _Look:
    """A figure to show: ``checked`` is the result; without a ``subject`` nothing could be drawn.

    ``beside`` is what is to be said by the verdict on what is drawn.
    """

    checked: CheckResult
    subject: Subject | None = None
    beside: str = ""

    def __repr__(self) -> str:
        if self.subject is None:
            return repr(self.checked)
        said = 'A notebook draws the figure in its cell, and save("figure.html") writes it as a page.'
        told = said if is_watched() else f"{said} {self.remark}"
        return f"{self.checked!r}\n{fill(told, _WIDTH, initial_indent='  ', subsequent_indent='  ')}"

    @cached_property
    def page(self) -> bytes:
        """The figure as a file with as many sections as have room; empty where there is none."""
        return one_file(self._stored) if self.subject else b""

    @property
    def remark(self) -> str:
        """The sentence on what has no slider in the file."""
        return self._stored.remark

    @cached_property
    def widget(self) -> Any:
        """The figure as a widget of anywidget, which it needs: its controls ask this process.

        Raises ``ImportError``, and ``ValueError`` where there is no figure.
        """
        return kernel_widget(self._drawn(), one_file(self._present, kernel=True), self._height)

    def _repr_html_(self) -> str:
        if self.subject is None:
            return self.checked._repr_html_()
        page = one_file(self._present, still=True) if is_watched() else self.page
        return str(_FRAME.format(page.decode(), f"{self.checked.name}, a live figure", self._height))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """The widget where somebody is there to move it, and beside it what is left when the kernel is gone."""
        live = self.widget._repr_mimebundle_()[0] if self.subject and is_watched() else {}
        return {**live, "text/html": self._repr_html_(), "text/plain": repr(self)}

    def save(self, path: str | Path) -> Path:
        """Write the page, which works from a disk; returns where it is. Raises ``OSError``.

        Raises ``ValueError`` where there is no figure, because the Function could not be called.
        """
        self._drawn()
        atomic_write(Path(path), self.page)
        return Path(path)

    def _drawn(self) -> Subject:
        if self.subject is None:
            raise ValueError(f"There is no figure to save. {self.checked.sentence}")
        return self.subject

    @property
    def _height(self) -> int:
        return self._drawn().wanted.height or _HEIGHT

    @cached_property
    def _stored(self) -> Figure:
        with process_restored():
            return _with_sliders(self._drawn(), self._height, self.beside)

    @cached_property
    def _present(self) -> Figure:
        subject = self._drawn()
        address = replace(subject.wanted.address(subject.told), hide=_HIDDEN)
        with process_restored():
            figure = run_to_end(
                measured_figure(subject.answer, subject.told, device_summary(), address, (), alone=True)
            )
        return replace(figure, beside=self.beside)


def notebook_figure(function: Any, wanted: CheckArguments) -> _Look:
    """What ``gradloupe.look`` returns; raises nothing that a Function raises."""
    subject = subject_or_error(function, wanted)
    if isinstance(subject, ExaminedFunction):
        return _Look(subject.checked)
    examined = examine_subject(subject)
    if examined.curves is None or not examined.curves.columns:
        return _Look(examined.checked)
    return _Look(examined.checked, subject, _caveat(examined.checked))


def _caveat(checked: CheckResult) -> str:
    """The sentence on a fault of the Function that the drawn section does not show; "" if there is none."""
    shown, gravest = checked.sweeps[0], checked.swept
    if shown.word in FAILING_WORDS or not (checked.accused or gravest is not shown):
        return ""
    return f"That is of {shown.of} by {shown.wrt} alone. {checked.sentence}"


def _with_sliders(subject: Subject, height: int, beside: str) -> Figure:
    """The figure with as many sections as size and time allow, and the sentence on its sliders."""
    op, device, address = subject.told, device_summary(), subject.wanted.address(subject.told)

    def measured(address: Address, grid: tuple[SliderAxis, ...] = ()) -> Figure:
        return run_to_end(measured_figure(subject.answer, op, device, address, grid, alone=True))

    measured(address)  # what is imported once takes no part
    began = time.monotonic()
    each = len(measured(address).sections)
    seconds = time.monotonic() - began
    names = [one["name"] for one in op["parameters"] if one["name"] != address.question.wrt.name]
    grid = next(_grids(op, address, names, min(_MAX_BYTES // each, int(_MAX_SECONDS / seconds), MOST_SECTIONS)))
    cost = f"{seconds:.1g} s" if _MAX_SECONDS / seconds < _MAX_BYTES / each else f"{each / 1e3:.0f} kB"
    remark = _unslid(names, [axis.name for axis in grid], cost)
    return replace(measured(replace(address, hide=_HIDDEN, height=height), grid), beside=beside, remark=remark)


def _unslid(names: Sequence[str], sliding: Sequence[str], cost: str) -> str:
    """The sentence on what has no slider, and why; "" where everything has one."""
    missing = [each for each in (*names, _LAST) if each not in sliding]
    if missing:
        one = f"each position of a slider is an answer of {cost}"
        said = f"There is no slider for {', '.join(missing)}" if sliding else "There are no sliders"
        return f"{said}: {one}, and the cell has no room for more; give another value by name, and look again."
    return "" if names else f"Only {_LAST} has a slider: no number, switch or word is passed that could be moved."


def _grids(op: OpDescription, address: Address, names: Sequence[str], limit: int) -> Iterator[tuple[SliderAxis, ...]]:
    """Choices of sliders that make at most so many sections, the richest first; none at last."""
    for controls in range(min(_MAX_SLIDERS, len(names)), -1, -1):
        for count in _COUNTS:
            chosen = [*((name, count) for name in names[:controls]), (_LAST, _GRAD_OUTPUT)]
            grid = tuple(slider_axis(op, address, name, values) for name, values in chosen)
            if section_count(grid) <= limit:
                yield grid
    yield ()


_LONGEST = 64  # budget: characters of the name of a question


def is_watched() -> bool:
    """Whether somebody runs this cell who can move what it shows; not a program that executes a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    kernel = getattr(shell, "kernel", None)
    if kernel is None or find_spec("anywidget") is None:
        return False
    return bool(kernel.get_parent("shell").get("content", {}).get("allow_stdin"))  # who can be asked is there


def kernel_widget(subject: Subject, page: bytes, height: int) -> Any:
    """The widget that shows ``page`` and has what it asks answered of ``subject``; raises ``ImportError``."""
    widget = _widget_class()(page=page.decode(), height=height)
    widget.on_msg(lambda _, said, __: _reply(widget, subject, said))
    return widget


@cache
def _widget_class() -> Any:
    from anywidget import AnyWidget
    from traitlets import Int, Unicode

    class GradLoupe(AnyWidget):
        _esm = Assets.shared().widget
        page = Unicode().tag(sync=True)
        height = Int().tag(sync=True)

    return GradLoupe


def _reply(widget: Any, subject: Subject, said: Any) -> None:
    name, asked = (said.get(key) if isinstance(said, dict) else None for key in ("id", "address"))
    if isinstance(name, str) and isinstance(asked, str):
        status, body = _answered(subject, asked)
        widget.send({"id": name[:_LONGEST], "ok": status == 200, "status": status, "retryAfter": 0}, [body])


def _answered(subject: Subject, asked: str) -> tuple[int, bytes]:
    """The status and the body, as a server would answer ``/ops/NAME.page.json``."""
    pages, op = Pages.shared(), subject.told
    try:
        with process_restored():
            address = curves_only(read_address(op, device_summary(), parse_query(asked.partition("?")[2])))
            answer = curves_of(subject.frame(address.question))
            document = pages.document(answer, canonical_address(op, address))
    except BadQuestion as problem:
        return 422, problem_json(422, str(problem), problem.refusals)
    except (Exception, SystemExit) as problem:  # noqa: BLE001 a Function may raise anything
        return 500, problem_json(500, f"Looking at it raised {type(problem).__name__}: {problem}")
    words = {name: unlinked(text) for name, text in document["words"].items()}
    return 200, orjson.dumps({**document, "words": words})
