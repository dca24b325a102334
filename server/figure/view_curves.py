"""The panels of the views that are drawn over one axis: area, precision, wide, step, descent."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, floor, log10
from typing import Any

from markupsafe import Markup

from ..documents.typography import nouns
from ..protocol.answer import Answer
from .axis_range import AxisRange
from .axis_ticks import Tick, decade_label, decade_ticks, ticks
from .drawn_section import Numbers
from .palette import Pen
from .scene import Axis
from .svg_paths import PathGrid
from .view_marks import (
    RIGHT,
    Frame2D,
    box_key,
    dot_key,
    draw_boxes,
    draw_dots,
    draw_line,
    draw_rings,
    finite_column,
    line_key,
    ring_key,
    words_of_status,
)
from .view_sheet import ViewPanel

_AIR = 0.11


def linear_axis(span: AxisRange, words: str) -> Axis:
    """An axis without labels, which its panel fits."""
    return Axis(span, (), words)


def area_panels(answer: Answer) -> tuple[ViewPanel, ...]:
    """In every cell the rise of forward less the area under backward."""
    header: Any = answer.header
    left, right = finite_column(answer, "left"), finite_column(answer, "right")
    residual = finite_column(answer, "residual")
    allowed = [value or 0.0 for value in finite_column(answer, "allowed")]
    status = words_of_status(answer, header["statuses"])
    differing = [value for value, said in zip(residual, status, strict=True) if said == "differs" and value is not None]
    sizes = sorted(abs(value) for value in residual if value is not None)
    if not sizes:
        return ()
    most = sizes[floor(0.9 * (len(sizes) - 1))]
    bound = 0.0 if differing else sorted(allowed)[len(allowed) // 2]
    seen = [*(differing or [-most, most]), -1.3 * bound, 1.3 * bound, 0.0]
    axes = Frame2D(linear_axis((header["start"], header["stop"]), header["wrt"]), linear_axis(_airy(seen), ""))
    cells = list(zip(left, right, residual, allowed, status, strict=True))

    def boxes(*kinds: str) -> Iterator[tuple[float, float, float, float]]:
        for low, high, value, _, said in cells:
            if (
                value is not None
                and low is not None
                and high is not None
                and (said in kinds or (not kinds and said not in (*RIGHT, "differs")))
            ):
                yield low, min(0.0, value), high, max(0.0, value)

    def inside(pen: Pen, grid: PathGrid, _: float) -> Iterator[Markup]:
        bands = ((low, -room, high, room) for low, high, _, room, _ in cells if low is not None and high is not None)
        yield from draw_boxes(pen, axes, grid, bands, "numerical", 0.22)
        yield from draw_boxes(pen, axes, grid, boxes(*RIGHT), "muted", 0.75)
        yield from draw_boxes(pen, axes, grid, boxes(), "muted", 0.3)
        yield from draw_boxes(pen, axes, grid, boxes("differs"), "disagreement", 0.9)

    legend = (box_key("agrees", "muted", 0.75), *([box_key("differs", "disagreement", 0.9)] if differing else []))
    legend += (box_key("allowed", "numerical", 0.3),)
    return (_fitted("rise − area per cell", axes, inside, legend),)


def precision_panels(answer: Answer) -> tuple[ViewPanel, ...]:
    """How many units in the last place forward and gradient are off."""
    header: Any = answer.header
    colours = {"float32": "ink", "bfloat16": "bfloat16", "float16": "float16"}
    xs = [float(x) for x in answer.columns["x"]] if "x" in answer.columns else []
    columns = {
        (what, dtype): [
            None if value is None else max(-1.0, log10(value)) if value > 0 else -1.0
            for value in finite_column(answer, f"{what}_{dtype}")
        ]
        for what in ("forward", "gradient")
        for dtype in colours
    }
    found = [value for column in columns.values() for value in column if value is not None]
    if not found:
        return ()
    span = (-1.2, max(0.4, *found) + 0.2)
    half = (Tick(log10(0.5), "½"),) if span[1] < 1 else ()  # no rounding can do better
    across = linear_axis((header["start"], header["stop"]), header["wrt"])
    legend = tuple(
        (ring_key if dtype == "bfloat16" else dot_key)(dtype, colour)
        for dtype, colour in colours.items()
        if columns["forward", dtype] or columns["gradient", dtype]
    )

    def panel(what: str) -> ViewPanel:
        axes = Frame2D(across, linear_axis(span, ""))

        def inside(pen: Pen, grid: PathGrid, scale: float) -> Iterator[Markup]:
            best = (across.span, (log10(0.5),) * 2)
            yield from draw_line(pen, axes, grid, best, "muted", scale, f"{2 * scale:g} {3 * scale:g}")
            for dtype, colour in colours.items():
                points = zip(xs, columns[what, dtype], strict=False)
                draw, size = (draw_rings, 4.6) if dtype == "bfloat16" else (draw_dots, 3.4)
                yield from draw(pen, axes, grid, points, colour, size * scale)

        words = f"error of {what} in units in the last place"
        return ViewPanel(
            words,
            across,
            axes.up,
            inside,
            legend if what == "forward" else (),
            None,
            True,
            (_linear(across), lambda count: (Tick(-1.0, "0"), *half, *decade_ticks((0.0, span[1]), count))),
        )

    return panel("forward"), panel("gradient")


def wide_panels(answer: Answer) -> tuple[ViewPanel, ...]:
    """How far apart analytical and numerical are, relative to the larger of them, over all of the dtype."""
    header: Any = answer.header
    xs = [float(x) for x in answer.columns["x"]] if "x" in answer.columns else []
    place, span, many = _both_signs(xs, header["reach"])
    triples = zip(
        xs,
        finite_column(answer, "analytical"),
        finite_column(answer, "numerical"),
        finite_column(answer, "error"),
        words_of_status(answer, header["statuses"]),
        strict=False,
    )
    points: dict[str, list[tuple[float, float | None]]] = {
        name: [] for name in ("undecided", "matches surrogate", "agrees", "differs")
    }
    bound: list[tuple[float, float | None]] = []
    follows = header["claim"] == "surrogate"  # what is apart may be right, as the derivative of another function
    for x, returned, numerical, error, said in triples:
        if returned is None or numerical is None:
            bound.append((place(x), None))
            continue
        larger = max(abs(returned), abs(numerical))
        apart, room = _relative(returned - numerical, larger), _relative(error, larger)
        bound.append((place(x), room))
        vague = said not in RIGHT or (room is not None and apart is not None and room > -1 and -1 < apart <= room)
        designed = follows and apart is not None and apart > max(-1.0, -1.0 if room is None else room)
        kind = "undecided" if vague else "matches surrogate" if designed else "agrees"
        points["differs" if said == "differs" else kind].append((place(x), apart))
    axes = Frame2D(linear_axis(span, header["wrt"]), linear_axis((-17.8, 1.3), ""))
    colours = {"undecided": "muted", "matches surrogate": "surrogate", "agrees": "ink", "differs": "disagreement"}

    def inside(pen: Pen, grid: PathGrid, scale: float) -> Iterator[Markup]:
        sight = [(place(header["start"]), -17.8, place(header["stop"]), 1.3)]
        yield from draw_boxes(pen, axes, grid, sight, "muted", 0.14)
        ends = (
            (low if low is not None else -1e300, high if high is not None else 1e300)
            for low, high in header["intervals"]
        )
        yield from draw_boxes(
            pen, axes, grid, ((place(low), -17.8, place(high), 1.3) for low, high in ends), "disagreement", 0.15
        )
        yield from draw_line(pen, axes, grid, ([x for x, _ in bound], [y for _, y in bound]), "numerical", 2 * scale)
        for name, found in points.items():
            draw = draw_rings if name == "undecided" else draw_dots
            yield from draw(pen, axes, grid, found, colours[name], 5.5 * scale)

    legend = (
        *(
            (ring_key if name == "undecided" else dot_key)(name, colours[name])
            for name in ("agrees", "differs", "matches surrogate", "undecided")
            if points[name]
        ),
        line_key("error bound", "numerical", 2),
        box_key("range of the figure", "muted", 0.25),
    )
    fit = (many, lambda count: (Tick(-17.0, "0"), *decade_ticks((-16.0, 1.3), count)))
    return (ViewPanel("relative difference", axes.across, axes.up, inside, legend, None, True, fit),)


def step_panels(answer: Answer) -> tuple[ViewPanel, ...]:
    """How far differences at one x are from the best value, for steps from wide to fine."""
    header: Any = answer.header
    steps = [log10(step) for step in finite_column(answer, "step") if step]
    named = ("central", "left", "right", "taylor")
    errors = [value for name in named for value in finite_column(answer, name) if value is not None]
    if not errors:
        return ()
    measured = [value for value in errors if value > 0]
    low = floor(max(-300.0, log10(min(measured)))) if measured else -16
    high = ceil(log10(max(measured))) if measured else 0
    span = (low - 0.6, max(high, low + 1) + 0.6)
    ends = (min(steps) - 0.2, max(steps) + 0.2) if steps else (-16.0, 0.0)
    axes = Frame2D(linear_axis(ends, f"step of {header['wrt']}"), linear_axis(span, ""))

    def column(name: str) -> Numbers:
        return [
            None if value is None else log10(value) if value > 0 else float(low)
            for value in finite_column(answer, name)
        ]

    def inside(pen: Pen, grid: PathGrid, scale: float) -> Iterator[Markup]:
        dash, dots = f"{6 * scale:g} {4 * scale:g}", f"{2 * scale:g} {3 * scale:g}"
        lines: tuple[tuple[str, str, float, str], ...] = (
            ("truncation", "muted", 1.2, dash),
            ("rounding", "muted", 1.2, dash),
            ("central", "numerical", 4.0, ""),
        )
        lines += (("left", "ink", 1.5, ""), ("right", "ink", 1.5, dots), ("taylor", "analytical", 2.0, ""))
        for name, colour, width, dashes in lines:
            yield from _rising(pen, axes, grid, (steps, column(name)), colour, width * scale, dashes)
        used = [log10(each) for each in header["chosen"] or [] if each > 0]
        yield from draw_boxes(
            pen,
            axes,
            grid,
            ((x - 0.02, span[0], x + 0.02, span[0] + 0.08 * (span[1] - span[0])) for x in used),
            "numerical",
            1.0,
        )
        least = header["least"]
        if least:
            error = least["error"]
            spot = [(log10(least["step"]), log10(error) if error else float(low))]
            yield from draw_dots(pen, axes, grid, spot, "ink", 9 * scale)
            yield from draw_dots(pen, axes, grid, spot, "paper", 6 * scale)

    legend = (
        line_key("central", "numerical", 4),
        line_key("left", "ink", 1.5),
        line_key("right", "ink", 1.5, (2, 3)),
        *(
            [line_key(f"Taylor remainder with {nouns(header).backward}", "analytical", 2)]
            if any(column("taylor"))
            else []
        ),
        line_key("truncation, rounding", "muted", 1.2, (6, 4)),
        *([box_key("steps used", "numerical", 1.0)] if header["chosen"] else []),
    )
    fit = (lambda count: decade_ticks(ends, count), lambda count: decade_ticks(span, count))
    return (ViewPanel("error of the difference", axes.across, axes.up, inside, legend, None, True, fit),)


def descent_panels(answer: Answer) -> tuple[ViewPanel, ...]:
    """The loss step by step, with what backward returned and with the true derivative."""
    losses = {name: finite_column(answer, name) for name in ("loss", "true_loss")}
    found = [value for column in losses.values() for value in column if value is not None]
    positive = [value for value in found if value > 0]
    logarithmic = bool(positive) and max(positive) > 100 * min(positive)
    low = floor(log10(min(positive))) if logarithmic else 0

    def height(value: float | None) -> float | None:
        return value if value is None or not logarithmic else log10(value) if value > 0 else low - 1.0

    heights = {name: [height(value) for value in column] for name, column in losses.items()}
    seen = [value for column in heights.values() for value in column if value is not None] or [0.0, 1.0]
    span = _airy([*seen, *([] if logarithmic else [0.0])])
    count = max(len(losses["loss"]), len(losses["true_loss"]), 2) - 1
    axes = Frame2D(linear_axis((0.0, float(count)), "step"), linear_axis(span, ""))
    runs = (
        ("true_loss", "numerical", 5.0, "with the true derivative"),
        ("loss", "analytical", 2.0, "with this backward"),
    )

    def inside(pen: Pen, grid: PathGrid, scale: float) -> Iterator[Markup]:
        for name, colour, width, _ in runs:
            steps = [float(each) for each in range(len(heights[name]))]
            yield from draw_line(pen, axes, grid, (steps, heights[name]), colour, width * scale)

    def above(pen: Pen, grid: PathGrid, scale: float) -> Iterator[Markup]:
        for name, colour, width, _ in runs:
            ended = [(float(i), value) for i, value in enumerate(heights[name]) if value is not None][-1:]
            yield from draw_dots(pen, axes, grid, ended, colour, (6 + 1.6 * width) * scale)

    def labels(most: int) -> tuple[Tick, ...]:
        if not logarithmic:
            return ticks(span, most)
        zero = (Tick(low - 1.0, "0"),) if 0.0 in found else ()
        return (*zero, *decade_ticks((float(low), span[1]), most))

    def whole(most: int) -> tuple[Tick, ...]:
        found = ticks((0.0, float(count)), min(most, count))
        return tuple(tick for tick in found if tick.value == int(tick.value))

    legend = tuple(line_key(words, colour, width) for _, colour, width, words in reversed(runs))
    return (ViewPanel("loss", axes.across, axes.up, inside, legend, above, True, (whole, labels)),)


def _rising(
    pen: Pen, axes: Frame2D, grid: PathGrid, line: tuple[Numbers, Numbers] | Any, colour: str, width: float, dashes: str
) -> Iterator[Markup]:
    """A curve whose numbers may come from right to left."""
    pairs = list(zip(*line, strict=False))
    pairs = pairs[::-1] if len(pairs) > 1 and pairs[0][0] > pairs[-1][0] else pairs
    yield from draw_line(pen, axes, grid, ([x for x, _ in pairs], [y for _, y in pairs]), colour, width, dashes)


def _fitted(words: str, axes: Frame2D, inside: Any, legend: tuple[Any, ...]) -> ViewPanel:
    return ViewPanel(words, axes.across, axes.up, inside, legend, None, True, (_linear(axes.across), _linear(axes.up)))


def _linear(axis: Axis) -> Any:
    return lambda count: ticks(axis.span, count)


def _airy(values: list[float]) -> AxisRange:
    low, high = min(values), max(values)
    air = _AIR * ((high - low) or 1e-290)
    return low - air, high + air


def _relative(difference: float | None, size: float) -> float | None:
    if difference is None:
        return None
    return max(-17.0, min(0.5, log10(abs(difference) / size))) if difference and size else -17.0


def _both_signs(xs: list[float], reach: Any) -> tuple[Any, AxisRange, Any]:
    """Both signs on one axis, each by its power of ten: the place of a value, the range, and labels."""
    sizes = [log10(abs(x)) for x in xs if x]
    least = floor(min(0.0, *sizes)) if sizes else -1
    most = max(least + 1.0, *sizes) if sizes else 1.0

    def place(value: float) -> float:
        if not value:
            return 0.0
        size = max(0.0, min(most, log10(abs(value))) - least)
        return size if value > 0 else -size

    low, high = (
        place(end if end is not None else sign * 1e300)
        for end, sign in zip(reach or (None, None), (-1, 1), strict=True)
    )

    def labels(count: int) -> tuple[Tick, ...]:
        powers = decade_ticks((least + 1.0, most), max(1, count // 2))
        found = [Tick(0.0, "0"), *(Tick(tick.value - least, tick.text) for tick in powers)]
        found += [Tick(least - tick.value, f"−{decade_label(int(tick.value))}") for tick in powers]
        return tuple(sorted((tick for tick in found if low <= tick.value <= high), key=lambda tick: tick.value))

    return place, (low, high), labels
