"""A plane in words: where returned and numerical gradient differ, the kink and jump lines, and the curl test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..formatting.numbers import format_distinct, format_number
from ..sentences.places import join_words
from ..status import Status
from .surface import GradientComponent, Surface

_Whose = Literal["forward", "surrogate", "another", "none", "unknown"]

# More ridges than these are not listed.
_FEW = 4
# With less of the plane judged than this, the verdict says how much.
_MOST = 0.995


def gradient_owner(seen: Surface) -> _Whose:
    """The function of which what was returned is the gradient."""
    found = seen.potential
    if found is None or found.holds is None:
        return "unknown"
    if not found.holds:
        return "none"
    if any(_finitely(each).any() for each in (seen.first, seen.second)):
        return "surrogate" if seen.surrogate else "another"
    return "forward" if (seen.status == Status.AGREES).any() else "unknown"


def _finitely(part: GradientComponent) -> NDArray[np.bool_]:
    """Where a component differs by a number: a hole says nothing of the function whose gradient it is in."""
    returned = np.full(part.status.size, np.nan) if part.returned is None else part.returned
    return (part.status == Status.DIFFERS) & np.isfinite(returned)


def surface_sentence(seen: Surface, wrt: str, wrt2: str) -> str:
    """All of it: differences, kink and jump lines, and the curl test."""
    parts = [*_differs(seen, wrt, wrt2), *_ridges(seen, wrt, wrt2), curl_test_sentence(seen, wrt, wrt2)]
    return " ".join(part for part in parts if part)


def curl_test_sentence(seen: Surface, wrt: str, wrt2: str) -> str:
    """Whether the field is the gradient of a function, and of which; empty where there is no field."""
    found, who = seen.potential, gradient_owner(seen)
    if found is None:
        return ""
    reach = "" if found.judged > _MOST else f" on the {found.judged:.0%} of the plane that could be judged"
    if who == "none" and found.worst:
        worst, span, span2 = found.worst, *_spans(seen)
        where = _at((worst.x0 + worst.x1) / 2, (worst.y0 + worst.y1) / 2, seen, wrt, wrt2)
        size = (
            f"{format_number(_short(worst.x1 - worst.x0), span)} × {format_number(_short(worst.y1 - worst.y0), span2)}"
        )
        return (
            f"This field is not the gradient of any function: once around a rectangle of {size} at {where} it adds up"
            f" to {format_number(worst.circulation)}, and a gradient would to 0."
        )
    if found.holds is None:
        return "Whether this field is the gradient of a function cannot be told."
    of = {
        "forward": "forward itself",
        "surrogate": "its surrogate, not forward",
        "another": "another function than forward",
    }.get(who)
    return f"This field is the gradient of one function{f', {of}' if of else ''}: no circulation{reach or ' anywhere'}."


def _differs(seen: Surface, wrt: str, wrt2: str) -> list[str]:
    silent = [name for name, part in ((wrt, seen.first), (wrt2, seen.second)) if part.returned is None]
    if not seen.steady:
        return ["Asked twice, the Function answers differently: there is nothing to compare."]
    if seen.failure:
        return [f"backward raised {seen.failure.kind}: {seen.failure.message.splitlines()[0].rstrip('.')}."]
    parts = (
        [f"backward returns no gradient for {join_words(silent)}: there, only differences are shown."] if silent else []
    )
    if len(silent) == 2:
        return parts
    wrong = [
        (name, part) for name, part in ((wrt, seen.first), (wrt2, seen.second)) if (part.status == Status.DIFFERS).any()
    ]
    if seen.swapped:
        return [*parts, f"The two gradients are swapped: what is returned for {wrt} is the derivative by {wrt2}."]
    if not wrong:
        judged = int((seen.status == Status.AGREES).sum() + (seen.status == Status.SUBGRADIENT).sum())
        agree = f"Returned and numerical gradient agree at all {judged} points that could be judged."
        return [*parts, agree if judged else "Returned and numerical gradient could be compared nowhere."]
    meant = ["It is meant to be that of its surrogate, and is."] if seen.surrogate and seen.potential is None else []
    return [*parts, *(_worst(seen, name, part, wrt, wrt2) for name, part in wrong), *meant]


def _worst(seen: Surface, name: str, part: GradientComponent, wrt: str, wrt2: str) -> str:
    """How many points differ in one component, and which most."""
    differs = part.status == Status.DIFFERS
    returned = np.zeros(0) if part.returned is None else part.returned
    off = np.where(differs, np.abs(returned - part.numerical), -1.0)
    row = int(np.where(differs & ~np.isfinite(off), np.inf, off).argmax())
    where = _at(float(np.tile(seen.x, seen.y.size)[row]), float(np.repeat(seen.y, seen.x.size)[row]), seen, wrt, wrt2)
    value, right = float(returned[row]), float(part.numerical[row])
    called = (
        f"differences call for {format_distinct(right, value)}" if np.isfinite(right) else "forward has a finite value"
    )
    many = f"at all {differs.size}" if differs.all() else f"at {int(differs.sum())} of {differs.size}"
    return (
        f"With respect to {name} the returned gradient differs {many} points, most at {where}:"
        f" backward returns {format_distinct(value, right)}, {called}."
    )


def _ridges(seen: Surface, wrt: str, wrt2: str) -> list[str]:
    """Along which lines forward bends or jumps."""
    found = seen.ridges
    if not found.x.size:
        return []
    deed = "jumps" if found.jump.all() else "bends and jumps" if found.jump.any() else "bends"
    span, span2 = _spans(seen)
    lines = [f"{wrt} = {format_number(x, span)}" for x in found.columns] + [
        f"{wrt2} = {format_number(y, span2)}" for y in found.rows
    ]
    whole = np.isin(found.x, found.columns) | np.isin(found.y, found.rows)
    if found.x.size == 1:
        where = f"at {_at(float(found.x[0]), float(found.y[0]), seen, wrt, wrt2)}"
    elif whole.all() and len(lines) <= _FEW:
        where = f"along {join_words(lines)}"
    else:
        where = "where the dots are"
    slopes = "" if found.jump.all() else "; there any slope between the two sides is right"
    return [f"forward {deed} {where}{slopes}."]


def _at(x: float, y: float, seen: Surface, wrt: str, wrt2: str) -> str:
    span, span2 = _spans(seen)
    return f"{wrt} = {format_number(_short(x), span)}, {wrt2} = {format_number(_short(y), span2)}"


def _spans(seen: Surface) -> Sequence[float]:
    return float(seen.x[-1] - seen.x[0]), float(seen.y[-1] - seen.y[0])


def _short(value: float) -> float:
    """A place that only says about where."""
    return float(f"{value:.3g}")
