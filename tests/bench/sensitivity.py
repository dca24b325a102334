"""How small an error of a gradient each checker sees, and how much nearer to the truth ours looks than gradcheck."""

from __future__ import annotations

from collections.abc import Callable

import mpmath
import numpy as np
import torch
from accuracy import our_measures, sample
from functions.smooth import SMOOTH
from peer_derivatives import central
from report import Report, Table, Target
from support.sections import Written, look, op_of

COUNT = 200
DECADES = tuple(10.0**-k for k in range(14))
WRONG_ROW = 117
START, STOP = -1.0, 1.0

Backward = Callable[[torch.Tensor], torch.Tensor]
Checker = Callable[[Backward], bool]


def _checked(**options: float | bool) -> Checker:
    x = torch.linspace(START, STOP, COUNT, dtype=torch.float64, requires_grad=True)

    def accepts(derivative: Backward) -> bool:
        return torch.autograd.gradcheck(
            lambda t: Written.apply(t, torch.exp, derivative), (x,), raise_exception=False, **options
        )

    return accepts


def _judged(dtype: torch.dtype) -> Checker:
    def accepts(derivative: Backward) -> bool:
        op = op_of(lambda t: Written.apply(t, torch.exp, derivative))
        return look(op, START, STOP, COUNT, dtype=dtype)[1].word != "differs"

    return accepts


CHECKERS: dict[str, Checker] = {
    "gradcheck": _checked(),
    "gradcheck, fast mode": _checked(fast_mode=True),
    "gradcheck, atol = rtol = 1e-8": _checked(atol=1e-8, rtol=1e-8),
    "**Gradloupe**": _judged(torch.float64),
    "**Gradloupe** in float32": _judged(torch.float32),
}


def measure() -> Report:
    """The tables of sensitivity."""
    torch.set_num_threads(1)
    smallest = {
        name: (_least(accepts, _everywhere), _least(accepts, _at_one_point)) for name, accepts in CHECKERS.items()
    }
    rows = [(name, *map(_decade, least)) for name, least in smallest.items()]
    headings = ("checker", "wrong everywhere: seen from", f"wrong at 1 of {COUNT} points: seen from")
    note = f"exp with its backward multiplied by 1 + δ, {COUNT} points of [{START:g}, {STOP:g}], by decades of δ."
    at_one = smallest["**Gradloupe**"][1]
    targets = [
        Target(f"1e-11 seen at one point of {COUNT}", _decade(at_one), at_one is not None and at_one <= 1.01e-11)
    ]
    table, better = _nearer()
    targets.append(Target("at least 1000 × nearer than h = 1e-6", f"{better:.0f} ×", better >= 1000))
    return Report([Table("Sensitivity", headings, rows, note), table], targets)


def _everywhere(delta: float) -> Backward:
    return lambda x: torch.exp(x) * (1 + delta)


def _at_one_point(delta: float) -> Backward:
    place = float(np.linspace(START, STOP, COUNT)[WRONG_ROW])
    half = (STOP - START) / COUNT / 4
    return lambda x: torch.exp(x) * (1 + delta * ((x - place).abs() < half).to(x.dtype))


def _least(accepts: Checker, wrong_by: Callable[[float], Backward]) -> float | None:
    """The smallest decade from which on every error is seen."""
    least = None
    for delta in DECADES:
        if accepts(wrong_by(delta)):
            break
        least = delta
    return least


def _decade(least: float | None) -> str:
    return "not even 100 %" if least is None else f"{least:.0e}"


def _nearer() -> tuple[Table, float]:
    """The worst errors of gradcheck's difference and of ours on the smooth set, and how many times one is the other."""
    mpmath.mp.dps = 40
    samples = {name: sample(name) for name in SMOOTH}
    theirs = max(each.off(central(each.forward, each.x)) for each in samples.values())
    worst = max(our_measures(each).off for each in samples.values())
    row = (f"{theirs:.0e}", f"{worst:.0e}", f"**{theirs / worst:.0f}**")
    title = "The numerical derivative that the verdict rests on"
    note = "The worst error of the smooth set, as a share of the largest slope."
    return Table(title, ("central, h = 1e-6 (gradcheck)", "Gradloupe", "times nearer"), [row], note), theirs / worst
