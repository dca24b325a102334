"""Hypotheses for a backward that is right on part of the axis: a mask missing, leaky or displaced, NaN, infinity."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...protocol.listed import counted, listed
from ...runtime.arrays import Mask, largest_magnitude
from ..formatting.numbers import format_measured, format_number
from ..sentences.names import MOST_NAMED
from ..sentences.places import runs_among
from ..tolerance import NEARLY_ALL, SMALL
from .evidence import EXCEPTIONS, MIN_ROWS, Evidence, describe_factor
from .stories import Story
from .unused_saved import unused_saved

_MOST_LEFT = 0.5  # pattern: the most of the slope that a reversed mask leaves where forward moves


def not_finite(data: Evidence) -> Story | None:
    """Hypothesis: NaN or an infinity where forward has a slope, and right everywhere else."""
    rows = data.wrong & ~np.isfinite(data.returned)
    if not rows.any() or (rows != data.wrong).any():
        return None
    what = listed(sorted({format_number(value) for value in data.returned[rows].tolist()}))
    rest = "" if (rows == data.judged).all() else ", and is right elsewhere"
    return data.tell("not finite", what=what, where=data.where(rows), rest=rest)


def wrong_mask(data: Evidence) -> Story | None:
    """Hypothesis: right where forward has a slope, but not 0 where it is flat: a mask is missing or misplaced."""
    leaks = data.wrong & data.flat
    elsewhere = np.count_nonzero(data.wrong & data.moving)
    if not leaks.any() or np.count_nonzero(data.moving) < MIN_ROWS or elsewhere > EXCEPTIONS * np.count_nonzero(leaks):
        return None
    borders = _pairs_of(data, leaks, data.moving)
    leap = np.abs(np.diff(data.returned[borders])).max(initial=0.0)
    continuous = bool(borders.size) and leap <= SMALL * largest_magnitude(data.returned[data.judged])
    right = f"{data.names.backward} {data.agrees} where {'that' if data.designed else data.owner} moves"
    runs = [slice(first, last + 1) for first, last in runs_among(data.flat, data.judged)]
    shares = [leaks[run][data.flat[run]].mean() for run in runs]
    # Each stretch on which forward is flat leaks as a whole, or not at all.
    if all(min(share, 1 - share) <= EXCEPTIONS for share in shares):
        said = {"right": right, "where": data.where(leaks), "does": _answer_or_bounds(data, leaks)}
        if not continuous:
            return data.tell("leaky mask", why=data.unless_designed(": the mask leaks"), **said)
        unused = unused_saved(data.section, data.x[data.judged])
        them = "them" if len(unused) > 1 else "it"
        saves = data.tell("mask missing/saves", saved=listed(counted(unused)), them=them)[1] if unused else ""
        why = "it has no mask" if data.designed else "the mask is missing"
        return data.tell("mask missing", why=why, saves=saves, **said)
    if not continuous or len(borders) < len(runs_among(leaks, data.judged)) or len(borders) > MOST_NAMED:
        return None
    why, does = data.unless_designed(": the border of the mask is in the wrong place"), _answer_or_bounds(data, leaks)
    return data.tell("mask misplaced", right=right, does=does, where=data.where(leaks), why=why)


def reversed_mask(data: Evidence) -> Story | None:
    """Hypothesis: the mask is reversed: backward returns what belongs to the other side of each border."""
    two = _two_levels(data)
    if not two or not two[0].any() or not two[1].any():
        return None
    upper, lower = two
    ratio, within = data.typical((data.returned / data.slope)[upper])
    if not abs(ratio) <= _MOST_LEFT or not _fits(data, upper, ratio):
        return None
    borders = _pairs_of(data, lower, upper)
    given, due = np.abs(data.returned[borders[:, 0]]), np.abs(data.slope[borders[:, 1]])
    if not borders.size or (np.abs(given - due) > SMALL * largest_magnitude(data.slope[data.judged])).any():
        return None
    returned = np.abs(data.returned[lower])
    if not (returned > data.precision * largest_magnitude(returned)).mean() >= NEARLY_ALL:
        return None
    does = f"returns {format_measured(ratio, within)} times the slope of {data.owner}" if ratio else "returns 0"
    is_flat = "is flat" if (lower <= data.flat).all() else "is less steep"
    otherwise, why = _answer_or_bounds(data, lower), data.unless_designed(": the mask is reversed")
    return data.tell("mask reversed", where=data.where(upper), does=does, is_flat=is_flat, otherwise=otherwise, why=why)


def _two_levels(data: Evidence) -> tuple[Mask, Mask] | None:
    """The rows where forward moves and where it is flat; or, of two slopes, those of the steeper one and the others."""
    if np.count_nonzero(data.flat) >= MIN_ROWS and np.count_nonzero(data.moving) >= MIN_ROWS:
        return data.moving, data.flat
    steep = data.moving & (np.abs(data.slope) > largest_magnitude(data.slope[data.moving]) / 2)
    other = data.moving & ~steep
    if min(np.count_nonzero(steep), np.count_nonzero(other)) < MIN_ROWS:
        return None
    (high, _), (low, _) = (data.typical(data.slope[rows]) for rows in (steep, other))
    exchanged = [_fits(data, rows, 1.0, level) for rows, level in ((steep, low), (other, high))]
    return (steep, other) if all(exchanged) else None


def _fits(data: Evidence, rows: Mask, ratio: float, level: float | None = None) -> bool:
    """Whether backward returns on these rows this share of the slope, or of one ``level``, but for a few."""
    expected = ratio * (data.slope[rows] if level is None else np.full(np.count_nonzero(rows), level))
    allowed = data.precision * (np.abs(expected) + largest_magnitude(data.returned[data.judged])) + data.band[rows]
    return bool((np.abs(data.returned[rows] - expected) <= allowed).mean() >= 1 - EXCEPTIONS)


def partly_right(data: Evidence) -> Story | None:
    """Hypothesis: right on part of the axis; on the rest 0, constant, or a multiple of the slope."""
    right = data.judged & ~data.wrong
    runs = runs_among(data.wrong, data.judged)
    if len(runs) > MOST_NAMED or np.count_nonzero(right) < MIN_ROWS:
        return None
    answers: dict[str, Mask] = {}
    for first, last in runs:
        rows = np.zeros_like(data.wrong)
        rows[first : last + 1] = data.wrong[first : last + 1]
        answer = _answer(data, rows)
        if answer is None:
            return None
        answers[answer] = answers.get(answer, np.zeros_like(rows)) | rows
    if all(first == last for first, last in runs):
        wrong = listed([f"{answer} {data.where(rows)}" for answer, rows in answers.items()])
        return data.tell("only in part/at points", answers=wrong, agrees=data.agrees)
    places = [data.where(rows) if len(answers) > 1 else "elsewhere" for rows in answers.values()]
    wrong = listed([f"{place} it {answer}" for place, answer in zip(places, answers, strict=True)])
    return data.tell("only in part", agrees=data.agrees, where=data.where(right), otherwise=wrong)


def _pairs_of(data: Evidence, some: Mask, others: Mask) -> NDArray[np.intp]:
    """Pairs of neighbouring rows, the first among some and the second among others."""
    rows = np.flatnonzero(data.flat | data.moving)
    pairs = np.stack((rows[:-1], rows[1:]), axis=1)
    one, other = some[pairs], others[pairs]
    forth, back = one[:, 0] & other[:, 1], one[:, 1] & other[:, 0]
    return np.concatenate((pairs[forth], pairs[back][:, ::-1]))


def _answer_or_bounds(data: Evidence, rows: Mask) -> str:
    """What backward does on these rows, in a word or by its bounds."""
    share = data.returned[rows]
    bounds = f"from {format_number(share.min())} to {format_number(share.max())}"
    return _answer(data, rows) or describe_factor(bounds, data.names)


def _answer(data: Evidence, rows: Mask) -> str | None:
    """What backward does on these rows, if it can be said in a word."""
    returned = data.returned[rows]
    if not np.isfinite(returned).any():
        return f"returns {format_number(returned[0])}"
    share, within = data.typical(returned)
    if (np.abs(returned - share) <= data.precision * abs(share)).all():
        return describe_factor(format_measured(share, within), data.names)
    if np.count_nonzero(rows & data.moving) < max(MIN_ROWS, NEARLY_ALL * returned.size):
        return None
    ratio, within = data.typical((data.returned / data.slope)[rows & data.moving])
    off = np.abs(data.returned - ratio * data.slope)[rows]
    allowed = data.precision * largest_magnitude(returned) + abs(ratio) * data.band[rows]
    does = f"returns {format_measured(ratio, within)} times the slope of {data.owner}"
    return does if (off <= allowed).all() else None
