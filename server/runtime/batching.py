"""Batching: whether many points may share one call, found by comparison with witnesses called alone."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import product

import numpy as np
import torch
from numpy.typing import NDArray

from .arrays import Array, has_float32_digits, largest_magnitude
from .call_cost import estimated_seconds
from .failure import FunctionFailed, unless_backward_fails
from .plane import Plane
from .remembered import remembered, stand_in
from .section import BackwardResult, Section, joined

# sample: the witnesses, points also evaluated alone, as fractions of all points: not symmetric, not at the ends.
WITNESS_SHARES = np.array([0.13, 0.41, 0.87])
# sample: for a tensor there are more of them: where elements are masked or cut off, some are right by chance.
_TENSOR_WITNESS_SHARES = np.array([0.03, 0.13, 0.19, 0.29, 0.41, 0.52, 0.58, 0.67, 0.74, 0.87, 0.94])
# budget: this many copies of one point must give equal results, whatever their position in the batch.
_EQUAL_COPIES = 16
# budget: the most points whose outer product is no burden; sample: the largest factor of grad_output.
_MAX_VARIED, _LARGE = 1 << 11, 2.0**20
# bound: a grad_output beyond this size, or below its inverse, would leave the numbers of the dtype when multiplied.
_FAR = {torch.float64: 1e100, torch.float32: 1e15}
# unit: the golden ratio; sorting by multiples of it modulo 1 shuffles the points so that no neighbours stay neighbours.
GOLDEN_RATIO = (5**0.5 - 1) / 2
_ULPS = 16.0  # ulps: what is left of terms that cancel moves forward by no more
_TOLERANCE = {8: 1e-11, 4: 1e-5, 2: 1e-2}  # bound: by the size of the dtype: its last places may be rounded otherwise


@dataclass(frozen=True)
class MixedGradient:
    """The gradient of a point ``x`` in one call with all others, and alone, where forward answers both the same."""

    x: float
    together: float
    alone: float


@dataclass(frozen=True)
class Batch:
    """A section as it is to be called, and its ``results`` at the points for which that was found out.

    These are None where the Function was called for the witnesses only; ``given`` are their grad_outputs where each
    point had its own. ``mixed`` is where backward alone mixes what shares a call, although each is a single number.
    """

    section: Section
    results: BackwardResult | None = None
    mixed: MixedGradient | None = None
    given: Array | None = None

    @property
    def gradient(self) -> Array | None:
        """The ``grad_input`` of the one grad_output that was asked for; None where each point had its own."""
        return self.results.grad_input if self.results and self.given is None else None


def batched_section(section: Section, t: Array, grad_output: float = 1.0) -> Section:
    """The section of ``find_batch``."""
    return find_batch(section, t, grad_output).section


@dataclass(frozen=True)
class Known:
    """What the second witness of the domain ``returned`` alone, where it was called before, which changes nothing."""

    returned: BackwardResult | None = field(default=None, compare=False)


def find_batch(section: Section, t: Array, grad_output: float | Array = 1.0, known: Known = Known()) -> Batch:
    """The same section, with as many inputs ``stacked`` as the Function supports at the points ``t``.

    Copies of the inputs are stacked, one for each point; the witnesses, shuffled among all other points, must then give
    the values and gradients that they give alone. Tried are ``_stacks``, of single numbers those along their first
    dimension. ``grad_output`` is one number; where points are all of an input it is a row for each of them.
    """
    alone, numbers = section.alone(), _of_single_numbers(section) and t.ndim == 1
    if section.sweeps_parameter:
        return Batch(alone)
    if numbers and (elementwise := _elementwise_batch(alone, t, float(grad_output), known)) is not None:
        return elementwise
    order, back = _shuffle(len(t))
    t, given, witnesses = t[order], _at(grad_output, order), _witness_indices(section, len(t))
    try:
        wanted = _section_results(alone, t[witnesses], _at(given, witnesses))
    except FunctionFailed:
        return Batch(alone)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about shapes that only this test passes
        for together in _stacks(alone):
            declared = together.copies_along == alone.copies_along
            if numbers and not declared:
                break
            results = _batch_results(together, t, witnesses, given, wanted)
            told_apart = declared or np.ndim(grad_output) > 0
            if results is not None and (told_apart or _keeps_grad_outputs_apart(together, alone, t[witnesses])):
                return Batch(together, results.at(back))
    if not numbers:
        return Batch(alone)
    every = replace(alone, stacked=tuple(name for name, _ in alone.inputs))
    return Batch(alone, mixed=_mixed_gradient(every, t, witnesses, float(grad_output), wanted))


def _at(grad_output: float | Array, points: NDArray[np.intp]) -> float | Array:
    return grad_output[points] if isinstance(grad_output, np.ndarray) else grad_output


def alike_batch(section: Section, t: Array, grad_output: float | None = None) -> Batch | None:
    """The section as it is, with forward at the points ``t``; None where a witness among them has another value alone.

    For one that shares calls as another has proved that it can: its surrogate, and itself in double precision. With a
    ``grad_output`` backward is asked, too, where it has numbers: what it mixes into one may be too little to be seen in
    a short dtype.
    """
    if not section.stacked:
        return None
    if grad_output is not None and (alike := _alike_numbers(section, t, grad_output)):
        return alike
    witnesses, equal = _witness_indices(section, len(t)), partial(_equal, section.dtype)
    try:
        wanted = section.alone().forward(t[witnesses])
        found = section.forward(np.concatenate((t, t[witnesses])))
    except FunctionFailed:
        return None
    if not (equal(found[witnesses], wanted) and equal(found[t.size :], wanted)):
        return None
    return Batch(section, BackwardResult(found[: t.size]))


def _alike_numbers(section: Section, t: Array, grad_output: float) -> Batch | None:
    """As ``alike_batch``, of backward too: with the witnesses of the declared domain, which are known for all ranges.

    None also where these have no numbers, or a point is more than one.
    """
    if not _of_single_numbers(section):
        return None
    unit = stand_in(grad_output)
    witnesses, wanted, _ = _lone_witnesses(section.alone(), unit, Known())
    if wanted is None:
        return None
    given = np.concatenate((np.full(t.size, grad_output), np.full(witnesses.size, unit)))
    try:
        found = _section_results(section, np.concatenate((t, witnesses)), given)
    except FunctionFailed:
        return None
    here = found.at(slice(t.size, None))
    if not _equal(section.dtype, here.values, wanted.values):
        return None
    return Batch(section, found.at(slice(t.size)), _worst_mixed(section.dtype, witnesses, unit, here, wanted))


_FIRST, _NEW = (0, 0), (None, None)  # where copies lie in inputs and output: one after the other, or before them
_COLUMNS = (0, -1), (-1, -1), (0, 1)  # and where those of the output are its columns


def _stacks(alone: Section) -> Iterator[Section]:
    """Ways to stack inputs: along their first dimension, along a new one before it, and as columns of the output.

    Tried are all inputs together (elementwise Functions) and the swept ones alone (independent rows); the latter first
    where another input is a tensor, of which each row might be compared with every copy. Most of torch's functions of
    vectors and matrices take a stack of them. The columns are those of a linear layer, whose weight is stacked along
    its first dimension, or the last one where it is multiplied from the right, alone or with all other inputs but one;
    and the channels of a convolution, its second dimension.
    """
    every, depth = tuple(name for name, _ in alone.inputs), len(alone.of_index)
    swept = tuple(dict.fromkeys((alone.wrt, alone.also[0] if alone.also else alone.wrt)))
    others = [name for name in every if name not in swept]
    tensors = any(len(values) > 1 for name, values in alone.inputs if name in others)
    but_one = (tuple(name for name in every if name != held) for held in others)
    ways = (
        *product((swept, every) if tensors else (every, swept), (_FIRST,)),
        *product((every, swept), (_NEW,)),
        *(product((swept, *but_one), _COLUMNS[:depth]) if depth > 1 and others else ()),
    )
    for stacked, axes in dict.fromkeys(ways):
        yield replace(alone, stacked=stacked, copies_along=axes)


def _keeps_grad_outputs_apart(together: Section, alone: Section, t: Array) -> bool:
    """Whether each of the points ``t`` gets the gradient for its own grad_output, where they are all different.

    A backward that takes the mean of grad_output is right for the one number it was declared for, and has no fault to
    be found in a stack that nobody declared.
    """
    place = np.arange(len(t))
    grad_output = np.where(place % 2, 1.0, -1.0) * (1.0 + place * GOLDEN_RATIO % 1)
    try:
        found, wanted = (each.backward(t, grad_output).grad_input for each in (together, alone))
    except FunctionFailed:
        return False
    return _equal(together.dtype, found, wanted)


def _mixed_gradient(
    section: Section, t: Array, witnesses: NDArray[np.intp], grad_output: float, wanted: BackwardResult
) -> MixedGradient | None:
    """The ``_worst_mixed`` of the witnesses in one call with all points."""
    try:
        found = section.backward(t, grad_output)
    except FunctionFailed:
        return None
    if found.elements * witnesses.size != wanted.elements * t.size:
        return None
    return _worst_mixed(section.dtype, t[witnesses], grad_output, found.at(witnesses), wanted)


def _worst_mixed(
    dtype: torch.dtype, t: Array, grad_output: float, found: BackwardResult, wanted: BackwardResult
) -> MixedGradient | None:
    """The worst of the points whose gradient among all others is not the ``wanted`` one, while its value is.

    What moves forward by less than it is rounded is what is left of terms that cancel.
    """
    together, alone = found.grad_input, wanted.grad_input
    if together is None or alone is None or not _equal(dtype, found.values, wanted.values):
        return None
    if _equal(dtype, together, alone):
        return None
    off = np.nan_to_num(np.abs(together - alone), nan=np.inf)
    worst = int(off.argmax())
    rounding = _ULPS * torch.finfo(dtype).eps * abs(grad_output) * largest_magnitude(wanted.values)
    if off[worst] * largest_magnitude(t) <= rounding:
        return None
    return MixedGradient(float(t[worst]), float(together[worst]), float(alone[worst]))


@lru_cache(maxsize=16)
def _shuffle(count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """An order of so many points, and the indices that undo it."""
    order = np.argsort(np.arange(count) * GOLDEN_RATIO % 1)
    return order, np.argsort(order)


def _witness_indices(section: Section, count: int) -> NDArray[np.intp]:
    shares = WITNESS_SHARES if _of_single_numbers(section) else _TENSOR_WITNESS_SHARES
    return np.unique((shares * count).astype(np.intp))


def _of_single_numbers(section: Section) -> bool:
    return all(len(values) == 1 for _, values in section.inputs)


def structure_name(stacked: tuple[str, ...]) -> str:
    """How points are evaluated with these inputs stacked: ``together`` or ``one by one``."""
    return "together" if stacked else "one by one"


def _batch_results(
    section: Section, t: Array, witnesses: NDArray[np.intp], grad_output: float | Array, wanted: BackwardResult
) -> BackwardResult | None:
    """The results at all points in few calls; None if the witnesses among them do not get what is ``wanted``."""
    try:
        few = t[np.concatenate((witnesses, np.repeat(witnesses[:1], _EQUAL_COPIES)))]
        once = section.in_one_call(few)
        same = once.values
        # An outer product of all copies contains the right elements too, but has more elements in total.
        if once.elements * witnesses.size != wanted.elements * len(few):
            return None
        if not _equal(section.dtype, same[: witnesses.size], wanted.values):
            return None
        found = _section_results(section, t, grad_output)
    except FunctionFailed:
        return None
    equal, copies = partial(_equal, section.dtype), same[witnesses.size :]
    alike = equal(copies, np.repeat(copies[:1], _EQUAL_COPIES, axis=0)) and equal(
        found.values[witnesses], wanted.values
    )
    gradient = None if found.grad_input is None else found.grad_input[witnesses]
    return found if alike and equal(gradient, wanted.grad_input) else None


def _elementwise_batch(alone: Section, t: Array, grad_output: float, known: Known) -> Batch | None:
    """The batch of all points and the witnesses of the declared domain, in one call; None if they are not elementwise.

    The grad_outputs of the points are of all sizes and signs, and some of them 0; that of the witnesses is what stands
    for ``grad_output``. An elementwise backward does not care, and so its linearity is seen in passing. None also where
    that cannot be expected, or could not be compared.
    """
    far = _FAR.get(alone.dtype, 0.0) if alone.device == "cpu" and t.size <= _MAX_VARIED else 0.0
    if not 1 < abs(grad_output) * far < far**2:
        return None
    unit = stand_in(grad_output)
    witnesses, wanted, together = _lone_witnesses(alone, unit, known)
    if wanted is None:
        return None
    count, end = t.size, t.size + witnesses.size
    points = np.concatenate((t, witnesses, np.full(_EQUAL_COPIES, witnesses[0])))
    factors = grad_output * factors_of_all_sizes(count)
    given = np.concatenate((factors, np.full(witnesses.size, unit), np.zeros(_EQUAL_COPIES)))
    (order, back), equal = _shuffle(points.size), partial(_equal, alone.dtype)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about shapes that only this test passes
            found = together.backward(points[order], given[order]).at(back)
    except FunctionFailed:
        return None
    here, same = found.at(slice(count, end)), found.values[end:]
    # An outer product of all copies contains the right elements too, but has more elements in total.
    alike = found.elements * witnesses.size == wanted.elements * points.size and equal(same, same[:1].repeat(same.size))
    if not (alike and equal(here.values, wanted.values) and equal(here.grad_input, wanted.grad_input)):
        return None
    return Batch(together, found.at(slice(count)), given=given[:count])


@remembered()
def _lone_witnesses(alone: Section, grad_output: float, known: Known) -> tuple[Array, BackwardResult | None, Section]:
    """Three points of the domain, what each returns alone, None where it is no number; and all inputs stacked."""
    together = replace(alone, stacked=tuple(name for name, _ in alone.inputs))
    low, high = alone.op.input(alone.wrt).domain
    t = low + WITNESS_SHARES * (high - low)
    try:
        first, last = alone.backward(t[:1], grad_output), alone.backward(t[2:], grad_output)
        wanted = joined((first, known.returned or alone.backward(t[1:2], grad_output), last))
    except FunctionFailed:
        return t, None, together
    numbers = np.isfinite(wanted.values).all() and wanted.grad_input is not None
    return t, wanted if numbers else None, together


@lru_cache(maxsize=16)
def factors_of_all_sizes(count: int) -> Array:
    """So many factors of both signs, usual ones, large ones, small ones, and 0."""
    draw = np.random.default_rng(count)
    usual, power = draw.choice((-1.0, 1.0), count) * 2 ** draw.uniform(-3, 3, count), draw.integers(-10, 11, count)
    kinds = (usual, 0 * usual, np.full(count, _LARGE), usual * 2.0**power, np.full(count, -1 / _LARGE))
    return np.choose(np.arange(count) % len(kinds), kinds)


def _equal(dtype: torch.dtype, found: Array | None, wanted: Array | None) -> bool:
    """Equal but for the last places, in which vectorised and scalar code may differ; or both None.

    Those are of the dtype, or of float32 where all values were computed in that.
    """
    if found is None or wanted is None:
        return found is wanted
    if np.array_equal(found, wanted):
        return True
    tolerance = _TOLERANCE[4 if has_float32_digits(found) and has_float32_digits(wanted) else dtype.itemsize]
    with np.errstate(all="ignore"):  # as numpy.allclose, which takes ten times as long for a few numbers
        near = np.abs(found - wanted) <= tolerance * (np.abs(wanted) + largest_magnitude(wanted))
    same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    return found.shape == wanted.shape and bool((near & np.isfinite(wanted) | same).all())


def _section_results(section: Section, t: Array, grad_output: float | Array) -> BackwardResult:
    """The results of backward; without gradients where it fails. Raises ``FunctionFailed`` where forward does."""
    return unless_backward_fails(lambda: section.backward(t, grad_output), lambda: section.forward_alone(t))[0]


def batched_plane(along: Section, across: Section, x: Array, y: Array, grad_output: float) -> Plane:
    """The plane of two sections, with all points ``x`` × ``y`` in one call if the Function supports that.

    Else each section is batched by itself, if it can be.
    """
    if not (along.sweeps_parameter or across.sweeps_parameter):
        joint = along.alone(also=(across.wrt, across.wrt_index))
        batch = find_batch(joint, np.stack(np.meshgrid(x, y), -1).reshape(-1, 2), grad_output)
        if batch.section.stacked:
            return Plane(along.alone(), across.alone(), batch.section)
    return Plane(batched_section(along, x, grad_output), batched_section(across, y, grad_output))


_STACKED_SHARE = 0.2  # budget: the cost of one stacked copy, as a fraction of a call of its own


def seconds_per_copy(section: Section) -> float:
    """The estimated seconds per row of all elements of ``wrt``. Raises ``FunctionFailed``."""
    share = _STACKED_SHARE if section.stacked else 1.0
    return estimated_seconds(lambda: section.forward(section.here[None])) * share


# sample: the distances of the witnesses from the held ``wrt``, as fractions of the range.
_SPREAD = np.array([0.0, 1e-3, 0.03, 0.3, 1.0])
# budget: the largest output (elements) and slowest call (seconds) for which batching is tried at all.
_MOST_ELEMENTS, _SLOWEST = 1 << 20, 0.03


def batched_rows(section: Section, span: float) -> Section:
    """The section of ``find_batch`` for rows of all elements of ``wrt``, of which each varies over this ``span``.

    Raises ``FunctionFailed`` where forward fails.
    """
    alone = section.alone()
    if section.sweeps_parameter or not 0 < alone.size <= _MOST_ELEMENTS or seconds_per_copy(alone) > _SLOWEST:
        return alone
    draw = np.random.default_rng(alone.here.size)
    rows = alone.here + span * _SPREAD[:, None] * draw.standard_normal((_SPREAD.size, alone.here.size))
    rows = rows[np.isfinite(alone.willing(rows)).any(axis=1)]
    return alone if len(rows) < 2 else find_batch(alone, rows, draw.standard_normal((len(rows), alone.size))).section
