"""Sections of a symmetric matrix of which forward reads one triangle: both elements of a pair are swept together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .arrays import Array
from .batching import WITNESS_SHARES, batched_section
from .copies import Index
from .failure import FunctionFailed
from .section import Section

# sample: tried this share of the range beside where the matrix is held: elsewhere forward may not take it.
_OFFSET = 1e-2
_RTOL = 1e-6  # bound: two gradients are the same up to this share


def with_mirrored_element(section: Section, x: Array, grad_output: float) -> Section:
    """The section, with the element across the diagonal moved too where it has to be.

    That is where the matrix is held symmetric, forward reads one of the two elements and never the other, and backward
    returns a gradient for the other too: halves, as torch's own Functions of symmetric matrices do, or as a formula has
    it that never asks which is read. The derivative by the pair is then the sum of both gradients; by either element
    alone no such backward would be right.
    """
    other = mirrored_index(section, section.wrt_index)
    if not other or not grad_output:
        return section
    held = section.held
    t = section.snap(held + _OFFSET * WITNESS_SHARES * float(x[-1] - x[0]))
    alone = section.alone()
    try:
        read = [each for each in (alone, replace(alone, wrt_index=other)) if _depends(each, t)]
        both = replace(alone, also=(section.wrt, other))
        if len(read) != 1 or not _unread(read[0], both, t, grad_output):
            return section
    except FunctionFailed:
        return section
    return batched_section(both, x, grad_output)


def mirrored_index(section: Section, index: Index) -> Index:
    """Where the element across the diagonal lies; nowhere if the input that is swept is no symmetric matrix."""
    if section.sweeps_parameter or len(index) < 2 or index[-1] == index[-2]:
        return ()
    shape = swept_shape(section)
    held = np.array(dict(section.inputs)[section.wrt]).reshape(shape)
    symmetric = shape[-1] == shape[-2] and np.array_equal(held, held.swapaxes(-1, -2))
    return (*index[:-2], index[-1], index[-2]) if symmetric else ()


def swept_shape(section: Section) -> Index:
    """The shape of the input that is swept."""
    return () if section.sweeps_parameter else section.op.input(section.wrt).shape


def _depends(section: Section, t: Array) -> bool:
    """Whether forward takes different values at the points."""
    values = section.forward(t)
    return bool(np.isfinite(values).all() and np.ptp(values) > 0)


def _unread(read: Section, both: Section, t: Array, grad_output: float) -> bool:
    """Whether backward returns a gradient for the element that is not read, too, and not for that alone."""
    one, two = (each.backward(t, grad_output).grad_input for each in (read, both))
    return one is not None and two is not None and bool(np.any(one)) and not np.allclose(two, one, _RTOL, 0.0)
