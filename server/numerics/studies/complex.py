"""The study of complex inputs: whether backward returns the gradient that torch defines, grad_output · conj(f′)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, Literal

import numpy as np
import torch

from ...runtime.arrays import EPSILON, Array, Mask, largest_magnitude
from ...runtime.failure import Failure, FunctionFailed
from ...runtime.section import Section
from ..curve.curve import measure_curve, remeasure_doubtful
from ..differentiation.finite_differences import EVIDENCE_BOUNDS, PointKind, Slopes
from ..sampling.grid import Grid, grid_rows
from ..tolerance import ALIKE_SHARE, MANY_ULPS, SMALL

_Outcome = Literal["matches", "conjugate missing", "conjugated", "differs", "undecided", "not supported"]

_POINTS, _POINTS_ONE_BY_ONE = 41, 3  # budget: the points along each line, and of sections that need a call for each
# sample: how far from the real axis one line runs, where along it the other crosses, and how far that reaches: shares
# of the range, and at most _MAX_OFFSET.
_ASIDE, _CROSSING, _HEIGHT, _MAX_OFFSET = 0.23, 0.38, 0.5, 2.0
_MIN_JUDGED = 0.5  # pattern: where fewer of the points could be judged, no answer is given

_Part = Literal["real", "imag"]
_Line = Literal["along", "across"]
_PARTS: tuple[_Part, ...] = ("real", "imag")
_LINES: tuple[_Line, ...] = ("along", "across")
# The sign that each derivative has: as it should be, with f′ for conj(f′), and where all is conjugated.
_SIGNS: dict[_Outcome, dict[tuple[_Part, _Line], int]] = {
    "matches": dict.fromkeys(product(_PARTS, _LINES), 1),
    "conjugate missing": {("real", "along"): 1, ("real", "across"): -1, ("imag", "along"): -1, ("imag", "across"): 1},
    "conjugated": {(part, line): 1 if line == "along" else -1 for part, line in product(_PARTS, _LINES)},
}

_SAID: dict[_Outcome, str] = {
    "matches": "With complex numbers backward returns the gradient torch defines.",
    "conjugate missing": "With complex numbers a conjugate is missing: torch calls for grad_output · conj(f′), and "
    "backward returns grad_output · f′. Write .conj() on what grad_output is multiplied by.",
    "conjugated": "With complex numbers backward returns the conjugate of the gradient torch defines, as JAX would.",
    "differs": "With complex numbers backward does not return the gradient torch defines.",
    "undecided": "With complex numbers the differences of forward are too uncertain to judge backward by.",
}


@dataclass(frozen=True)
class ComplexStudy:
    """What backward does with complex numbers, and the error where the Function does not take them."""

    verdict: _Outcome
    failure: Failure | None = None

    @property
    def sentence(self) -> str:
        """The same in words."""
        if self.failure:
            return "Complex input is not supported."
        return _SAID[self.verdict]


@dataclass(frozen=True)
class _Slice:
    """One part of the output along one line through the complex plane: two derivatives of a real function."""

    analytical: Array
    numerical: Array
    allowed: Array
    judged: Mask
    height: float

    def near(self, sign: int, slack: float = 0.0) -> Mask:
        return np.abs(self.analytical - sign * self.numerical) <= self.allowed + slack


@np.errstate(all="ignore")
def study_complex(section: Section, grid: Grid) -> ComplexStudy:
    """Compare backward with differences of forward along and across the real axis.

    torch calls ∂L/∂Re z + i ∂L/∂Im z the gradient of a real L: for a holomorphic f that is grad_output·conj(f′).
    Taken for L the real and the imaginary part of the output, each is a derivative of a real function of a real
    number, and is measured as such. All inputs are complex together. ``section`` is stacked if it can be.
    Source: PyTorch documentation, Autograd mechanics, on complex numbers.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the imaginary part is dropped is seen
        try:
            slices = {(part, line): _slice(section, grid, part, line) for part, line in product(_PARTS, _LINES)}
        except FunctionFailed as error:
            return ComplexStudy("not supported", error.failure)
    judged = np.concatenate([each.judged for each in slices.values()])
    if judged.mean() < _MIN_JUDGED:
        return ComplexStudy("undecided")
    # A small part of a large number has lost places that the large part has not.
    slack = {line: MANY_ULPS * EPSILON * max(slices[part, line].height for part in _PARTS) for line in _LINES}
    for answer, signs in _SIGNS.items():
        if all(each.near(signs[key], slack[key[1]])[each.judged].all() for key, each in slices.items()):
            return ComplexStudy(answer)
    return ComplexStudy("differs")


def _slice(section: Section, grid: Grid, part: _Part, line: _Line) -> _Slice:
    count = _POINTS if section.stacked else _POINTS_ONE_BY_ONE
    if line == "along":
        t, aside = np.linspace(grid.start, grid.stop, count), min(_ASIDE * grid.span, _MAX_OFFSET)
    else:
        height = min(_HEIGHT * grid.span, _MAX_OFFSET)
        t, aside = np.linspace(-height, height, count), grid.start + _CROSSING * grid.span
    cut = replace(section, call=partial(_on_line, section.call, aside, part, line), dtype=torch.float64, device="cpu")
    returned, rows, span = cut.backward(t, 1.0), grid_rows(t, ()), float(t[-1] - t[0])
    analytical = np.zeros(count) if returned.grad_input is None else returned.grad_input
    curve = remeasure_doubtful(cut, rows, measure_curve(cut, rows, returned.values, span), analytical, 1.0)
    return _compare(analytical, curve.slopes, largest_magnitude(returned.values), span)


def _compare(analytical: Array, slopes: Slopes, height: float, span: float) -> _Slice:
    band = EVIDENCE_BOUNDS * slopes.error
    # A constant has no slope to measure the band by, but it has a height.
    scale = np.abs(slopes.value) + largest_magnitude(slopes.value) + height / span
    judged = (slopes.kind == PointKind.SMOOTH) & (band <= SMALL * scale) & np.isfinite(analytical)
    return _Slice(analytical, slopes.value, ALIKE_SHARE * scale + band, judged, height)


def _on_line(call: Callable[..., Any], aside: float, part: _Part, line: _Line, *arguments: Any) -> Any:
    """The real function of real numbers that lies inside a function of complex ones."""

    def to_complex(argument: Any) -> Any:
        if not isinstance(argument, torch.Tensor):
            return argument
        # Times 1, that what comes back is no lazy conjugate, which NumPy cannot read.
        argument, other = 1 * argument, torch.full_like(argument, aside)
        return torch.complex(argument, other) if line == "along" else torch.complex(other, argument)

    def to_real(output: Any) -> Any:
        if not isinstance(output, torch.Tensor):
            return output
        if not output.is_complex():
            return output if part == "real" else 0 * output
        return output.real if part == "real" else output.imag.resolve_neg()

    outputs = call(*map(to_complex, arguments))
    return tuple(map(to_real, outputs)) if isinstance(outputs, tuple) else to_real(outputs)
