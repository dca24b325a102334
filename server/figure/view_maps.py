"""The panels of the views that are fields of colours: map, surface, jacobian."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import floor
from typing import Any

from markupsafe import Markup

from ..documents.typography import typeset_number
from ..protocol.answer import Answer
from ..protocol.question import element_names
from .axis_ticks import Tick, ticks
from .drawn_section import Numbers
from .legend_keys import LegendEntry
from .palette import Pen
from .scene import Axis
from .svg_paths import PathGrid
from .view_marks import (
    RIGHT,
    Frame2D,
    box_key,
    draw_dots,
    draw_field,
    draw_line,
    finite_column,
    line_key,
    ramp_key,
    words_of_status,
)
from .view_sheet import CELLS_WITH_NUMBERS, ViewPanel

_DEEP = 0.72  # from here on a colour needs light type
_MARKS = {"jump": "⊓"}  # of a cell by its status; of others one that bends has a diamond


def map_panels(answer: Answer) -> tuple[ViewPanel, ...]:
    """Over x and grad_output the factor by which backward multiplies."""
    header: Any = answer.header
    sent, ratio = finite_column(answer, "grad_output"), finite_column(answer, "ratio")
    if all(value is None for value in ratio):
        return ()
    wide = len(answer.columns.get("x", ()))
    rows = [ratio[at : at + wide] for at in range(0, len(ratio), wide or 1)]
    most = _most(ratio) or 1.0
    low, high = (sent[0] or -1.0, sent[-1] or 1.0) if sent else (-1.0, 1.0)
    axes = Frame2D(Axis((header["start"], header["stop"]), (), header["wrt"]), Axis((low, high), (), ""))

    def inside(pen: Pen, grid: PathGrid, scale: float) -> Iterator[Markup]:
        yield from draw_field(pen, grid, rows, most)
        now = (header["grad_output"], header["grad_output"])
        for colour, width in (("paper", 4.5), ("ink", 1.5)):
            yield from draw_line(pen, axes, grid, (axes.across.span, now), colour, width * scale)

    legend = ramp_key(most, "grad_input / grad_output"), line_key("current grad_output", "ink", 1.5)
    return (ViewPanel("grad_output", axes.across, axes.up, inside, legend, None, False, _fits(axes)),)


def surface_panels(answer: Answer) -> tuple[tuple[ViewPanel, ...], ...]:
    """Forward over two elements, and its gradient along the first as returned, by differences, and between them."""
    header: Any = answer.header
    xs, ys = finite_column(answer, "x"), finite_column(answer, "y")
    if not xs or not ys:
        return ()
    forward, returned, numerical = (finite_column(answer, name) for name in ("forward", "analytical_x", "numerical_x"))
    status = words_of_status(answer, header["statuses"], "status_x")
    apart = [
        one - other if said == "differs" and one is not None and other is not None else None
        for one, other, said in zip(returned, numerical, status, strict=False)
    ]
    axes = Frame2D(_centred(xs, header["wrt"]), _centred(ys, header["wrt2"] or ""))
    seen = [value for value in forward if value is not None]
    low = min(seen, default=0.0)
    raised: Numbers = [None if value is None else value - low for value in forward]
    both = max(_most(returned), _most(numerical)) or 1.0
    slope = f"gradient along {header['wrt']}"

    def panel(words: str, values: Numbers, most: float, signed: bool = True, note: str = "") -> ViewPanel:
        rows = [values[at : at + len(xs)] for at in range(0, len(values), len(xs))]

        def inside(pen: Pen, grid: PathGrid, scale: float) -> Iterator[Markup]:
            if rows:
                yield from draw_field(pen, grid, rows, most, signed)
            if not signed:
                ridges = zip(header["ridges"]["x"], header["ridges"]["y"], strict=True)
                yield from draw_dots(pen, axes, grid, ridges, "ink", 3 * scale)

        ends = (("muted", max(seen, default=0.0), low),) if not signed else ()
        keys = [
            box_key(f"{typeset_number(low, 3)} … {typeset_number(top, 3)}", colour, 1.0) for colour, top, low in ends
        ]
        if signed:
            keys = [ramp_key(most)]
        texts = () if any(value is not None for value in values) else ((0.5, 0.5, note, "muted"),)
        return ViewPanel(words, axes.across, axes.up, inside, tuple(keys), None, False, _fits(axes), texts=texts)

    top = max((value for value in raised if value is not None), default=0.0) or 1.0
    first = panel("forward", raised, top, False)
    second = panel(f"{slope}, returned", returned, both, True, "nothing returned")
    third = panel(f"{slope}, numerical", numerical, both)
    last = panel("their difference", apart, _most(apart) or both, True, "within the error bound")
    return (first, second), (third, last)


def jacobian_panels(answer: Answer) -> tuple[ViewPanel, ...]:
    """Every output by every input: numerical, returned, and their difference where they do not agree."""
    header: Any = answer.header
    if not header["rows"] or not header["across"]:
        return ()
    rows, across = (
        element_names(side["name"], side["shape"], range(side["first"], side["first"] + side["count"]))
        for side in (header["rows"], header["across"])
    )
    matrix = partial(_matrix, rows, across)
    status = words_of_status(answer, header["statuses"])
    columns = {name: finite_column(answer, name) for name in ("numerical", "returned", "difference", "left", "right")}
    most = max(_largest(columns["numerical"]), _largest(columns["returned"]))
    apart = _largest([value for value, said in zip(columns["difference"], status, strict=False) if said == "differs"])
    bent = [None not in sides for sides in zip(columns["left"], columns["right"], strict=True)]
    forward = [_MARKS.get(said) or ("◇" if kink else "×") for said, kink in zip(status, bent, strict=True)]
    alike = {*status} <= {*RIGHT}
    scales = (ramp_key(most),) if most else ()
    first = matrix("numerical", columns["numerical"], forward, most, scales)
    if not columns["returned"]:
        none = (
            matrix(words, [], forward, most, (), "nothing returned") for words in ("returned by backward", "difference")
        )
        return (first, *none)
    shown = [None if said in RIGHT else value for value, said in zip(columns["difference"], status, strict=True)]
    marks = [
        "" if said in RIGHT else "×" if came is None else mark
        for said, came, mark in zip(status, columns["returned"], forward, strict=True)
    ]
    keys = (ramp_key(apart, "intended" if header["designed"] else ""),) if apart else ()
    return (
        first,
        matrix("returned by backward", columns["returned"], ["×"] * len(status), most, scales),
        matrix("difference", shown, marks, apart or most, keys, "within the error bound" if alike else ""),
    )


def _matrix(
    down: Sequence[str],
    along: Sequence[str],
    words: str,
    values: Numbers,
    marks: Sequence[str],
    most: float,
    legend: tuple[LegendEntry, ...] = (),
    note: str = "",
) -> ViewPanel:
    """A field of cells with a number or a mark in each, or with a ``note`` in its middle; its first row is on top.

    ``down`` and ``along`` are the names of its rows and columns.
    """
    high, wide = len(down), len(along)
    values = values or [None] * (high * wide)
    axes = Frame2D(Axis((0.0, float(wide)), (), ""), Axis((0.0, float(high)), (), ""))
    cells = [(at % wide + 0.5, high - at // wide - 0.5, value, marks[at]) for at, value in enumerate(values)]
    rows = [values[row * wide : (row + 1) * wide] for row in reversed(range(high))]
    texts = tuple(
        (x / wide, y / high, mark if value is None else typeset_number(value, 3), _type_on(value, most))
        for x, y, value, mark in cells
        if value is not None or mark
    )

    def inside(pen: Pen, grid: PathGrid, scale: float) -> Iterator[Markup]:
        yield from draw_field(pen, grid, rows, most)
        if wide > CELLS_WITH_NUMBERS:
            yield from draw_dots(
                pen, axes, grid, ((x, y) for x, y, value, mark in cells if mark and value is None), "muted", 3 * scale
            )

    fit = (lambda count: _names(along, count)), (lambda count: _names(down[::-1], count))
    shown = (((0.5, 0.5, note, "muted"),), (1, 1)) if note else (texts, (wide, high))
    return ViewPanel(words, axes.across, axes.up, inside, legend, None, False, fit, 8, *shown, rows=high)


def _type_on(value: float | None, most: float) -> str:
    """The colour of a number on the colour of its cell."""
    return "muted" if value is None else "paper" if abs(value) > _DEEP * most else "ink"


def _names(names: Sequence[str], count: int) -> tuple[Tick, ...]:
    """The name of each row or column in its middle, of many only some."""
    every = -(-len(names) // count)
    return tuple(Tick(i + 0.5, name) for i, name in enumerate(names) if i % every == 0)


def _fits(axes: Frame2D) -> tuple[Any, Any]:
    return (lambda count: ticks(axes.across.span, count)), (lambda count: ticks(axes.up.span, count))


def _centred(values: Numbers, words: str) -> Axis:
    """An axis whose first and last value are the middles of its cells."""
    first, last = values[0] or 0.0, values[-1] or 0.0
    half = (last - first) / max(1, len(values) - 1) / 2 or 0.5
    return Axis((first - half, last + half), (), words)


def _most(values: Numbers) -> float:
    """The largest size, without what is nearly infinite."""
    sizes = sorted(abs(value) for value in values if value is not None)
    return (sizes[floor(0.995 * (len(sizes) - 1))] or sizes[-1]) if sizes else 0.0


def _largest(values: Numbers) -> float:
    return max((abs(value) for value in values if value is not None), default=0.0)
