"""The true gradient of a descent, from finite differences of forward, one-sided at kinks."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from ...runtime.arrays import EPSILON, Array
from ...runtime.batch_size import batch_size
from ...runtime.batching import GOLDEN_RATIO, batched_section
from ...runtime.failure import FunctionFailed
from ...runtime.reference import reference_of
from ...runtime.rng import seed_all_generators
from ...runtime.section import Section
from ..differentiation.finite_differences import (
    FINE_WIDEST_STEP,
    LEAST_ROUNDING,
    WIDEST_LOW_PRECISION,
    WIDEST_STEP,
    PointKind,
    Slopes,
    differentiate_one_sided,
)
from ..differentiation.noise import relative_precision
from .loss import flat_array, moved_size, output_at, position_tensor

_NONSMOOTH = (PointKind.KINK, PointKind.JUMP)


def downhill_gradient(slopes: Slopes, residual: Array) -> tuple[Array, bool]:
    """The gradient of the loss along each element of what moves, and whether forward is bent or torn there.

    ``residual`` is the derivative of the loss with respect to each element of the output. Along an element where
    forward has a kink the loss has two slopes: taken is that of the side to which it falls, of the steeper side if it
    falls to both, and 0 if it rises to both, which is the subgradient of least norm. On the side of a jump, and where
    forward is upright, there is none. NaN where forward has no finite value or no slope.
    """
    shape = (-1, residual.size)
    kind = slopes.kind.reshape(shape)
    value = slopes.value.reshape(shape)
    # A slope that is mostly doubt says nothing.
    value = np.where((kind == PointKind.UNRESOLVED) & ~(slopes.error.reshape(shape) < np.abs(value)), 0.0, value)
    nonsmooth = np.isin(kind, _NONSMOOTH)
    gradient = _loss_slopes(value, residual)
    rows = nonsmooth.any(axis=1)
    if rows.any():
        sides = [np.where(nonsmooth, side.reshape(shape), value)[rows] for side in (slopes.left, slopes.right)]
        behind, ahead = (_loss_slopes(np.where(np.isfinite(side), side, np.nan), residual) for side in sides)
        left, right = np.where(behind > 0, behind, 0.0), np.where(ahead < 0, ahead, 0.0)
        gradient[rows] = np.where(left > -right, left, right)
    return gradient, bool(rows.any())


def _loss_slopes(slope: Array, residual: Array) -> Array:
    """The slopes of the loss; an element of the output that is on goal does not matter, however steep it is."""
    return np.where(residual == 0, 0.0, slope * residual).sum(axis=1)


# budget: the points along the range, no round numbers, that tell whether many copies may be asked at once, and how
# finely forward rounds.
_PROBES = 33
# ulps: half ulps by which forward's values may be off, vector lanes of the processor differing among themselves.
_ULPS = 8.0
# sample: apparent kinks are measured again with steps shorter by _SHRINKING, up to _RETRIES times (a budget); a smooth
# slope is accepted with a relative error of at most _MAX_ERROR (a bound).
_SHRINKING, _RETRIES, _MAX_ERROR = 2.0**-9, 3, 1e-3


@dataclass(frozen=True)
class TrueForward:
    """Forward in double precision wherever the Function allows that; ``span`` is the range that can be seen.

    ``precision`` is half a unit in the last place of what it computes in.
    """

    section: Section
    span: float
    precision: float

    @classmethod
    def of(cls, section: Section, start: float, stop: float) -> TrueForward:
        """The double-precision forward of a section, its precision estimated between ``start`` and ``stop``."""
        x = section.snap(start + (stop - start) * np.sort(np.arange(_PROBES) * GOLDEN_RATIO % 1))
        reference = reference_of(batched_section(section, x), x)
        try:
            precision = relative_precision(reference.forward, x, reference.forward(x))
        except FunctionFailed:
            precision = EPSILON
        return cls(reference.alone() if reference.copies_along != (0, 0) else reference, stop - start, precision)

    def alone(self) -> TrueForward:
        """The same, asked for one point at a time: copies that are stacked would draw random numbers of their own."""
        return replace(self, section=self.section.alone())

    def outputs(self, points: Array, step: int = 0) -> Array:
        """The output, flat, at every row of ``points``: NaN where the Function refuses it.

        The random numbers are those of ``step``. Raises ``FunctionFailed`` where it refuses all of them.
        """
        size = batch_size(moved_size(self.section)) if self.section.stacked else 1
        parts: list[Array | None] = []
        refused: FunctionFailed | None = None
        for first in range(0, len(points), size):
            chunk = points[first : first + size]
            try:
                parts.append(self._outputs(chunk, step))
            except FunctionFailed as error:
                refused = error
                rows = [self._row(row, step) for row in chunk] if len(chunk) > 1 else [None]
                parts += [None if row is None else row[None] for row in rows]
        width = next((part.shape[1] for part in parts if part is not None), 0)
        if refused is not None and not width:
            raise refused
        nothing = np.full((1, width), np.nan)
        return np.concatenate([part if part is not None and part.shape[1] == width else nothing for part in parts])

    def _outputs(self, chunk: Array, step: int) -> Array:
        position = position_tensor(self.section, chunk.reshape(-1)) if len(chunk) == 1 else self._stacked(chunk)
        seed_all_generators(step)
        with torch.no_grad():
            return flat_array(output_at(self.section, position, len(chunk))).reshape(len(chunk), -1)

    def _row(self, row: Array, step: int) -> Array | None:
        try:
            return self._outputs(row[None], step)[0]
        except FunctionFailed:
            return None

    def _stacked(self, chunk: Array) -> torch.Tensor:
        one = position_tensor(self.section, chunk[0])
        many = torch.from_numpy(np.ascontiguousarray(chunk)).to(one.device, one.dtype, copy=True)
        return many.reshape(len(chunk) * one.shape[0], *one.shape[1:])

    def slopes(self, position: Array, y: Array, step: int = 0) -> Slopes:
        """The slope of every element of the output, flat, along every element of ``position``, where it is ``y``.

        The arrays are flat: all elements of the output for the first of what moves, then for the next.
        """
        n, m = position.size, y.size
        x, values = np.repeat(position, m), np.tile(y, n)
        share = WIDEST_STEP if self.precision == EPSILON else WIDEST_LOW_PRECISION
        widest = FINE_WIDEST_STEP * share * np.maximum(self.span, np.abs(x))

        def forward(t: Array) -> Array:
            positions = t.reshape(-1, n, m)[:, :, 0]
            points = np.repeat(position[None], positions.size, 0)
            points[np.arange(positions.size), np.tile(np.arange(n), len(positions))] = positions.ravel()
            outputs = self.outputs(points, step)
            return outputs.ravel() if outputs.shape[1] == m else np.full(t.size, np.nan)

        rounding = np.maximum(_ULPS * self.precision * np.abs(values), LEAST_ROUNDING)
        finite = np.abs(y[np.isfinite(y)])
        visible = float(finite.max(initial=0.0)) / self.span
        with np.errstate(all="ignore"):
            slopes = differentiate_one_sided(forward, x, values, widest, rounding, self.precision, visible)
            for _ in range(_RETRIES if self.precision == EPSILON else 0):
                if (slopes.kind == PointKind.SMOOTH).all():
                    break
                widest = widest * _SHRINKING
                slopes = _prefer_smooth(
                    slopes, differentiate_one_sided(forward, x, values, widest, rounding, self.precision, visible)
                )
        return slopes


def _prefer_smooth(slopes: Slopes, closer: Slopes) -> Slopes:
    """The slopes, with those seen from closer where they are smooth there: the kink lay beside, between the steps."""
    smooth = (closer.kind == PointKind.SMOOTH) & (closer.error <= _MAX_ERROR * np.abs(closer.value))
    better = (slopes.kind != PointKind.SMOOTH) & (smooth | ((closer.value == 0) & (closer.error == 0)))
    return replace(
        slopes,
        **{
            name: np.where(better, getattr(closer, name), getattr(slopes, name))
            for name in ("value", "error", "left", "right", "left_error", "right_error", "kind")
        },
    )
