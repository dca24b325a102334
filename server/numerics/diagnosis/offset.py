"""Hypotheses for a backward that returns the slope plus an error: a constant, a multiple of x or y, rounding."""

from __future__ import annotations

import numpy as np
import torch

from ...runtime.arrays import Array, largest_magnitude, mantissa_bits
from ..formatting.numbers import format_measured, two_digits
from ..tolerance import relative_tolerance
from .evidence import MANY_ROWS, Evidence
from .stories import Story

# An added term is a multiple of a unit, which is 1, x or y.
_MIN_UNIT = 1e-3  # sample: the term is estimated from rows where its unit is more than this share of the largest
# pattern: a number this many powers of two smaller still has all its bits where numbers are rounded as computed.
_SMALL_BITS = 4
# pattern: rounding has no memory: from one row to the next it changes by at least this share of its own size.
_MIN_ROUGHNESS = 0.5
_FLOAT32_ULPS = 16  # ulps: the rounding error of a few operations in float32

_AS_IF = ", as if it computed in {}: it returns {} significant bits instead of {}"
_IN_PART = ": part of it is computed in torch.float32, though its inputs and outputs are torch.float64"


def added_term(data: Evidence) -> Story | None:
    """Hypothesis: the slope plus a constant or a multiple of x or y, times ``grad_output``."""
    if np.count_nonzero(data.smooth) < MANY_ROWS:
        return None
    excess = data.returned - data.slope
    for symbol, unit in (("", np.ones_like(data.x)), (data.names.wrt, data.x), (data.names.of, data.values)):
        rows = data.smooth & (np.abs(unit) > _MIN_UNIT * np.nanmax(np.abs(unit[data.judged])))
        share, within = data.typical(excess[rows] / unit[rows])
        exceptions = data.exceptions(1.0, share * unit) if share else None
        if exceptions is None:
            continue
        size = format_measured(abs(share), within)
        term = symbol if size == "1" and symbol else f"{size} {symbol}".rstrip()
        decay = ", as weight decay does" if symbol == data.names.wrt and share > 0 else ""
        story = f"added multiple of {'x' if symbol == data.names.wrt else 'y'}" if symbol else "added constant"
        term = f"{'−' if share < 0 else '+'} {term}"
        return data.tell(story, term=term, where=data.everywhere(exceptions), decay=data.unless_designed(decay))
    return None


def float32_rounding(data: Evidence) -> Story | None:
    """Hypothesis: the slope rounded to float32; all that is returned are numbers of float32."""
    rows = data.decisive
    returned, slope = data.returned[rows], data.slope[rows]
    if data.evaluation.section.dtype != torch.float64 or not data.wrong.any() or (data.returned[data.wrong] == 0).any():
        return None
    with np.errstate(all="ignore"):
        near = returned.astype(np.float32).astype(np.float64)
    off = np.abs(returned - slope)
    allowed = _FLOAT32_ULPS * torch.finfo(torch.float32).eps * np.abs(slope) + data.band[rows]
    if off.size == 0 or (near != returned).any() or (off > allowed).any():
        return None
    return _rounding(data, off / largest_magnitude(slope), _AS_IF.format(torch.float32, 24, 53))


def low_precision(data: Evidence) -> Story | None:
    """Hypothesis: the slope computed in a dtype of fewer significant bits than the chosen one."""
    own = torch.finfo(data.evaluation.section.dtype).eps
    returned = data.returned[data.judged]
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        info = torch.finfo(dtype)
        if info.eps <= own or not _is_rounded_to(returned, dtype, own):
            continue
        off, steepest = np.abs(data.returned - data.slope), largest_magnitude(data.slope[data.judged])
        fits = off <= relative_tolerance(dtype) * (np.abs(data.slope) + steepest) + data.band
        rows = data.decisive
        if not fits[rows].all():
            return None
        bits, full = (1 - int(np.log2(eps)) for eps in (info.eps, own))
        return _rounding(data, off[rows] / steepest, _AS_IF.format(dtype, bits, full))
    return _partly_float32(data)


def _partly_float32(data: Evidence) -> Story | None:
    """Hypothesis: the slope, part of it computed in float32 and converted back: its error varies from row to row."""
    if data.evaluation.section.dtype != torch.float64:
        return None
    rows = data.smooth
    off, top = (data.returned - data.slope)[rows], largest_magnitude(data.slope[data.judged])
    allowed = relative_tolerance(torch.float32) * (np.abs(data.slope[rows]) + top) + data.band[rows]
    if not (data.wrong & rows).any() or (data.wrong & data.kink).any() or off.size < MANY_ROWS:
        return None
    if (np.abs(off) > allowed).any() or np.std(np.diff(off)) < _MIN_ROUGHNESS * np.sqrt(np.mean(off**2)):
        return None
    return _rounding(data, np.abs(off) / top, _IN_PART)


def _rounding(data: Evidence, off: Array, why: str) -> Story:
    """The story of a backward that rounds; ``off`` is by how much, in shares of the largest slope."""
    worst = float(off.max())
    return data.tell("low precision", why=why, off=two_digits(worst))


def _is_rounded_to(returned: Array, dtype: torch.dtype, own: float) -> bool:
    """Whether the values, small ones too, are numbers of this ``dtype``: a staircase has fewer bits for those."""
    near = torch.from_numpy(returned).to(dtype).to(torch.float64).numpy()
    if (np.abs(near - returned) > 2 * own * np.abs(returned)).any() or np.unique(near).size < MANY_ROWS:
        return False
    small = near[np.abs(near) <= largest_magnitude(near) / 2**_SMALL_BITS]
    return small.size < MANY_ROWS or mantissa_bits(small) > mantissa_bits(near) - _SMALL_BITS
