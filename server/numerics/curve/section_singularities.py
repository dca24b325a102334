"""The singularities of a section (kinks, cusps, jumps, poles of forward), and the jumps of what backward returns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from ...runtime.arrays import Array, Forward, finite_rise, largest_magnitude
from ...runtime.failure import FunctionFailed
from ...runtime.remembered import A_FEW, remembered
from ...runtime.section import Section
from ..differentiation.noise import noise_along, noise_probes
from ..sampling.grid import Grid
from ..singularities.special_points import SpecialPoint, special_points
from ..tolerance import ALIKE_SHARE
from .curve import nan_outside_domain

_MIN_POINTS = 401  # budget: the least number of grid points with which a kink is told from curvature
_MIN_ROWS = 3  # budget: among fewer rows no jump of backward is looked for
_NOISE_FACTOR = 30.0  # bound: a jump of less than this many times the noise is ignored


@remembered(most=A_FEW)
def forward_singularities(
    section: Section, reference: Section, grid: Grid, precision: float, at: Array, values: Array
) -> tuple[SpecialPoint, ...]:
    """The special points of forward, searched on a grid of at least 401 points where all points share a call.

    ``at`` are the points at which ``reference`` was evaluated, and has these ``values``.
    """
    cheap = section.stacked != ()
    x = Grid(grid.start, grid.stop, max(grid.count, _MIN_POINTS) if cheap else grid.count).points()
    try:
        y = values if np.array_equal(x, at) else reference.forward(x)
    except FunctionFailed:  # it accepts the points of the section's dtype, and not those between them
        return ()
    forward = nan_outside_domain(reference, x)
    found = special_points(forward, x, y, precision, cheap=cheap)
    if any(each.kind == "jump" for each in found):
        found = _above_noise(found, forward, x, y)
    return tuple(_widen_to_dtype(each, section, grid) for each in found)


def is_rough(reference: Section, x: Array, y: Array, share: float) -> bool:
    """Whether forward's rounding is more than this share of its rise over ``x``."""
    forward, rise = nan_outside_domain(reference, x), finite_rise(y)
    return bool(np.median(noise_along(forward(noise_probes(x, x[-1] - x[0])), x, rise)) > share * rise)


def _above_noise(points: tuple[SpecialPoint, ...], forward: Forward, x: Array, y: Array) -> tuple[SpecialPoint, ...]:
    """The special points without those jumps that forward's rounding makes."""
    size = largest_magnitude(y)
    noise = np.interp([each.x for each in points], x, noise_along(forward(noise_probes(x, x[-1] - x[0])), x, size))
    sides = forward(np.array([[each.left, each.right] for each in points]).ravel()).reshape(-1, 2)
    loud = ~(np.abs(np.diff(sides)[:, 0]) <= _NOISE_FACTOR * noise)
    return tuple(each for each, keep in zip(points, loud, strict=True) if keep or each.kind != "jump")


def gradient_jumps(
    section: Section, x: Array, analytical: Array | None, known: tuple[SpecialPoint, ...], grad_output: float
) -> tuple[SpecialPoint, ...]:
    """The jumps of what backward returned at places where forward has no singularity."""
    if analytical is None or x.size < _MIN_ROWS:
        return ()

    def gradient(t: Array) -> Array:
        return section.gradient(section.snap(np.clip(t, x[0], x[-1])), grad_output)

    half = torch.finfo(section.dtype).eps / 2
    try:
        found = special_points(gradient, x, analytical, half, known, cheap=section.stacked != (), jumps_only=True)
        jumps = [each for each in found if each.kind == "jump"]
        if not jumps:
            return ()
        # A gradient that leaps beyond all it is elsewhere is at a pole, and nothing is learnt so near to it.
        sides = gradient(np.array([[each.left, each.right] for each in jumps]).ravel()).reshape(-1, 2)
        fits = (np.abs(sides) <= largest_magnitude(analytical)).all(axis=1)
        # A single point that is unlike its two neighbours is no jump, but a point to be judged.
        fits &= np.abs(np.diff(sides)[:, 0]) > ALIKE_SHARE * np.abs(sides).max(axis=1)
        return tuple(each for each, fit in zip(jumps, fits, strict=True) if fit)
    except FunctionFailed:
        return ()


def _widen_to_dtype(point: SpecialPoint, section: Section, grid: Grid) -> SpecialPoint:
    """The special point between two numbers that the section's dtype can tell apart."""
    if section.dtype == torch.float64:
        return point
    distance = torch.finfo(section.dtype).eps * max(abs(point.x), grid.span / grid.count)
    left, right = section.snap(np.array([point.x - distance, point.x + distance]))
    return replace(point, left=float(left), right=float(right))
