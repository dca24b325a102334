"""Hypotheses for a backward that returns a multiple of the slope: 0, the sign reversed, a factor missing or extra."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...protocol.listed import listed
from ...protocol.question import element_names
from ...runtime.arrays import Array, evenly_chosen
from ...runtime.failure import FunctionFailed
from ...runtime.reference import reference_of
from ...runtime.section import Section
from ...runtime.vjp import uneven
from ..differentiation.finite_differences import PointKind, differentiate
from ..formatting.numbers import constant_name, format_measured, format_number, simplest_number
from ..tolerance import ALIKE_SHARE, SMALL
from .evidence import MANY_ROWS, MIN_ROWS, Evidence, describe_factor
from .stories import Story
from .swapped_inputs import conjugate_slope, swapped_inputs

# What is looked at first for a factor of x or y; the story that passes is then held against every row.
_SAMPLES = 64  # budget: the most rows
_POWERS = (1, -1, 2, -2)  # unit: the powers of a held value that a factor may be
# sample: a held value is multiplied by this, as no other is likely to be: up, or down where that is out of bounds.
_CHANGES = (1.1875, 0.8125)
_FACTOR_ROWS = 5  # budget: the rows at which the factor is measured again with the held value changed
_MAX_ELEMENTS = 64  # budget: in a tensor larger than this no element is looked for


def zero_gradient(data: Evidence) -> Story | None:
    """Hypothesis: backward returns 0 everywhere, although the slope is not 0."""
    exceptions = data.exceptions(0.0) if data.moving.any() else None
    if exceptions is None or (not data.evaluation.returned_none and _reaches_elsewhere(data)):
        return None
    what = "None, which autograd takes for 0," if data.evaluation.returned_none else "0"
    return data.tell("blocked", what=what, where=data.everywhere(exceptions))


def _reaches_elsewhere(data: Evidence) -> bool:
    """Whether another element of the input gets a gradient, or this one does from another element of the output."""
    rows = np.flatnonzero(data.moving)
    try:
        found = data.section.alone().vjp(data.x[rows[rows.size // 2 :][:1]], uneven)
    except FunctionFailed:
        return False
    return found is not None and bool(found.any())


def constant_factor(data: Evidence) -> Story | None:
    """Hypothesis: the slope times a constant."""
    if np.count_nonzero(data.moving) < MIN_ROWS:
        return None
    steep = data.moving & (np.abs(data.slope) >= np.median(np.abs(data.slope[data.moving])))
    factor, within = data.typical(data.returned[steep] / data.slope[steep])
    exceptions = data.exceptions(factor)
    if exceptions is None or not factor:
        return None
    # A crooked number may be what the derivative by another input happens to be at what is held.
    unnamed = not (_plain_name(abs(factor), within) or _plain_name(*_inverse(abs(factor), within)))
    if unnamed and (story := swapped_inputs(data)):
        return story
    text, rows = format_measured(factor, within), data.everywhere(exceptions)
    if factor < 0 and (story := conjugate_slope(data, factor, within, rows)):
        return story
    if text == "−1":
        return data.tell("reversed", where=rows)
    named = held_value_behind(data, abs(factor))
    if not named and _depends_on_held(data, abs(factor)):
        because = ", a factor that changes with what the other inputs are held at"
        return data.tell("constant factor", factor=text, where=rows, because=because)
    reasons = [*["its sign is reversed"] * (factor < 0), *_factor_names(data, abs(factor), within, named)]
    because = f": {listed(reasons)}" if reasons else ""
    return data.tell("constant factor", factor=text, where=rows, because=because)


def _depends_on_held(data: Evidence, size: float) -> bool:
    """Whether the factor is another one where all other inputs are held at other values."""
    section = data.section
    moved = [
        (name, tuple(v if (name, k) == (section.wrt, section.place) else v * _CHANGES[0] for k, v in enumerate(values)))
        for name, values in section.inputs
    ]
    if tuple(moved) == section.inputs:
        return False
    factor = _factor_in(data, replace(section, inputs=tuple(moved)))
    return factor is not None and abs(factor - size) > max(ALIKE_SHARE, data.precision) * size


def _factor_names(data: Evidence, size: float, within: float, named: tuple[str, int] | None) -> list[str]:
    """Which factor is too many, or missing, if it has a name or is a plain number."""
    if named:
        which, power = named
        factor = f"{which}{'²' * (abs(power) == 2)}"
        if data.designed:
            return [f"it is {'multiplied' if power > 0 else 'divided'} by {factor}"]
        return [f"a factor {factor} is {'too many' if power > 0 else 'missing'}"]
    if data.designed:
        return []
    if size < 1 and (missing := _plain_name(*_inverse(size, within))):
        return [f"a factor {missing} is missing"]
    name = constant_name(size, within)
    return [f"a factor {name} is too many"] if name else []


def _inverse(value: float, within: float) -> tuple[float, float]:
    """The inverse of a number known to ± ``within``, and how far it is known; infinite where float64 ends."""
    return 1 / value, within / value / value  # a square might be 0


def _plain_name(value: float, within: float) -> str:
    """The name of a constant, or a number of few digits; empty if it is neither, or infinite."""
    if np.isinf(value):
        return ""
    near = simplest_number(value - within, value + within)
    return constant_name(value, within) or format_number(near) * (near == float(f"{near:.4g}"))


def factor_of_x(data: Evidence) -> Story | None:
    """Hypothesis: the slope times or divided by a simple expression in x and y."""
    rows = np.flatnonzero(data.moving & (data.returned != 0) & np.isfinite(data.returned))
    if rows.size < MANY_ROWS:
        return None
    rows = evenly_chosen(rows, _SAMPLES)
    names, factors = zip(*_factors(data), strict=True)
    table = np.stack(factors)
    ratio = np.log(np.abs(data.returned[rows] / data.slope[rows]))
    size = np.log(np.abs(table[:, rows]))
    ranked, few = np.sort(np.stack((ratio + size, ratio - size), axis=1), axis=-1), rows.size // 20
    # Almost constant is what is so but for a twentieth at either end.
    for which, missing in np.argwhere(ranked[..., -1 - few] - ranked[..., few] <= SMALL):
        if story := _factor_hypothesis(data, names[which], table[which], missing == 0):
            return story
    return None


def exponential_factor(data: Evidence) -> Story | None:
    """Hypothesis: the slope times a multiple of an exponential of x that is not y."""
    rows = data.moving & (data.returned != 0) & np.isfinite(data.returned)
    if np.count_nonzero(rows) < MANY_ROWS:
        return None
    x, ratio = data.x[rows], (data.returned / data.slope)[rows]
    fitted, shift = np.polyfit(x, np.log(np.abs(ratio)), 1, w=np.abs(data.slope[rows]))
    rate = simplest_number(fitted - ALIKE_SHARE * abs(fitted), fitted + ALIKE_SHARE * abs(fitted))
    if abs(rate) * np.ptp(x) < SMALL or rate != float(f"{rate:.3g}"):
        return None
    y = data.values[rows]
    if (np.abs(y - np.exp(abs(rate) * x)) <= ALIKE_SHARE * np.abs(y)).all():
        return None
    constant, within = data.typical(ratio * np.exp(-rate * x))
    exceptions = data.exceptions(constant * np.exp(rate * data.x)) if constant and np.isfinite(shift) else None
    if exceptions is None:
        return None
    written = format_measured(*(_inverse(constant, within) if rate < 0 else (constant, within)))
    factor = _product(written, f"exp({_product(format_number(abs(rate)), data.names.wrt)})")
    if rate > 0:
        return data.tell("extra factor", factor=factor, where=data.everywhere(exceptions))
    missing = _missing(factor, data)
    return data.tell("missing factor", factor=factor, where=data.everywhere(exceptions), missing=missing)


def constant_response(data: Evidence) -> Story | None:
    """Hypothesis: a constant times ``grad_output`` everywhere, although the slope changes."""
    constant = what_is_constant(data)
    return data.tell("straight-through", **constant) if constant else None


def what_is_constant(data: Evidence) -> dict[str, str]:
    """What a backward does that returns a constant times ``grad_output``, and where; nothing if it does not."""
    share, within = data.typical(data.returned[data.judged])
    exceptions = data.exceptions(0.0, share) if share and np.isfinite(share) else None
    if exceptions is None:
        return {}
    does = describe_factor(format_measured(share, within), data.names)
    return {"does": does, "where": data.everywhere(exceptions)}


def _factors(data: Evidence) -> Iterator[tuple[str, Array]]:
    x, y, by, of = data.x, data.values, data.names.wrt, data.names.of
    yield by, x
    yield of, y
    yield f"{by}²", x * x
    yield f"{of}²", y * y
    yield f"(1 − {of})", 1 - y
    yield f"(1 − {of}²)", 1 - y * y
    yield f"{of} (1 − {of})", y * (1 - y)
    yield f"(1 + {of})", 1 + y
    yield f"(1 + {of}²)", 1 + y * y
    yield f"(1 − {by}²)", 1 - x * x
    yield f"(1 + {by}²)", 1 + x * x
    yield f"|{by}|", np.abs(x)
    yield f"√{by}", np.sqrt(x)
    yield f"{by} {of}", x * y
    yield f"{by}³", x**3


def _factor_hypothesis(data: Evidence, symbol: str, factor: Array, missing: bool) -> Story | None:
    nonzero = np.abs(factor) > ALIKE_SHARE * np.nanmax(np.abs(factor[data.judged]))
    some = data.moving & nonzero
    share = data.returned[some] / data.slope[some]
    constant, within = data.typical(share * factor[some] if missing else share / factor[some])
    if not constant or np.isinf(1 / constant):
        return None
    scale = constant / factor if missing else constant * factor
    exceptions = data.exceptions(np.where(nonzero, scale, 0.0), np.where(nonzero, 0.0, data.returned))
    if exceptions is None:
        return None
    at = data.everywhere(exceptions)
    response, error = data.typical(data.returned[data.judged])
    inverse = format_measured(*_inverse(constant, within))
    lacks = _product(inverse, symbol) if missing else f"{inverse}/{symbol}"
    if (np.abs(data.returned - response)[data.judged] <= data.precision * abs(response)).all():
        does = describe_factor(format_measured(response, error), data.names)
        return data.tell("missing factor/of a constant", does=does, where=at, missing=_missing(lacks, data))
    if missing:
        return data.tell("missing factor", factor=lacks, where=at, missing=_missing(lacks, data))
    return data.tell("extra factor", factor=_product(format_measured(constant, within), symbol), where=at)


def _missing(factor: str, data: Evidence) -> str:
    """What a factor that would make backward right is said to be, where its absence is not declared."""
    return data.unless_designed(f": the factor {factor} is missing")


def _product(constant: str, symbol: str) -> str:
    bare = symbol[1:-1] if symbol.startswith("(") and symbol.endswith(")") else symbol
    return {"1": bare, "−1": f"−{symbol}"}.get(constant, f"{constant} {symbol}")


def held_value_behind(data: Evidence, size: float) -> tuple[str, int] | None:
    """The name of a held value, and the power of it that a factor of this ``size`` is whatever the value; or None."""
    share = max(ALIKE_SHARE, data.precision)
    for name, value, moved, section in _held_values(data.section):
        if abs(value) in (0, 1):
            continue
        powers = [power for power in _POWERS if abs(_power(value, power) - size) <= share * size]
        factor = _factor_in(data, section) if powers else None
        for power in powers:
            if factor is not None and abs(_power(moved, power) - factor) <= share * factor:
                return name, power
    return None


def _power(value: float, exponent: int) -> float:
    """A power of the magnitude, which may be 0 or infinite."""
    return float(np.float64(abs(value)) ** exponent)


def _factor_in(data: Evidence, moved: Section) -> float | None:
    """The factor between what backward returns and the slope, in another section, whose points share calls too."""
    moved = replace(data.evaluation.section, inputs=moved.inputs, parameters=moved.parameters)
    rows = np.flatnonzero(data.moving)
    x = data.x[rows[np.linspace(0, rows.size - 1, _FACTOR_ROWS).astype(np.intp)]]
    grad_output = data.evaluation.grad_output
    try:
        returned = moved.backward(x, grad_output).grad_input
        reference = reference_of(moved, x, grad_output)
        slopes = differentiate(reference.forward, x, reference.forward(x), data.evaluation.grid.span)
    except FunctionFailed:
        return None
    if returned is None:
        return None
    factors = np.abs(returned / grad_output / slopes.value)[slopes.kind == PointKind.SMOOTH]
    factors = factors[np.isfinite(factors)]
    constant = factors.size and np.ptp(factors) <= max(ALIKE_SHARE, data.precision) * factors.max()
    return float(np.median(factors)) if constant else None


def _held_values(section: Section) -> Iterator[tuple[str, float, float, Section]]:
    """The name and the value of what is held, another value, and the section in which it has that."""
    for called, name, place, value in held_elements(section):
        moved = value * _CHANGES[0]
        yield called, value, moved, section.holding(name, moved, place)
    for each in section.op.parameters:
        if each.kind == "float":
            held = float(dict(section.parameters)[each.name])
            for moved in [held * m for m in _CHANGES if each.minimum <= held * m <= each.maximum][:1]:
                yield each.name, held, moved, section.holding(each.name, moved)


def held_elements(section: Section) -> Iterator[tuple[str, str, int, float]]:
    """What is held of inputs that are not large: the name of each element, its input, its place there, its value."""
    for name, values in section.inputs:
        few = values if len(values) <= _MAX_ELEMENTS else ()
        named = zip(element_names(name, section.shape(name), range(len(few))), few, strict=True)
        for place, (called, value) in enumerate(named):
            if (name, place) != (section.wrt, section.place):
                yield called, name, place, value


def learned_step(data: Evidence) -> Story | None:
    """Hypothesis: (y − h) / x for a step size x and a held h that is rounded: the slope y / x, and −h / x from within.

    Where h is out of the range of what it is rounded to, it is the slope itself.
    """
    rows = data.wrong & data.smooth & np.isfinite(data.returned) & (data.x != 0)
    if np.count_nonzero(rows) < MANY_ROWS or not np.ptp(data.values[rows]):
        return None
    for name, tensor, _, held in held_elements(data.section):
        if tensor == data.section.wrt:
            continue
        factor = float(np.nanmedian((data.returned * data.x / (data.values - held))[rows]))
        if not factor or not np.isfinite(factor):
            continue
        within = np.divide(-factor * held, data.x, out=np.zeros_like(data.x), where=data.x != 0)
        rounded = np.abs(data.returned - factor * data.slope - within) <= np.abs(data.returned - factor * data.slope)
        exceptions = data.exceptions(factor, np.where(rounded, within, 0.0))
        if exceptions is not None:
            times = format_measured(factor, data.precision * abs(factor))
            product_ = f"{times} times " * (times != "1")
            return data.tell("learned step", factor=product_, held=name, where=data.everywhere(exceptions))
    return None
