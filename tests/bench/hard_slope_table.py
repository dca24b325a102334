"""Fifteen slopes that are hard to find from values, each with its truth in closed form."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import torch
from numpy.typing import NDArray
from support.sections import look, op_of

mp = mpmath.mp


@dataclass(frozen=True)
class MeasuredSlope:
    """The slope at one point: as it is, as it was measured, and how far that is said to be off at most."""

    truth: float
    value: float
    bound: float

    @property
    def off(self) -> float:
        """The error, as a share of the true slope; infinite where no slope was given."""
        return abs(self.value - self.truth) / abs(self.truth) if np.isfinite(self.value) else np.inf

    @property
    def underclaimed(self) -> bool:
        """Whether a slope was given that is further off than its bound says."""
        return bool(np.isfinite(self.value) and not abs(self.value - self.truth) <= self.bound)


@dataclass(frozen=True)
class HardSlope:
    """A function, its derivative for numbers of any length, a place, and how far one sees around it."""

    name: str
    function: Callable[[torch.Tensor], torch.Tensor]
    derivative: Callable[[Any], Any]
    at: float
    around: float
    why: str

    def truth(self, x: float) -> float:
        """The slope at exactly this number, by forty digits and more."""
        with mpmath.workdps(60):
            return float(self.derivative(mpmath.mpf(x)))

    def forward(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """The function, of arrays."""
        return self.function(torch.from_numpy(np.atleast_1d(np.asarray(x, float)))).numpy().reshape(np.shape(x))

    def measured(self, width: float = 1.0, count: int = 401) -> MeasuredSlope:
        """What a look at ``width`` times the usual surroundings says in its middle."""
        reach = width * self.around
        evaluation, _ = look(op_of(self.function), self.at - reach, self.at + reach, count)
        row = int(np.abs(evaluation.rows.x - self.at).argmin())
        slopes = evaluation.numerical.slopes
        return MeasuredSlope(
            self.truth(float(evaluation.rows.x[row])), float(slopes.value[row]), float(slopes.error[row])
        )


def _ceres(x: Any) -> Any:
    return mp.exp(x) * (mp.sin(x) - x**2 - mp.cos(x) + 2 * x) / (mp.sin(x) - x**2) ** 2


def _cosine_rest(x: Any) -> Any:
    return (x * mp.sin(x) - 2 * (1 - mp.cos(x))) / x**3


def _normal(x: Any) -> Any:
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


HARD_SLOPES = (
    HardSlope("sin at 1", torch.sin, mp.cos, 1.0, 3.0, "the easy one"),
    HardSlope("exp at 20", torch.exp, mp.exp, 20.0, 5.0, "a large slope"),
    HardSlope(
        "eˣ/(sin x − x²) at 1",
        lambda x: torch.exp(x) / (torch.sin(x) - x**2),
        _ceres,
        1.0,
        0.1,
        "a pole nearby, at 0.877",
    ),
    HardSlope("tanh at 10", torch.tanh, lambda x: mp.sech(x) ** 2, 10.0, 5.0, "values that hardly differ"),
    HardSlope("log at 0.001", torch.log, lambda x: 1 / x, 1e-3, 9e-4, "close to the edge of the domain"),
    HardSlope("√x at 1e-6", torch.sqrt, lambda x: 1 / (2 * mp.sqrt(x)), 1e-6, 9e-7, "closer still"),
    HardSlope("sin at 10⁶", torch.sin, mp.cos, 1e6, 3.0, "where x has few places left"),
    HardSlope(
        "sin 50x at 1", lambda x: torch.sin(50 * x), lambda x: 50 * mp.cos(50 * x), 1.0, 3.0, "95 turns in sight"
    ),
    HardSlope(
        "atan 10⁴x at 0.0001",
        lambda x: torch.atan(1e4 * x),
        lambda x: 1e4 / (1 + (1e4 * x) ** 2),
        1e-4,
        1e-3,
        "bends within 1e-4",
    ),
    HardSlope("x² + 10⁶ at 1", lambda x: x * x + 1e6, lambda x: 2 * x, 1.0, 3.0, "a small rise, high up"),
    HardSlope(
        "Φ at −7",
        lambda x: 0.5 * (1 + torch.erf(x / 2**0.5)),
        lambda x: _normal(x),
        -7.0,
        2.0,
        "1 + erf leaves but a few digits",
    ),
    HardSlope("1/x at 0.001", lambda x: 1 / x, lambda x: -1 / x**2, 1e-3, 9e-4, "beside a pole"),
    HardSlope(
        "(1 − cos x)/x² at 0.001",
        lambda x: (1 - torch.cos(x)) / x**2,
        _cosine_rest,
        1e-3,
        9e-4,
        "all but the noise cancels",
    ),
    HardSlope(
        "a bell of width 0.01, at 0.01",
        lambda x: torch.exp(-((x / 0.01) ** 2)),
        lambda x: -2 * x / mp.mpf("1e-4") * mp.exp(-((x / mp.mpf("0.01")) ** 2)),
        0.01,
        3.0,
        "narrower than the points are apart",
    ),
    HardSlope(
        "x² sin 1/x at 0.02",
        lambda x: x * x * torch.sin(1 / x),
        lambda x: 2 * x * mp.sin(1 / x) - mp.cos(1 / x),
        0.02,
        0.015,
        "ever faster towards 0",
    ),
)
