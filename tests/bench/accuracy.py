"""How right the numerical derivative is, and how honest its error bound, on nine smooth functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import mpmath
import numpy as np
from functions.smooth import SMOOTH, on_tensors
from peer_derivatives import PEERS, Array, Forward
from report import Report, Table, Target

from gradloupe.server.numerics.differentiation.finite_differences import differentiate

COUNT = 1001
RANGE_FACTORS = (0.1, 0.3, 1.0, 3.0)
OUR_NAME = "**Gradloupe**"


@dataclass(frozen=True)
class Sample:
    """A function on jittered points, with the slopes there to forty digits."""

    forward: Forward
    x: Array
    truth: Array
    span: float

    def off(self, slopes: Array) -> float:
        """The largest error, as a share of the largest slope; infinite if a slope is missing."""
        worst = float(np.abs(slopes - self.truth).max() / np.abs(self.truth).max())
        return worst if np.isfinite(worst) else np.inf


@dataclass(frozen=True)
class Measures:
    """What Gradloupe says of one sample."""

    off: float
    covered: float
    bound_over_error: float
    """The median of the bound over the error."""
    forwards: float


def sample(name: str, width: float = 1.0, seed: int = 1) -> Sample:
    """One of the nine, on 1001 points of ``width`` times its range, each moved by up to 0.3 cells."""
    function, derivative, low, high = SMOOTH[name]
    middle, half = (low + high) / 2, (high - low) / 2 * width
    jitter = np.random.default_rng(seed).uniform(-0.3, 0.3, COUNT) * 2 * half / COUNT
    x = np.linspace(middle - half, middle + half, COUNT) + jitter
    truth = np.array([float(derivative(mpmath.mpf(float(each)))) for each in x])
    return Sample(on_tensors(function), x, truth, 2 * half)


def our_measures(of: Sample) -> Measures:
    """The measures on one sample."""
    slopes = differentiate(of.forward, of.x, of.forward(of.x), of.span)
    error = np.abs(slopes.value - of.truth)
    wrong = error > 0
    return Measures(
        of.off(slopes.value),
        float(np.mean(error <= slopes.error)),
        float(np.median(slopes.error[wrong] / error[wrong])),
        slopes.forwards,
    )


def measure() -> Report:
    """The tables of accuracy."""
    mpmath.mp.dps = 40
    samples = {name: sample(name) for name in SMOOTH}
    found = {name: our_measures(each) for name, each in samples.items()}
    swept = {(name, width): our_measures(sample(name, width, seed=2)) for name in SMOOTH for width in RANGE_FACTORS}
    return Report([_accuracy(samples, found), _honesty(found, swept)], _targets(found, swept))


def _accuracy(samples: dict[str, Sample], found: dict[str, Measures]) -> Table:
    rows = [_row(OUR_NAME, _mean(found), {n: f.off for n, f in found.items()})]
    for name, peer in PEERS.items():
        counted = {each: _counted(peer, samples[each]) for each in SMOOTH}
        spent = float(np.mean([forwards for _, forwards in counted.values()]))
        rows.append(_row(name, spent, {each: off for each, (off, _) in counted.items()}))
    note = (
        "max |error| / max |f'| over the range, 1001 jittered points, truth by mpmath with 40 digits. "
        "The last column is the largest of the row."
    )
    return Table("Accuracy of the numerical derivative", ("by", "forwards a point", *SMOOTH, "worst"), rows, note)


def _counted(peer: Callable[[Forward, Array], Array], of: Sample) -> tuple[float, float]:
    """The error of a peer, and how many forwards a point it took."""
    evaluations = 0

    def forward(x: Array) -> Array:
        nonlocal evaluations
        evaluations += np.size(x)
        return of.forward(x)

    with np.errstate(all="ignore"):
        off = of.off(peer(forward, of.x))
    return off, evaluations / COUNT


def _mean(found: dict[str, Measures]) -> float:
    return float(np.mean([each.forwards for each in found.values()]))


def _row(name: str, forwards: float, off: dict[str, float]) -> tuple[str, ...]:
    worst = max(off.values())
    return name, f"{forwards:.1f}", *(f"{each:.0e}" for each in off.values()), f"**{worst:.0e}**"


def _honesty(found: dict[str, Measures], swept: dict[tuple[str, float], Measures]) -> Table:
    rows = []
    for name, each in found.items():
        wide = [swept[name, width] for width in RANGE_FACTORS]
        rows.append(
            (
                name,
                f"{100 * each.covered:.1f} %",
                f"{each.bound_over_error:.0f}",
                f"{each.forwards:.2f}",
                f"{max(other.off for other in wide):.0e}",
                f"{100 * min(other.covered for other in wide):.1f} %",
            )
        )
    headings = (
        "function",
        "points within the bound",
        "median bound / error",
        "forwards a point",
        f"worst error, ranges × {RANGE_FACTORS[0]:g}…{RANGE_FACTORS[-1]:g}",
        "least within the bound",
    )
    return Table("The error bound, and other ranges of the same functions", headings, rows)


def _targets(found: dict[str, Measures], swept: dict[tuple[str, float], Measures]) -> list[Target]:
    worst = max(each.off for each in found.values())
    forwards = _mean(found)
    wide = max(each.off for each in swept.values())
    covered = min(each.covered for each in found.values())
    covered_wide = min(each.covered for each in swept.values())
    bound_over_error = max(each.bound_over_error for each in found.values())
    return [
        Target("smooth set: error at most 1e-12 of max f'", f"{worst:.0e}", worst <= 1e-12),
        Target("at most 8.5 forwards a point", f"{forwards:.2f}", forwards <= 8.5),
        Target("ranges × 0.1…3: error at most 5e-9", f"{wide:.0e}", wide <= 5e-9),
        Target("bound holds on at least 97 % of the points", f"{100 * covered:.1f} %", covered >= 0.97),
        Target("… 94 % in other ranges", f"{100 * covered_wide:.1f} %", covered_wide >= 0.94),
        Target("median bound / error at most 100", f"{bound_over_error:.0f}", bound_over_error <= 100),
    ]
