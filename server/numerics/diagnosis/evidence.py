"""The evidence that a hypothesis has to fit: row by row, what backward returned and the slope it is judged by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from ...runtime.arrays import Array, Interval, Mask, largest_magnitude
from ...runtime.section import Section
from ..curve.curve import Curve
from ..curve.evaluation import Evaluation
from ..differentiation.finite_differences import EVIDENCE_BOUNDS, PointKind
from ..differentiation.noise import STEEPNESS_QUANTILE
from ..sentences.names import Names, section_names
from ..sentences.places import describe_rows
from ..status import JUDGED, STATUS_WORDS, Status
from ..tolerance import NEARLY_ALL, NEGLIGIBLE, SMALL, relative_tolerance, tolerance_for
from ..verdict.curve_judge import Comparison, conditioning
from .stories import Story, tell

JUDGED_STATUSES = np.isin(np.arange(len(STATUS_WORDS)), JUDGED)
EXCEPTIONS = 0.01  # pattern: the share that a story may leave unexplained; its sentence names those rows
MIN_ROWS, MANY_ROWS = 3, 8  # pattern: the fewest rows that show a factor, a mask, a window; and a formula, or rounding
_PRODUCT_ULPS = 2.0  # ulps: the last places that a product of grad_output may lose


@dataclass(frozen=True)
class Evidence:
    """What was measured of backward and of the function it is judged by; one element a row, per ``grad_output``.

    ``returned`` is what backward returned divided by ``grad_output``; ``slope``, ``left`` and ``right`` are those of
    ``owner`` (forward, or its surrogate), known to ``band``. ``judged`` are the rows that could be, ``wrong`` those
    where the two differ, and ``differs`` the intervals in which they do. ``precision`` is what backward may lose, as a
    share of what a story calls for, ``rounding`` what it may lose where it has but a product to compute, ``subnormal``
    what a product loses next to 0, where no share of it is a number. ``designed`` says that it is meant to differ.
    """

    section: Section
    evaluation: Evaluation
    names: Names
    owner: str
    designed: bool
    x: Array
    values: Array
    returned: Array
    slope: Array
    left: Array
    right: Array
    band: Array
    kink: Mask
    judged: Mask
    wrong: Mask
    differs: tuple[Interval, ...]
    precision: float
    rounding: float
    subnormal: float

    @cached_property
    def smooth(self) -> Mask:
        """The rows that are judged and are no kinks."""
        return self.judged & ~self.kink

    @cached_property
    def decisive(self) -> Mask:
        """The smooth rows, and the kinks at which backward is wrong: those at which any slope is right say nothing."""
        return self.judged & (self.wrong | ~self.kink)

    @cached_property
    def flat(self) -> Mask:
        """Where the function is known not to move, along more than a single row."""
        known = self.band <= NEGLIGIBLE * largest_magnitude(self.returned[self.judged])
        flat: Mask = self.smooth & known & (np.abs(self.slope) <= self._zero)
        rows = np.flatnonzero(self.smooth)
        neighbours = np.pad(flat[rows], 1)
        flat[rows] &= neighbours[:-2] | neighbours[2:]
        return flat

    @cached_property
    def moving(self) -> Mask:
        """Where the function is known to move."""
        return self.smooth & (np.abs(self.slope) > self._zero)

    @cached_property
    def _zero(self) -> Array:
        return self.band + tolerance_for(_robust_maximum(self.slope[self.judged]), torch.float64).atol

    @cached_property
    def all_flat(self) -> bool:
        """Whether the function is flat almost everywhere."""
        return bool(self.flat.any() and self.moving.sum() <= EXCEPTIONS * self.flat.sum())

    def exceptions(self, scale: Array | float, shift: Array | float = 0.0) -> Mask | None:
        """The few rows that "backward returns ``scale`` times the slope, plus ``shift``" leaves out.

        None if they are more than a few, or if too little is known to tell.
        """
        expected, kink = _scaled(scale, self.slope) + shift, self.kink
        low = high = expected
        if kink.any():  # at which any slope from the one on its left to that on its right is right
            ends = _scaled(scale, self.left) + shift, _scaled(scale, self.right) + shift
            low, high = np.where(kink, np.minimum(*ends), expected), np.where(kink, np.maximum(*ends), expected)
        off = np.maximum(low - self.returned, self.returned - high)
        largest = min(_robust_maximum(expected[self.judged]), _robust_maximum(self.returned[self.judged]))
        share = self.precision if np.ndim(scale) or scale else self.rounding
        allowed = share * (np.abs(expected) + largest) + self.subnormal
        band = np.abs(scale) * self.band
        fits = off <= allowed + band
        certain = fits & (band <= allowed + SMALL * (np.abs(expected) + largest))
        left_out: Mask = self.judged & ~fits
        wrong, sure = np.count_nonzero(self.wrong), np.count_nonzero(certain & self.wrong)
        few = np.count_nonzero(left_out) <= EXCEPTIONS * wrong
        return left_out if few and sure >= NEARLY_ALL * wrong else None

    def typical(self, values: Array) -> tuple[float, float]:
        """What most of the finite values are, and how far they scatter about it; NaN if too far."""
        values = np.sort(values[np.isfinite(values)])
        if not values.size:
            return np.nan, np.nan
        median = float(values[values.size // 2])
        scatter = float(np.sort(np.abs(values - median))[int(NEARLY_ALL * (values.size - 1))])
        if scatter > SMALL * abs(median):
            return np.nan, np.nan
        return median, scatter + torch.finfo(self.evaluation.section.dtype).eps * abs(median)

    def tell(self, story: str, **parts: str) -> Story:
        """A story of the table, with what it calls things."""
        return tell(story, self.names, owner=self.owner, **parts)

    @property
    def agrees(self) -> str:
        """The verb phrase for a backward where it returns the slope; one that is declared to differ is not judged."""
        return f"follows {self.owner}" if self.designed else "is right"

    def unless_designed(self, why: str) -> str:
        """What is called wrong, where it is not declared."""
        return "" if self.designed else why

    def everywhere(self, exceptions: Mask) -> str:
        """Everywhere but where the story leaves rows out."""
        return f"everywhere but {self.where(exceptions)}" if exceptions.any() else "everywhere"

    def where(self, rows: Mask) -> str:
        """The places of some of the judged rows, such as ``for x < −1 and for x > 1``."""
        return describe_rows(rows, self.judged, self.evaluation, self.names, self.differs)


def gather_evidence(evaluation: Evaluation, compared: Comparison, curve: Curve, designed: bool) -> Evidence:
    """The evidence against one curve; backward must have returned something, and ``grad_output`` not be 0."""
    assert evaluation.analytical is not None
    slopes = curve.slopes
    kink = slopes.kind == PointKind.KINK
    dtype, size = torch.finfo(evaluation.section.dtype), abs(evaluation.grad_output)
    return Evidence(
        section=evaluation.section.alone(also=None),
        evaluation=evaluation,
        names=section_names(evaluation.section),
        owner=section_names(evaluation.section).forward if curve is evaluation.numerical else "its surrogate",
        designed=designed,
        x=evaluation.rows.x,
        values=curve.values,
        returned=evaluation.analytical / evaluation.grad_output,
        slope=slopes.value,
        left=slopes.left,
        right=slopes.right,
        band=EVIDENCE_BOUNDS * (slopes.error_by_kind + np.where(kink, 0.0, conditioning(evaluation, slopes))),
        kink=kink,
        judged=JUDGED_STATUSES[compared.status],
        wrong=compared.status == Status.DIFFERS,
        differs=compared.intervals,
        precision=relative_tolerance(evaluation.section.dtype),
        rounding=_PRODUCT_ULPS * dtype.eps,
        subnormal=_PRODUCT_ULPS * dtype.tiny * dtype.eps / min(1.0, size),
    )


def describe_factor(factor: str, names: Names) -> str:
    """The verb phrase for a backward that returns ``factor`` times ``grad_output``."""
    return f"passes {names.grad_output} on unchanged" if factor == "1" else f"returns {times(factor, names)}"


def times(factor: str, names: Names) -> str:
    """The product of ``factor`` and ``grad_output`` in words."""
    plain = {"0": "0", "1": f"{names.grad_output} unchanged", "−1": f"−{names.grad_output}"}
    return plain.get(factor, f"{factor} times {names.grad_output}")


def _scaled(scale: Array | float, slope: Array) -> Array:
    """The product, which is 0 where ``scale`` is, however steep the slope."""
    return np.zeros_like(slope) if isinstance(scale, float) and not scale else scale * slope


def _robust_maximum(values: Array) -> float:
    """The largest of the magnitudes, but for the steepest percent."""
    magnitude = np.abs(values)
    magnitude = magnitude[np.isfinite(magnitude)]
    if not magnitude.size:
        return 0.0
    at = int(STEEPNESS_QUANTILE * (magnitude.size - 1))
    return float(np.partition(magnitude, at)[at])
