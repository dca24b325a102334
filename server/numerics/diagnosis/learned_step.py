"""Hypothesis for a step size that is learned, as LSQ has it: what is rounded in units of it passes straight through."""

from __future__ import annotations

import numpy as np

from ..formatting.numbers import format_measured
from .evidence import Evidence, Hypothesis
from .scaled import held_elements

_MIN_ROWS = 8  # pattern: the fewest rows that show it


def learned_step(data: Evidence) -> Hypothesis | None:
    """Hypothesis: (y − h) / x for a step size x and a held h that is rounded: the slope y / x, and −h / x from within.

    Where h is out of the range of what it is rounded to, it is the slope itself.
    """
    rows = data.wrong & data.smooth & np.isfinite(data.returned) & (data.x != 0)
    if np.count_nonzero(rows) < _MIN_ROWS or not np.ptp(data.values[rows]):
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
            sentence = f"backward returns {product_}({data.of} − {name}) / {data.wrt} {data.everywhere(exceptions)}"
            return "learned step", f"{sentence}: the gradient of a step size, where what is rounded passes through."
    return None
