"""The reference of a section in double precision, from which slopes are taken; whether forward, or a draw, repeats."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
import torch

from .arrays import Array, evenly_chosen, finite_numbers, largest_magnitude
from .batching import Batch, alike_batch, batched_rows, batched_section, find_batch
from .failure import FunctionFailed
from .rng import SEED
from .section import Section

_MOST_ASKED_AGAIN = 64  # budget: the points asked a second time where each needs a call of its own
# bound: the relative difference between two calls of a deterministic forward: last places on a CPU.
_REPEAT_TOLERANCE = {"cpu": 1e-14}
# budget: so many draws are tried, at so many points each; sample: a part of the points, and of the rise between two.
# How far beside each, as a part of the range, is a sample, too.
_DRAWS, _DRAWN_POINTS, _TELLING, _BESIDE = 32, 17, 1 / 8, 2.0**-10
_REPEAT_TOLERANCE_ELSEWHERE = 1e-5  # bound: the same on other devices, where two calls differ by more


def reference_of(section: Section, x: Array, grad_output: float = 1.0) -> Section:
    """The section of ``find_reference``."""
    return find_reference(Batch(section), x, grad_output).section


def find_reference(batch: Batch, x: Array, grad_output: float) -> Batch:
    """The section in double precision on the CPU, or unchanged where the Function does not support that."""
    section = batch.section
    if section.dtype == torch.float64 and section.device == "cpu":
        return batch
    double = double_precision(section)
    if alike := alike_batch(double, x, grad_output):
        return alike
    found = find_batch(double, x, grad_output)
    for asked in (x[[0, -1]], x[1:-1]):  # it may refuse the ends alone
        with suppress(FunctionFailed):
            if asked.size:
                found.section.forward(asked)
                return found
    return batch


def reference_rows(rows: Section, span: float) -> Section:
    """The section of ``batched_rows`` in double precision on the CPU, unless the Function refuses that."""
    section = rows.alone()
    if section.at(torch.float64, "cpu") == section:
        return rows
    try:
        reference = batched_rows(double_precision(section), span)
        return reference if reference.size else rows
    except FunctionFailed:
        return rows


def double_precision(section: Section) -> Section:
    """The section in double precision on the CPU, with its held inputs as its own dtype rounds them."""
    inputs = ((name, tuple(torch.tensor(values, dtype=section.dtype).tolist())) for name, values in section.inputs)
    return replace(section.at(torch.float64, "cpu"), inputs=tuple(inputs))


def lost_to_double(
    section: Section, reference: Section, x: Array, grad_output: float, gradient: Array, exact: Array | None = None
) -> Array:
    """How far the ``gradient`` of a section is off what its ``reference`` returns, ``exact``; 0 if that is unknown."""
    nothing = np.zeros(x.size)
    if reference.dtype == section.dtype:
        return nothing
    try:
        exact = reference.backward(x, grad_output).grad_input if exact is None else exact
    except FunctionFailed:
        return nothing
    return nothing if exact is None else finite_numbers(np.abs(gradient - exact), infinity=0.0)


def is_deterministic(batch: Batch, x: Array, y: Array) -> bool:
    """Whether forward is deterministic: a second call gives the same values ``y``, but for a device's last places."""
    section, results = batch.section, batch.results
    if results is not None and is_repeated(results.values, y, section.device):
        return True
    if not section.stacked and x.size > _MOST_ASKED_AGAIN:
        some = np.linspace(0, x.size - 1, _MOST_ASKED_AGAIN).astype(np.intp)
        x, y = x[some], y[some]
    return is_repeated(section.forward(x), y, section.device)


def is_repeated(again: Array, y: Array, device: str) -> bool:
    """Whether forward, asked ``again``, has answered as before, but for the last places of its ``device``."""
    share = _REPEAT_TOLERANCE.get(device, _REPEAT_TOLERANCE_ELSEWHERE)
    return np.array_equal(again, y) or np.allclose(again, y, share, share * largest_magnitude(y), equal_nan=True)


def with_one_draw(section: Section, x: Array, grad_output: float) -> Section | None:
    """The section with the same random numbers in every call; None where forward varies even then.

    A draw in which forward stands still tells nothing, nor does one that backward, which draws again, meets by chance.
    Of several draws it is the first in which backward does not return what forward rises by, beside many of the
    points, or else the first in which forward moves.
    """
    same = batched_section(_telling_draw(section, x, grad_output), x)
    return same if is_deterministic(Batch(same), x, same.forward(x)) else None


def _telling_draw(section: Section, x: Array, grad_output: float) -> Section:
    first, moving = evenly_chosen(x, _DRAWN_POINTS)[:-1], None
    at = np.column_stack((first, section.snap(first + _BESIDE * (x[-1] - x[0])))).reshape(-1)
    for seed in range(SEED, SEED + _DRAWS):
        drawn = section.alone(draw=seed)
        try:
            found = drawn.backward(at, grad_output)
        except FunctionFailed:
            break
        gradient = np.zeros(at.size) if found.grad_input is None else found.grad_input
        with np.errstate(all="ignore"):
            rise = grad_output * (found.values[1::2] - found.values[::2])
            returned = (gradient[1::2] + gradient[::2]) / 2 * (at[1::2] - at[::2])
            off = np.abs(rise - returned) > _TELLING * np.maximum(np.abs(rise), np.abs(returned))
        if off.mean() > _TELLING:
            return drawn
        moving = moving or (drawn if rise.any() else None)
    return moving or section.alone(draw=SEED)
