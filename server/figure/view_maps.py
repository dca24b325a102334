"""The panels of the views that are fields of colours: map, surface, jacobian."""

from collections.abc import Iterator, Sequence
from functools import partial
from math import floor

from markupsafe import Markup

from ..documents.typography import typeset_number
from ..protocol.frames import Frame
from ..protocol.question import element_names
from ..schema.views import JacobianRecord, MapRecord, SurfaceRecord
from .axes import Tick
from .drawn_section import RIGHT, Numbers, finite_column, words_of_status
from .legend_keys import LegendEntry, box_key, line_key, ramp_key
from .panel import CELLS_WITH_NUMBERS, Canvas, Panel
from .scene import Axis

_DEEP = 0.72  # from here on a colour needs light type
_MARKS = {"jump": "⊓"}  # of a cell by its status; of others one that bends has a diamond
_NOTHING, _EQUAL = "nothing returned", "within the error bound"


def map_panels(answer: Frame[MapRecord]) -> tuple[Panel, ...]:
    """Over x and grad_output the factor by which backward multiplies."""
    header = answer.header
    sent, ratio = finite_column(answer, "grad_output"), finite_column(answer, "ratio")
    if all(value is None for value in ratio):
        return ()
    rows = _rows(ratio, len(answer.columns["x"]))
    most = _most(ratio) or 1.0
    across, up = Axis((header["start"], header["stop"]), header["wrt"]), Axis((sent[0] or -1.0, sent[-1] or 1.0))

    def inside(canvas: Canvas) -> Iterator[Markup]:
        yield from canvas.field(rows, most)
        for colour, width in (("paper", 4.5), ("ink", 1.5)):
            yield from canvas.line(across.span, (header["grad_output"],) * 2, colour, width)

    legend = ramp_key(most, "grad_input / grad_output"), line_key("current grad_output", "ink", 1.5)
    return (Panel("grad_output", across, up, inside, legend, grid=False),)


def surface_panels(answer: Frame[SurfaceRecord]) -> tuple[tuple[Panel, ...], ...]:
    """Forward over two elements, and its gradient along the first as returned, by differences, and between them."""
    header = answer.header
    x, y = finite_column(answer, "x"), finite_column(answer, "y")
    if not x or not y:
        return ()
    forward, returned, numerical = (finite_column(answer, name) for name in ("forward", "analytical_x", "numerical_x"))
    apart = [
        one - other if said == "differs" and one is not None and other is not None else None
        for one, other, said in zip(returned, numerical, words_of_status(answer, "status_x"), strict=False)
    ]
    axes = _centred(x, header["wrt"]), _centred(y, header["wrt2"] or "")
    seen = [value for value in forward if value is not None]
    low, high = min(seen, default=0.0), max(seen, default=0.0)
    raised: Numbers = [None if value is None else value - low for value in forward]
    both = max(_most(returned), _most(numerical)) or 1.0
    slope = f"gradient along {header['wrt']}"

    def heights(canvas: Canvas) -> Iterator[Markup]:
        yield from canvas.field(_rows(raised, len(x)), high - low or 1.0, signed=False)
        yield from canvas.dots(zip(header["ridges"]["x"], header["ridges"]["y"], strict=True), "ink", 3)

    def slopes(words: str, values: Numbers, most: float, note: str = "") -> Panel:
        rows = _rows(values, len(x))
        texts = () if any(value is not None for value in values) else ((0.5, 0.5, note, "muted"),)
        inside = partial(Canvas.field, rows=rows, most=most)
        return Panel(words, *axes, inside, (ramp_key(most),), grid=False, texts=texts)

    key = box_key(f"{typeset_number(low, 3)} … {typeset_number(high, 3)}", "muted", 1.0)
    return (
        (
            Panel("forward", *axes, heights, (key,), grid=False),
            slopes(f"{slope}, returned", returned, both, _NOTHING),
        ),
        (
            slopes(f"{slope}, numerical", numerical, both),
            slopes("their difference", apart, _most(apart) or both, _EQUAL),
        ),
    )


