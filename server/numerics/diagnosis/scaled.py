"""Hypotheses for a backward that returns a multiple of the slope: 0, the sign reversed, a factor missing or extra."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...runtime.arrays import Array
from ..formatting.constants import constant_name, format_measured
from ..formatting.numbers import format_number, simplest_number
from ..sentences.places import join_words
from .evidence import Evidence, Hypothesis, describe_factor
from .held_values import held_value_behind
from .swapped_inputs import swapped_inputs

# The fewest rows with a nonzero slope for a constant factor, and for a factor of x or y.
_FEW = 3
_ENOUGH = 8
# Looked at for a factor first: some rows, and what scatters less than this may be constant.
_ROWS = 64
_STEADY = 1e-2
# Next to the zero of a factor there is nothing to divide by.
_ZERO = 1e-6


def zero_gradient(seen: Evidence) -> Hypothesis | None:
    """Hypothesis: backward returns 0 everywhere, although the slope is not 0."""
    exceptions = seen.exceptions(0.0) if seen.moving.any() else None
    if exceptions is None:
        return None
    what = "None, which autograd takes for 0," if seen.evaluation.returned_none else "0"
    return (
        "blocked",
        f"backward returns {what} {seen.everywhere(exceptions)}, although {seen.owner} moves: nothing gets through.",
    )


def constant_factor(seen: Evidence) -> Hypothesis | None:
    """Hypothesis: the slope times a constant."""
    if np.count_nonzero(seen.moving) < _FEW:
        return None
    steep = seen.moving & (np.abs(seen.slope) >= np.median(np.abs(seen.slope[seen.moving])))
    factor, within = seen.typical(seen.returned[steep] / seen.slope[steep])
    exceptions = seen.exceptions(factor)
    if exceptions is None or not factor:
        return None
    # A crooked number may be what the derivative by another input happens to be at what is held.
    crooked = not (_plain(abs(factor), within) or _plain(1 / abs(factor), within / factor**2))
    if crooked and (story := swapped_inputs(seen)):
        return story
    said, rows = format_measured(factor, within), seen.everywhere(exceptions)
    if said == "−1":
        return "reversed", f"backward returns the slope of {seen.owner} with its sign reversed {rows}."
    why = [*["its sign is reversed"] * (factor < 0), *_which(seen, abs(factor), within)]
    because = f": {join_words(why)}" if why else ""
    return "constant factor", f"backward returns {said} times the slope of {seen.owner} {rows}{because}."


def _which(seen: Evidence, size: float, within: float) -> list[str]:
    """Which factor is too many, or missing, if it has a name or is a plain number."""
    if held := held_value_behind(seen, size):
        which, power = held
        return [f"a factor {which}{'²' * (abs(power) == 2)} is {'too many' if power > 0 else 'missing'}"]
    if size < 1 and (missing := _plain(1 / size, within / size**2)):
        return [f"a factor {missing} is missing"]
    called = constant_name(size, within)
    return [f"a factor {called} is too many"] if called else []


def _plain(value: float, within: float) -> str:
    """The name of a constant, or a number of few digits; empty if it is neither."""
    near = simplest_number(value - within, value + within)
    return constant_name(value, within) or format_number(near) * (near == float(f"{near:.4g}"))


def factor_of_x(seen: Evidence) -> Hypothesis | None:
    """Hypothesis: the slope times or divided by a simple expression in x and y."""
    rows = np.flatnonzero(seen.moving & (seen.returned != 0) & np.isfinite(seen.returned))
    if rows.size < _ENOUGH:
        return None
    rows = rows[np.linspace(0, rows.size - 1, min(_ROWS, rows.size)).astype(np.intp)]
    names, factors = zip(*_factors(seen), strict=True)
    table = np.stack(factors)
    ratio = np.log(np.abs(seen.returned[rows] / seen.slope[rows]))
    size = np.log(np.abs(table[:, rows]))
    steady = _steady(np.stack((ratio + size, ratio - size), axis=1))
    for which, missing in np.argwhere(steady):
        if story := _told(seen, names[which], table[which], missing == 0):
            return story
    return None


def constant_response(seen: Evidence) -> Hypothesis | None:
    """Hypothesis: a constant times ``grad_output`` everywhere, although the slope changes."""
    share, within = seen.typical(seen.returned[seen.judged])
    exceptions = seen.exceptions(0.0, share) if share and np.isfinite(share) else None
    if exceptions is None:
        return None
    said = f"backward {describe_factor(format_measured(share, within))} {seen.everywhere(exceptions)}"
    return "straight-through", f"{said}, whatever the slope of {seen.owner}."


def _factors(seen: Evidence) -> Iterator[tuple[str, Array]]:
    x, y, by, of = seen.x, seen.values, seen.wrt, seen.of
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


def _steady(logarithms: Array) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Whether the values along the last axis are almost equal, all but a twentieth at either end."""
    ranked = np.sort(logarithms, axis=-1)
    few = logarithms.shape[-1] // 20
    return ranked[..., -1 - few] - ranked[..., few] <= _STEADY


def _told(seen: Evidence, called: str, factor: Array, missing: bool) -> Hypothesis | None:
    fair = np.abs(factor) > _ZERO * np.nanmax(np.abs(factor[seen.judged]))
    some = seen.moving & fair
    share = seen.returned[some] / seen.slope[some]
    constant, within = seen.typical(share * factor[some] if missing else share / factor[some])
    scale = constant / factor if missing else constant * factor
    exceptions = seen.exceptions(np.where(fair, scale, 0.0), np.where(fair, 0.0, seen.returned))
    if exceptions is None or not constant:
        return None
    at = seen.everywhere(exceptions)
    passed, wavers = seen.typical(seen.returned[seen.judged])
    inverse = format_measured(1 / constant, within / constant**2)
    through = bool((np.abs(seen.returned - passed)[seen.judged] <= seen.precision * abs(passed)).all())
    if through:
        factor_ = _product(inverse, called) if missing else f"{inverse}/{called}"
        return (
            "missing factor",
            f"backward {describe_factor(format_measured(passed, wavers))} {at}: the factor {factor_} is missing.",
        )
    if missing:
        factor_ = _product(inverse, called)
        said = f"Times {factor_}, what backward returns is the slope of {seen.owner}"
        return "missing factor", f"{said} {at}: the factor {factor_} is missing."
    factor_ = _product(format_measured(constant, within), called)
    return (
        "extra factor",
        f"backward returns {factor_} times the slope of {seen.owner} {at}.",
    )


def _product(constant: str, called: str) -> str:
    plain = called[1:-1] if called.startswith("(") and called.endswith(")") else called
    return {"1": plain, "−1": f"−{called}"}.get(constant, f"{constant} {called}")
