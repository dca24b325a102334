"""The panels of the views that are drawn over one axis: area, precision, wide, step, descent."""

from collections.abc import Callable, Iterator, Sequence
from math import ceil, floor, log10

from markupsafe import Markup

from ..documents.typography import nouns
from ..protocol.frames import Frame
from ..schema.section import Ends
from ..schema.views import AreaRecord, DescentRecord, PrecisionRecord, StepRecord, WideRecord
from .axes import AxisRange, Tick, decade_label, decade_ticks, ticks
from .drawn_section import RIGHT, Numbers, finite_column, words_of_status
from .legend_keys import LegendEntry, box_key, dot_key, line_key, ring_key
from .panel import Canvas, Labels, Panel
from .scene import Axis

_AIR = 0.11
_DTYPES = {"float32": "ink", "bfloat16": "bfloat16", "float16": "float16"}  # colours
_HOLLOW = ("bfloat16", "undecided")  # what has rings in the place of dots
# Of relative differences, as powers of ten: nothing, and the ends of the axis.
_NOTHING, _LOW, _HIGH = -17.0, -17.8, 1.3
_FATES = {"undecided": "muted", "matches surrogate": "surrogate", "agrees": "ink", "differs": "disagreement"}


def area_panels(answer: Frame[AreaRecord]) -> tuple[Panel, ...]:
    """In every cell the rise of forward less the area under backward."""
    header, residual = answer.header, finite_column(answer, "residual")
    sizes = sorted(abs(value) for value in residual if value is not None)
    if not sizes:
        return ()
    allowed = [value or 0.0 for value in finite_column(answer, "allowed")]
    status = words_of_status(answer)
    differing = [value for value, said in zip(residual, status, strict=True) if said == "differs" and value is not None]
    most = sizes[floor(0.9 * (len(sizes) - 1))]
    bound = 0.0 if differing else sorted(allowed)[len(allowed) // 2]
    span = _airy([*(differing or [-most, most]), -1.3 * bound, 1.3 * bound, 0.0])
    ends = (answer.columns["left"].tolist(), answer.columns["right"].tolist())
    cells = list(zip(*ends, residual, allowed, status, strict=True))
    others = {*header["statuses"]} - {*RIGHT, "differs"}

    def rises(*kinds: str) -> Iterator[tuple[float, float, float, float]]:
        for low, high, value, _, said in cells:
            if value is not None and said in kinds:
                yield low, min(0.0, value), high, max(0.0, value)

    def inside(canvas: Canvas) -> Iterator[Markup]:
        yield from canvas.boxes(((low, -room, high, room) for low, high, _, room, _ in cells), "numerical", 0.22)
        yield from canvas.boxes(rises(*RIGHT), "muted", 0.75)
        yield from canvas.boxes(rises(*others), "muted", 0.3)
        yield from canvas.boxes(rises("differs"), "disagreement", 0.9)

    legend = (box_key("agrees", "muted", 0.75), *[box_key("differs", "disagreement", 0.9)] * bool(differing))
    legend += (box_key("allowed", "numerical", 0.3),)
    across = Axis((header["start"], header["stop"]), header["wrt"])
    return (Panel("rise − area per cell", across, Axis(span), inside, legend),)


def precision_panels(answer: Frame[PrecisionRecord]) -> tuple[Panel, ...]:
    """How many units in the last place forward and gradient are off."""
    header = answer.header
    columns = {
        (what, dtype): [_power(value and max(0.1, value), -1.0) for value in finite_column(answer, f"{what}_{dtype}")]
        for what in ("forward", "gradient")
        for dtype in _DTYPES
    }
    powers = [value for column in columns.values() for value in column if value is not None]
    if not powers:
        return ()
    x = answer.columns["x"].tolist()
    span = (-1.2, max(0.4, *powers) + 0.2)
    half = (Tick(log10(0.5), "½"),) if span[1] < 1 else ()  # no rounding can do better
    across = Axis((header["start"], header["stop"]), header["wrt"])
    there = {dtype: _DTYPES[dtype] for (_, dtype), column in columns.items() if column}

    def panel(what: str) -> Panel:
        def inside(canvas: Canvas) -> Iterator[Markup]:
            yield from canvas.line(across.span, (log10(0.5),) * 2, "muted", 1.0, 2, 3)
            for dtype, colour in _DTYPES.items():
                points = list(zip(x, columns[what, dtype], strict=False))
                yield from (canvas.rings(points, colour, 4.6) if dtype in _HOLLOW else canvas.dots(points, colour, 3.4))

        return Panel(
            f"error of {what} in units in the last place",
            across,
            Axis(span),
            inside,
            _spot_keys(there) if what == "forward" else (),
            beside=lambda count: (Tick(-1.0, "0"), *half, *decade_ticks((0.0, span[1]), count)),
        )

    return panel("forward"), panel("gradient")


def wide_panels(answer: Frame[WideRecord]) -> tuple[Panel, ...]:
    """How far apart analytical and numerical are, relative to the larger of them, over all of the dtype."""
    header, x = answer.header, answer.columns["x"].tolist()
    place, span, labels = _both_signs(x, header["reach"])
    points: dict[str, list[tuple[float, float | None]]] = {fate: [] for fate in _FATES}
    bound = Numbers()
    columns = (finite_column(answer, name) for name in ("analytical", "numerical", "error"))
    for at, returned, numerical, error, said in zip(map(place, x), *columns, words_of_status(answer), strict=False):
        if returned is None or numerical is None:
            bound.append(None)
            continue
        larger = max(abs(returned), abs(numerical))
        apart, room = _relative(returned - numerical, larger), error if error is None else _relative(error, larger)
        bound.append(room)
        points[_fate(said, apart, room, header["claim"] == "surrogate")].append((at, apart))

    def inside(canvas: Canvas) -> Iterator[Markup]:
        sight = (place(header["start"]), _LOW, place(header["stop"]), _HIGH)
        yield from canvas.boxes([sight], "muted", 0.14)
        apart = (map(place, _finite(ends)) for ends in header["intervals"])
        yield from canvas.boxes(((low, _LOW, high, _HIGH) for low, high in apart), "disagreement", 0.15)
        yield from canvas.line([place(each) for each in x], bound, "numerical", 2.0)
        for fate, spots in points.items():
            draw = canvas.rings if fate in _HOLLOW else canvas.dots
            yield from draw(spots, _FATES[fate], 5.5)

    shown = {fate: _FATES[fate] for fate in ("agrees", "differs", "matches surrogate", "undecided") if points[fate]}
    legend = (
        *_spot_keys(shown),
        line_key("error bound", "numerical", 2),
        box_key("range of the figure", "muted", 0.25),
    )
    return (
        Panel(
            "relative difference",
            Axis(span, header["wrt"]),
            Axis((_LOW, _HIGH)),
            inside,
            legend,
            below=labels,
            beside=lambda count: (Tick(_NOTHING, "0"), *decade_ticks((_NOTHING + 1, _HIGH), count)),
        ),
    )


def _fate(said: str, apart: float, room: float | None, follows: bool) -> str:
    """What is to be made of a difference ``apart``, of which ``room`` is the error bound.

    Where backward ``follows`` a surrogate, what is apart may be right, as the derivative of another function.
    """
    if said == "differs":
        return said
    if said not in RIGHT or (room is not None and -1 < apart <= room):
        return "undecided"
    return "matches surrogate" if follows and apart > max(-1.0, -1.0 if room is None else room) else "agrees"


def step_panels(answer: Frame[StepRecord]) -> tuple[Panel, ...]:
    """How far differences at one x are from the best value, for steps from wide to fine."""
    header = answer.header
    errors = [value for name in ("central", "left", "right", "taylor") for value in finite_column(answer, name)]
    measured = [value for value in errors if value is not None and value > 0]
    if all(value is None for value in errors):
        return ()
    low = floor(max(-300.0, log10(min(measured)))) if measured else -16
    high = ceil(log10(max(measured))) if measured else 0
    span = (low - 0.6, max(high, low + 1) + 0.6)
    steps = [log10(step) for step in finite_column(answer, "step") if step][::-1]  # which are from wide to fine
    ends = (min(steps) - 0.2, max(steps) + 0.2) if steps else (-16.0, 0.0)

    def column(name: str) -> Numbers:
        return [_power(value, low) for value in finite_column(answer, name)][::-1]

    def inside(canvas: Canvas) -> Iterator[Markup]:
        for name in ("truncation", "rounding"):
            yield from canvas.line(steps, column(name), "muted", 1.2, 6, 4)
        yield from canvas.line(steps, column("central"), "numerical", 4.0)
        yield from canvas.line(steps, column("left"), "ink", 1.5)
        yield from canvas.line(steps, column("right"), "ink", 1.5, 2, 3)
        yield from canvas.line(steps, column("taylor"), "analytical", 2.0)
        used = [log10(step) for step in header["chosen"] or () if step > 0]
        top = span[0] + 0.08 * (span[1] - span[0])
        yield from canvas.boxes(((x - 0.02, span[0], x + 0.02, top) for x in used), "numerical", 1.0)
        if least := header["least"]:
            spot = [(log10(least["step"]), log10(least["error"]) if least["error"] else float(low))]
            yield from canvas.dots(spot, "ink", 9)
            yield from canvas.dots(spot, "paper", 6)

    taylor = line_key(f"Taylor remainder with {nouns(header).backward}", "analytical", 2)
    legend = (
        line_key("central", "numerical", 4),
        line_key("left", "ink", 1.5),
        line_key("right", "ink", 1.5, (2, 3)),
        *[taylor] * any(column("taylor")),
        line_key("truncation, rounding", "muted", 1.2, (6, 4)),
        *[box_key("steps used", "numerical", 1.0)] * bool(header["chosen"]),
    )
    return (
        Panel(
            "error of the difference",
            Axis(ends, f"step of {header['wrt']}"),
            Axis(span),
            inside,
            legend,
            below=lambda count: decade_ticks(ends, count),
            beside=lambda count: decade_ticks(span, count),
        ),
    )


def descent_panels(answer: Frame[DescentRecord]) -> tuple[Panel, ...]:
    """The loss step by step, with what backward returned and with the true derivative."""
    losses = {name: finite_column(answer, name) for name in ("loss", "true_loss")}
    values = [value for column in losses.values() for value in column if value is not None]
    positive = [value for value in values if value > 0]
    logarithmic = bool(positive) and max(positive) > 100 * min(positive)
    low = floor(log10(min(positive))) if logarithmic else 0
    heights = {
        name: [_power(value, low - 1.0) for value in column] if logarithmic else column
        for name, column in losses.items()
    }
    seen = [value for column in heights.values() for value in column if value is not None] or [0.0, 1.0]
    span = _airy([*seen, *[0.0] * (not logarithmic)])
    last = max(len(losses["loss"]), len(losses["true_loss"]), 2) - 1
    runs = (
        ("true_loss", "numerical", 5.0, "with the true derivative"),
        ("loss", "analytical", 2.0, "with this backward"),
    )

    def inside(canvas: Canvas) -> Iterator[Markup]:
        for name, colour, width, _ in runs:
            yield from canvas.line(range(len(heights[name])), heights[name], colour, width)

    def above(canvas: Canvas) -> Iterator[Markup]:
        for name, colour, width, _ in runs:
            ended = [(float(i), value) for i, value in enumerate(heights[name]) if value is not None][-1:]
            yield from canvas.dots(ended, colour, 6 + 1.6 * width)

    def losses_beside(count: float) -> tuple[Tick, ...]:
        if not logarithmic:
            return ticks(span, count)
        return (*[Tick(low - 1.0, "0")] * (0.0 in values), *decade_ticks((float(low), span[1]), count))

    def whole_steps(count: float) -> tuple[Tick, ...]:
        return tuple(tick for tick in ticks((0.0, float(last)), min(count, last)) if tick.value == int(tick.value))

    legend = tuple(line_key(words, colour, width) for _, colour, width, words in reversed(runs))
    axes = Axis((0.0, float(last)), "step"), Axis(span)
    return (Panel("loss", *axes, inside, legend, above=above, below=whole_steps, beside=losses_beside),)


def _power(value: float | None, nothing: float) -> float | None:
    """The power of ten of a size, that of ``nothing`` for 0."""
    return value if value is None else log10(value) if value > 0 else float(nothing)


def _spot_keys(colours: dict[str, str]) -> tuple[LegendEntry, ...]:
    return tuple((ring_key if name in _HOLLOW else dot_key)(name, colour) for name, colour in colours.items())


def _finite(ends: Ends | None) -> Ends:
    """Numbers in the place of ends that there are none of."""
    low, high = ends or (None, None)
    return -1e300 if low is None else low, 1e300 if high is None else high


def _airy(values: list[float]) -> AxisRange:
    low, high = min(values), max(values)
    air = _AIR * ((high - low) or 1e-290)
    return low - air, high + air


def _relative(difference: float, size: float) -> float:
    return max(_NOTHING, min(0.5, log10(abs(difference) / size))) if difference and size else _NOTHING


def _both_signs(x: Sequence[float], reach: Ends | None) -> tuple[Callable[[float], float], AxisRange, Labels]:
    """Both signs on one axis, each by its power of ten: the place of a value, the range, and labels."""
    sizes = [log10(abs(value)) for value in x if value]
    least = floor(min(0.0, *sizes)) if sizes else -1
    most = max(least + 1.0, *sizes) if sizes else 1.0

    def place(value: float) -> float:
        size = max(0.0, min(most, log10(abs(value))) - least) if value else 0.0
        return size if value > 0 else -size

    low, high = map(place, _finite(reach))

    def labels(count: float) -> tuple[Tick, ...]:
        powers = decade_ticks((least + 1.0, most), max(1, count // 2))
        both = [Tick(0.0, "0"), *(Tick(tick.value - least, tick.text) for tick in powers)]
        both += [Tick(least - tick.value, f"−{decade_label(int(tick.value))}") for tick in powers]
        return tuple(sorted((tick for tick in both if low <= tick.value <= high), key=lambda tick: tick.value))

    return place, (low, high), labels
