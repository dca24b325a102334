"""The panels of the views that are fields of colours: map, surface, jacobian. As in js/views."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import floor
from typing import Any

from markupsafe import Markup

from ..documents.typography import typeset_number
from ..protocol.answer import Answer
from ..protocol.question import element_names
from .axis_ticks import Tick, ticks
from .drawn_section import Numbers
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
from .view_sheet import ViewPanel

_DEEP = 0.72  # from here on a colour needs light type


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
    """Every output by every input: numerical, returned, and their difference."""
    header: Any = answer.header
    if not header["rows"] or not header["across"]:
        return ()
    high, wide = header["rows"]["count"], header["across"]["count"]
    named = [
        element_names(side["name"], side["shape"], range(side["first"], side["first"] + side["count"]))
        for side in (header["rows"], header["across"])
    ]
    status = words_of_status(answer, header["statuses"])
    columns = {name: finite_column(answer, name) for name in ("numerical", "returned", "difference")}
    most = max(_largest(columns["numerical"]), _largest(columns["returned"])) or 1.0
    apart = [
        abs(value)
        for value, said in zip(columns["difference"], status, strict=False)
        if said == "differs" and value is not None
    ]
    up = Axis((0.0, float(high)), (), "")
    across = Axis((0.0, float(wide)), (), "")

    fit = (lambda count: _names(named[1], count)), (lambda count: _names(named[0][::-1], count))

    def panel(name: str, words: str, scale_end: float) -> ViewPanel:
        values = columns[name] or [None] * (high * wide)
        if name == "difference":  # where both agree nothing is to be seen
            values = [None if said in RIGHT else value for value, said in zip(values, status, strict=True)]
        rows = [values[row * wide : (row + 1) * wide] for row in reversed(range(high))]
        texts = tuple(_numbers(rows, scale_end, "" if name == "difference" else "×"))
        cells = (wide, high)
        if name == "difference" and {*status} <= {*RIGHT}:
            texts, cells = ((0.5, 0.5, "within the error bound", "muted"),), (1, 1)

        def inside(pen: Pen, grid: PathGrid, scale: float) -> Iterator[Markup]:
            yield from draw_field(pen, grid, rows, scale_end)

        return ViewPanel(words, across, up, inside, (), None, False, fit, 8, texts, cells)

    return (
        panel("numerical", "numerical", most),
        panel("returned", "returned by backward", most),
        panel("difference", "difference", max(apart, default=0.0) or most),
    )


def _numbers(rows: Sequence[Sequence[float | None]], most: float, none: str) -> Iterator[tuple[float, float, str, str]]:
    """The number in each cell, or ``none``."""
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            deep = value is not None and abs(value) > _DEEP * most
            text = none if value is None else typeset_number(value, 3)
            yield (j + 0.5) / len(row), (i + 0.5) / len(rows), text, "paper" if deep else "ink"


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
