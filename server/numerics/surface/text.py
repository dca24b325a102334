"""A plane in words: where returned and numerical gradient differ, the kink and jump lines, and the curl test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...protocol.listed import listed
from ..formatting.numbers import format_distinct, format_number
from ..sentences.names import MOST_NAMED
from ..status import Status
from .surface import GradientComponent, Surface

_Owner = Literal["forward", "surrogate", "another", "none", "unknown"]
_OWNERS = {
    "forward": ", forward itself",
    "surrogate": ", its surrogate, not forward",
    "another": ", another function than forward",
}


def gradient_owner(area: Surface) -> _Owner:
    """The function of which what was returned is the gradient."""
    test = area.potential
    if test is None or test.holds is None:
        return "unknown"
    if not test.holds:
        return "none"
    if any(_differs_finitely(each).any() for each in (area.first, area.second)):
        return "surrogate" if area.surrogate else "another"
    return "forward" if (area.status == Status.AGREES).any() else "unknown"


def _differs_finitely(part: GradientComponent) -> NDArray[np.bool_]:
    """Where a component differs by a number: a hole says nothing of the function whose gradient it is in."""
    returned = np.full(part.status.size, np.nan) if part.returned is None else part.returned
    return (part.status == Status.DIFFERS) & np.isfinite(returned)


def surface_sentence(area: Surface, wrt: str, wrt2: str) -> str:
    """All of it: differences, kink and jump lines, and the curl test."""
    parts = [*_differs(area, wrt, wrt2), *_singular_lines(area, wrt, wrt2), curl_test_sentence(area, wrt, wrt2)]
    return " ".join(part for part in parts if part)


def curl_test_sentence(area: Surface, wrt: str, wrt2: str) -> str:
    """Whether the field is the gradient of a function, and of which; empty where there is no field."""
    test, owner = area.potential, gradient_owner(area)
    if test is None:
        return ""
    share = f"{test.judged:.0%}"
    reach = "" if share == "100%" else f" on the {share} of the plane that could be judged"
    if owner == "none" and test.worst:
        where = _at(test.worst.x, test.worst.y, area, wrt, wrt2)
        curl = format_number(test.worst.curl)
        return f"This field is not the gradient of any function: its curl at {where} is {curl}, and 0 for a gradient."
    if test.holds is None:
        return "Whether this field is the gradient of a function is undetermined."
    of = _OWNERS.get(owner, "")
    return f"This field is the gradient of one function{of}: no circulation{reach or ' anywhere'}."


def _differs(area: Surface, wrt: str, wrt2: str) -> list[str]:
    both = (wrt, area.first), (wrt2, area.second)
    missing = [name for name, part in both if part.returned is None]
    if not area.deterministic:
        return ["The Function is random: two equal calls differ, so there is nothing to compare."]
    if area.failure:
        return [f"backward raised {area.failure.raised}."]
    parts = []
    if missing:
        parts = [f"backward returns no gradient for {listed(missing)}: there, only differences are shown."]
    if len(missing) == 2:
        return parts
    wrong = [(name, part) for name, part in both if (part.status == Status.DIFFERS).any()]
    if area.swapped:
        return [*parts, f"The two gradients are swapped: what is returned for {wrt} is the derivative by {wrt2}."]
    if not wrong:
        judged = int((area.status == Status.AGREES).sum() + (area.status == Status.SUBGRADIENT).sum())
        agree = f"Returned and numerical gradient agree at all {judged} points that could be judged."
        return [*parts, agree if judged else "Returned and numerical gradient could not be compared anywhere."]
    note = ["It is the gradient of its surrogate, as intended."] if area.surrogate and area.potential is None else []
    return [*parts, *(_worst(area, name, part, wrt, wrt2) for name, part in wrong), *note]


def _worst(area: Surface, name: str, part: GradientComponent, wrt: str, wrt2: str) -> str:
    """How many points differ in one component, and which most."""
    differs = part.status == Status.DIFFERS
    returned = np.zeros(0) if part.returned is None else part.returned
    off = np.where(differs, np.abs(returned - part.numerical), -1.0)
    row = int(np.where(differs & ~np.isfinite(off), np.inf, off).argmax())
    where = _at(float(np.tile(area.x, area.y.size)[row]), float(np.repeat(area.y, area.x.size)[row]), area, wrt, wrt2)
    value, right = float(returned[row]), float(part.numerical[row])
    expectation = f"the numerical gradient is {format_distinct(right, value)}"
    expectation = expectation if np.isfinite(right) else "forward has a finite value"
    many = f"at all {differs.size}" if differs.all() else f"at {int(differs.sum())} of {differs.size}"
    return (
        f"With respect to {name} the returned gradient differs {many} points, most at {where}:"
        f" backward returns {format_distinct(value, right)}, {expectation}."
    )


def _singular_lines(area: Surface, wrt: str, wrt2: str) -> list[str]:
    """Along which lines forward bends or jumps."""
    singular = area.ridges
    if not singular.x.size:
        return []
    verb = "jumps" if singular.jump.all() else "bends and jumps" if singular.jump.any() else "bends"
    span, span2 = _spans(area)
    lines = [f"{wrt} = {format_number(x, span)}" for x in singular.columns]
    lines += [f"{wrt2} = {format_number(y, span2)}" for y in singular.rows]
    whole = np.isin(singular.x, singular.columns) | np.isin(singular.y, singular.rows)
    if singular.x.size == 1:
        where = f"at {_at(float(singular.x[0]), float(singular.y[0]), area, wrt, wrt2)}"
    elif whole.all() and len(lines) <= MOST_NAMED:
        where = f"along {listed(lines)}"
    else:
        where = "where the dots are"
    slopes = "" if singular.jump.all() else "; there any slope between the two sides is right"
    return [f"forward {verb} {where}{slopes}."]


def _at(x: float, y: float, area: Surface, wrt: str, wrt2: str) -> str:
    span, span2 = _spans(area)
    return f"{wrt} = {format_number(_short(x), span)}, {wrt2} = {format_number(_short(y), span2)}"


def _spans(area: Surface) -> Sequence[float]:
    return float(area.x[-1] - area.x[0]), float(area.y[-1] - area.y[0])


def _short(value: float) -> float:
    """A place that only says about where."""
    return float(f"{value:.3g}")
