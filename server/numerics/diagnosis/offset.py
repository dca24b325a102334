"""Hypotheses for a backward that returns the slope plus an error: a constant, a multiple of x or y, rounding."""

from __future__ import annotations

import numpy as np
import torch

from ...runtime.arrays import Array, largest_magnitude
from ..differentiation.noise import mantissa_bits
from ..formatting.constants import format_measured
from ..tolerance import TOLERANCE_ULPS
from .evidence import Evidence, Hypothesis

# The fewest rows that show an added term; rows where its unit is below _ZERO of the largest are not divided by.
_ENOUGH = 8
_ZERO = 1e-3
# A number this many powers of two smaller still has all its bits where numbers are rounded as they are computed.
_SMALL_BITS = 4
# Rounding has no memory: from one row to the next it changes by about as much as it is.
_ROUGH = 0.5
# The rounding error, in ulps, of a few operations in float32.
_ROUNDED = 16


def added_term(seen: Evidence) -> Hypothesis | None:
    """Hypothesis: the slope plus a constant or a multiple of x or y, times ``grad_output``."""
    if np.count_nonzero(seen.judged & ~seen.kink) < _ENOUGH:
        return None
    more = seen.returned - seen.slope
    for called, unit in (("", np.ones_like(seen.x)), (seen.wrt, seen.x), (seen.of, seen.values)):
        rows = seen.judged & ~seen.kink & (np.abs(unit) > _ZERO * np.nanmax(np.abs(unit[seen.judged])))
        share, within = seen.typical(more[rows] / unit[rows])
        exceptions = seen.exceptions(1.0, share * unit) if share else None
        if exceptions is None:
            continue
        size = format_measured(abs(share), within)
        term = called if size == "1" and called else f"{size} {called}".rstrip()
        sum_ = f"(the slope of {seen.owner} {'−' if share < 0 else '+'} {term})"
        said = f"backward returns grad_output times {sum_} {seen.everywhere(exceptions)}"
        kind = f"added multiple of {'x' if called == seen.wrt else 'y'}" if called else "added constant"
        decay = ", as weight decay does" if called == seen.wrt and not seen.designed else ""
        return kind, f"{said}: it adds a term{decay}."
    return None


def float32_rounding(seen: Evidence) -> Hypothesis | None:
    """Hypothesis: the slope rounded to float32; all that is returned are numbers of float32."""
    rows = seen.judged & (seen.wrong | ~seen.kink)
    returned, slope = seen.returned[rows], seen.slope[rows]
    if seen.evaluation.dtype != torch.float64 or not seen.wrong.any() or (seen.returned[seen.wrong] == 0).any():
        return None
    with np.errstate(all="ignore"):
        near = returned.astype(np.float32).astype(np.float64)
    off = np.abs(returned - slope)
    allowed = _ROUNDED * torch.finfo(torch.float32).eps * np.abs(slope) + seen.band[rows]
    if off.size == 0 or (near != returned).any() or (off > allowed).any():
        return None
    worst = float(off.max() / largest_magnitude(slope))
    return "low precision", (
        "backward is right but for rounding: what it returns has 24 significant bits instead of 53, as if it computed "
        f"in torch.float32, and is off by up to {format_measured(worst, 0.4 * worst)} of the largest slope."
    )


def low_precision(seen: Evidence) -> Hypothesis | None:
    """Hypothesis: the slope computed in a dtype of fewer significant bits than the chosen one."""
    own = torch.finfo(seen.evaluation.dtype).eps
    returned = seen.returned[seen.judged]
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        info = torch.finfo(dtype)
        if info.eps <= own or not _rounded(returned, dtype, own):
            continue
        off, most = np.abs(seen.returned - seen.slope), largest_magnitude(seen.slope[seen.judged])
        fits = off <= TOLERANCE_ULPS[dtype.itemsize] * info.eps * (np.abs(seen.slope) + most) + seen.band
        rows = seen.judged & (seen.wrong | ~seen.kink)
        if not fits[rows].all():
            return None
        bits, full = (1 - int(np.log2(eps)) for eps in (info.eps, own))
        worst = float(off[rows].max() / most)
        return "low precision", (
            f"backward is right but for rounding: what it returns has {bits} significant bits instead of {full}, "
            f"as if it computed in {info.dtype}, and is off "
            f"by up to {format_measured(worst, 0.4 * worst)} of the largest slope."
        )
    return _in_part(seen)


def _in_part(seen: Evidence) -> Hypothesis | None:
    """Hypothesis: the slope, part of it computed in float32 and converted back: its error varies from row to row."""
    if seen.evaluation.dtype != torch.float64:
        return None
    rows = seen.judged & ~seen.kink
    off, most = (seen.returned - seen.slope)[rows], largest_magnitude(seen.slope[seen.judged])
    allowed = TOLERANCE_ULPS[4] * torch.finfo(torch.float32).eps * (np.abs(seen.slope[rows]) + most) + seen.band[rows]
    if not (seen.wrong & rows).any() or (seen.wrong & seen.kink).any() or off.size < _ENOUGH:
        return None
    if (np.abs(off) > allowed).any() or np.std(np.diff(off)) < _ROUGH * np.sqrt(np.mean(off**2)):
        return None
    worst = float(np.abs(off).max() / most)
    return "low precision", (
        "backward is right but for rounding: part of it is computed in torch.float32, though what goes in and comes "
        f"out is torch.float64, and it is off by up to {format_measured(worst, 0.4 * worst)} of the largest slope."
    )


def _rounded(returned: Array, dtype: torch.dtype, own: float) -> bool:
    """Whether the values, small ones too, are numbers of this ``dtype``: a staircase has fewer bits for those."""
    near = torch.from_numpy(returned).to(dtype).to(torch.float64).numpy()
    if (np.abs(near - returned) > 2 * own * np.abs(returned)).any() or np.unique(near).size < _ENOUGH:
        return False
    small = near[np.abs(near) <= largest_magnitude(near) / 2**_SMALL_BITS]
    return small.size < _ENOUGH or mantissa_bits(small) > mantissa_bits(near) - _SMALL_BITS
