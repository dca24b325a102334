"""Hypotheses for a backward that is right on part of the axis: a mask missing, leaky or displaced, NaN, infinity."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...runtime.arrays import Mask, largest_magnitude
from ..formatting.constants import format_measured
from ..formatting.numbers import format_number
from ..sentences.places import MOST_PLACES, join_words, runs_among
from .evidence import EXCEPTIONS, SURE, Evidence, Hypothesis, describe_factor
from .unused_saved import unused_saved

_FEW = 3
# A formula whose mask is missing is continuous at the border: it changes there by at most this share of its size.
_GOES_ON = 0.1


def not_finite(seen: Evidence) -> Hypothesis | None:
    """Hypothesis: NaN or an infinity where forward has a slope, and right everywhere else."""
    rows = seen.wrong & ~np.isfinite(seen.returned)
    if not rows.any() or (rows != seen.wrong).any():
        return None
    what = join_words(sorted({format_number(value) for value in seen.returned[rows].tolist()}))
    said = f"backward returns {what} {seen.where(rows)}, where {seen.owner} is finite"
    return "not finite", f"{said}." if (rows == seen.judged).all() else f"{said}, and is right elsewhere."


def wrong_mask(seen: Evidence) -> Hypothesis | None:
    """Hypothesis: right where forward has a slope, but not 0 where it is flat: a mask is missing or misplaced."""
    leaks = seen.wrong & seen.flat
    elsewhere = np.count_nonzero(seen.wrong & seen.moving)
    if not leaks.any() or np.count_nonzero(seen.moving) < _FEW or elsewhere > EXCEPTIONS * np.count_nonzero(leaks):
        return None
    borders = _borders(seen, leaks)
    leap = np.abs(np.diff(seen.returned[borders])).max(initial=0.0)
    goes_on = bool(borders.size) and leap <= _GOES_ON * largest_magnitude(seen.returned[seen.judged])
    right = f"backward is right where {seen.owner} moves"
    if np.count_nonzero(leaks) >= (1 - EXCEPTIONS) * np.count_nonzero(seen.flat):
        said = f"{right}, but where it is flat, {seen.where(leaks)}, backward {_returns(seen, leaks)}"
        if not goes_on:
            return "leaky mask", f"{said}: the mask leaks."
        return "mask missing", f"{said}: {'it has no mask' if seen.designed else 'the mask is missing'}.{_unused(seen)}"
    if not goes_on or len(borders) < len(runs_among(leaks, seen.judged)) or len(borders) > MOST_PLACES:
        return None
    said = f"{right}, but {_returns(seen, leaks)} also {seen.where(leaks)}, where {seen.owner} is flat"
    return "mask misplaced", f"{said}: the border of the mask is in the wrong place."


def partly_right(seen: Evidence) -> Hypothesis | None:
    """Hypothesis: right on part of the axis; on the rest 0, constant, or a multiple of the slope."""
    right = seen.judged & ~seen.wrong
    runs = runs_among(seen.wrong, seen.judged)
    if len(runs) > MOST_PLACES or np.count_nonzero(right) < _FEW:
        return None
    answers: dict[str, Mask] = {}
    for first, last in runs:
        rows = np.zeros_like(seen.wrong)
        rows[first : last + 1] = seen.wrong[first : last + 1]
        answer = _answer(seen, rows)
        if answer is None:
            return None
        answers[answer] = answers.get(answer, np.zeros_like(rows)) | rows
    if all(first == last for first, last in runs):
        wrong = [f"{answer} {seen.where(rows)}" for answer, rows in answers.items()]
        return "only in part", f"backward {join_words(wrong)}, and is right everywhere else."
    if len(answers) == 1:
        return "only in part", f"backward is right only {seen.where(right)}: elsewhere it {next(iter(answers))}."
    wrong = [f"{seen.where(rows)} it {answer}" for answer, rows in answers.items()]
    return "only in part", f"backward is right only {seen.where(right)}: {join_words(wrong)}."


def _borders(seen: Evidence, leaks: Mask) -> NDArray[np.intp]:
    """Pairs of neighbouring rows, one where backward leaks and one where forward moves."""
    rows = np.flatnonzero(seen.flat | seen.moving)
    pairs = np.stack((rows[:-1], rows[1:]), axis=1)
    leak, moves = leaks[pairs], seen.moving[pairs]
    return pairs[(leak[:, 0] & moves[:, 1]) | (leak[:, 1] & moves[:, 0])]


def _returns(seen: Evidence, rows: Mask) -> str:
    """What backward does on these rows, in a word or by its bounds."""
    share = seen.returned[rows]
    bounds = f"returns from {format_number(share.min())} to {format_number(share.max())} times grad_output"
    return _answer(seen, rows) or bounds


def _answer(seen: Evidence, rows: Mask) -> str | None:
    """What backward does on these rows, if it can be said in a word."""
    returned = seen.returned[rows]
    if not np.isfinite(returned).any():
        return f"returns {format_number(returned[0])}"
    share, within = seen.typical(returned)
    if (np.abs(returned - share) <= seen.precision * abs(share)).all():
        return describe_factor(format_measured(share, within))
    if np.count_nonzero(rows & seen.moving) < max(_FEW, SURE * returned.size):
        return None
    factor, within = seen.typical((seen.returned / seen.slope)[rows & seen.moving])
    off = np.abs(seen.returned - factor * seen.slope)[rows]
    allowed = seen.precision * largest_magnitude(returned) + abs(factor) * seen.band[rows]
    return (
        f"returns {format_measured(factor, within)} times the slope of {seen.owner}" if (off <= allowed).all() else None
    )


def _unused(seen: Evidence) -> str:
    """That a tensor is saved and never used, if so."""
    names = unused_saved(seen.section, seen.x[seen.judged])
    them = "them" if len(names) > 1 else "it"
    return f" forward saves {join_words(names)}, and backward never uses {them}." if names else ""