def jacobian_panels(answer: Frame[JacobianRecord]) -> tuple[Panel, ...]:
    """Every output by every input: numerical, returned, and their difference where they do not agree."""
    header = answer.header
    if not header["rows"] or not header["across"]:
        return ()
    rows, across = (
        element_names(side["name"], side["shape"], range(side["first"], side["first"] + side["count"]))
        for side in (header["rows"], header["across"])
    )
    matrix, status = partial(_matrix, rows, across), words_of_status(answer)
    numerical, returned, difference, left, right = (
        finite_column(answer, name) for name in ("numerical", "returned", "difference", "left", "right")
    )
    most = max(_largest(numerical), _largest(returned))
    apart = _largest([value for value, said in zip(difference, status, strict=False) if said == "differs"])
    bent = [None not in sides for sides in zip(left, right, strict=True)]
    forward = [_MARKS.get(said) or ("◇" if kink else "×") for said, kink in zip(status, bent, strict=True)]
    scales = (ramp_key(most),) if most else ()
    first = matrix("numerical", numerical, forward, most, scales)
    if not returned:
        none = (matrix(words, [], forward, most, note=_NOTHING) for words in ("returned by backward", "difference"))
        return (first, *none)
    shown = [None if said in RIGHT else value for value, said in zip(difference, status, strict=True)]
    marks = [
        "" if said in RIGHT else "×" if came is None else mark
        for said, came, mark in zip(status, returned, forward, strict=True)
    ]
    keys = (ramp_key(apart, "intended" if header["designed"] else ""),) if apart else ()
    return (
        first,
        matrix("returned by backward", returned, ["×"] * len(status), most, scales),
        matrix("difference", shown, marks, apart or most, keys, _EQUAL if {*status} <= {*RIGHT} else ""),
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
) -> Panel:
    """A field of cells with a number or a mark in each, or with a ``note`` in its middle; its first row is on top.

    ``down`` and ``along`` are the names of its rows and columns.
    """
    high, wide = len(down), len(along)
    values = values or [None] * (high * wide)
    cells = [(at % wide + 0.5, high - at // wide - 0.5, value, marks[at]) for at, value in enumerate(values)]
    texts = tuple(
        (x / wide, y / high, mark if value is None else typeset_number(value, 3), _type_on(value, most))
        for x, y, value, mark in cells
        if value is not None or mark
    )

    def inside(canvas: Canvas) -> Iterator[Markup]:
        yield from canvas.field(_rows(values, wide)[::-1], most)
        if wide > CELLS_WITH_NUMBERS:
            yield from canvas.dots(((x, y) for x, y, value, mark in cells if mark and value is None), "muted", 3)

    return Panel(
        words,
        Axis((0.0, float(wide))),
        Axis((0.0, float(high))),
        inside,
        legend,
        below=partial(_names, along),
        beside=partial(_names, down[::-1]),
        grid=False,
        levels=8,
        texts=((0.5, 0.5, note, "muted"),) if note else texts,
        cells=(1, 1) if note else (wide, high),
        rows=high,
    )


def _type_on(value: float | None, most: float) -> str:
    """The colour of a number on the colour of its cell."""
    return "muted" if value is None else "paper" if abs(value) > _DEEP * most else "ink"


def _names(names: Sequence[str], count: float) -> tuple[Tick, ...]:
    """The name of each row or column in its middle, of many only some."""
    every = -(-len(names) // int(count))
    return tuple(Tick(i + 0.5, name) for i, name in enumerate(names) if i % every == 0)


def _rows(values: Numbers, wide: int) -> list[Numbers]:
    return [values[at : at + wide] for at in range(0, len(values), wide)]


def _centred(values: Numbers, words: str) -> Axis:
    """An axis whose first and last value are the middles of its cells."""
    first, last = values[0] or 0.0, values[-1] or 0.0
    half = (last - first) / max(1, len(values) - 1) / 2 or 0.5
    return Axis((first - half, last + half), words)


def _most(values: Numbers) -> float:
    """The largest size, without what is nearly infinite."""
    sizes = sorted(abs(value) for value in values if value is not None)
    return (sizes[floor(0.995 * (len(sizes) - 1))] or sizes[-1]) if sizes else 0.0


def _largest(values: Numbers) -> float:
    return max((abs(value) for value in values if value is not None), default=0.0)
