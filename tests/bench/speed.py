"""How long y, both gradients and the error bound take, against the least any program needs, and against peers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from peer_derivatives import PEERS, Array
from report import Report, Table, Target
from support.sections import section
from timing import Times, interleave

from gradloupe.ops import OPS, Op
from gradloupe.server.numerics.curve.evaluate import evaluate
from gradloupe.server.numerics.differentiation.finite_differences import Slopes, differentiate
from gradloupe.server.numerics.sampling.grid import Grid
from gradloupe.server.numerics.verdict.verdict import judge
from gradloupe.server.runtime.batching import batched_section

from gelu import op as gelu  # isort: skip

SPAN = 8.0
COUNTS = (200, 1000, 10_000)


@dataclass(frozen=True)
class Case:
    """A Function on a grid."""

    name: str
    op: Op
    x: Array

    def apply(self, x: torch.Tensor) -> torch.Tensor:
        """The Function itself, with nothing of ours around it."""
        return self.op(x, *(each.default for each in self.op.parameters))

    def bare(self, x: Array) -> Array:
        """Its forward, of arrays."""
        with torch.no_grad():
            return self.apply(torch.from_numpy(x)).numpy()


def cases(count: int) -> list[Case]:
    """GELU, and ClippedReLU with its kinks in the middle between two points and on them."""
    clipped = OPS["clipped_relu"]
    cell = SPAN / count
    steps = np.arange(count) - count // 2
    return [
        Case("GELU", gelu, np.linspace(-4, 4, count)),
        Case("ClippedReLU, kinks between points", clipped, (steps + 0.5) * cell),
        Case("ClippedReLU, kinks on points", clipped, np.round(steps * cell, 9)),
    ]


def measure() -> Report:
    """The tables of speed."""
    torch.set_num_threads(1)
    rows, targets = [], []
    for count in COUNTS:
        for case in cases(count):
            found, times = _slopes(case), _times(case)
            rows.append(_row(case, count, found, times))
            if count == 1000:
                targets += _targets(case, found, times)
    headings = (
        "N",
        "Function",
        "floor",
        "backward + 8 forwards",
        "**differentiate**",
        "unsettled points",
        "evaluate",
        "evaluate and judge",
    )
    note = (
        "Times the floor: 1 forward with graph, 1 backward, 2 forwards of the bare Function, nothing else. "
        "*differentiate* is y, the analytical and the numerical gradient, error bound and status of every point; "
        "*evaluate* also finds the kinks between the points and looks twice at lone contradictions."
    )
    return Report([Table("Speed", headings, rows, note), _against_peers()], targets)


def _row(case: Case, count: int, found: Slopes, times: Times) -> tuple[str, ...]:
    settled_twice = round((found.forwards - 8) * count - _probes(count)) // 14
    ratios = [f"{times.ratio(name, 'floor'):.1f}" for name in ("limit", "differentiate", "evaluate", "judge")]
    ratios[1] = f"**{ratios[1]}** ({1e6 * times.median('differentiate'):.0f} µs)"
    return (
        str(count),
        case.name,
        f"{1e6 * times.median('floor'):.0f} µs",
        *ratios[:2],
        str(settled_twice),
        *ratios[2:],
    )


def _targets(case: Case, found: Slopes, times: Times) -> list[Target]:
    unsettled = found.forwards * case.x.size > 8 * case.x.size + _probes(case.x.size) + 1
    most = 3.2 if case.op is gelu else 10.0 if unsettled else 5.5
    ratio = times.ratio("differentiate", "floor")
    over = 1e6 * (times.median("differentiate") - times.median("limit"))
    allowed = 80 + 0.17 * case.x.size + 200 * unsettled
    return [
        Target(f"{case.name}, N = 1000: at most {most:g} × floor", f"{ratio:.2f}", ratio <= most),
        Target(
            f"{case.name}: at most {allowed:.0f} µs over backward + 8 forwards",
            f"{over:.0f} µs",
            over <= allowed,
        ),
    ]


def _probes(count: int) -> int:
    return 7 * min(24, count)


def _slopes(case: Case) -> Slopes:
    cut = batched_section(section(case.op), case.x)
    return differentiate(cut.forward, case.x, cut.forward(case.x), SPAN)


def _times(case: Case) -> Times:
    cut, x = batched_section(section(case.op), case.x), case.x
    eightfold, grid = np.tile(x, 8), Grid(float(x[0]), float(x[-1]), x.size)

    def limit() -> None:
        cut.backward(x, 1.0)
        cut.forward(eightfold)

    def differentiated() -> None:
        returned = cut.backward(x, 1.0)
        differentiate(cut.forward, x, returned.values, SPAN)

    return interleave(
        {
            "floor": floor(case),
            "limit": limit,
            "differentiate": differentiated,
            "evaluate": lambda: evaluate(cut, grid),
            "judge": lambda: judge(evaluate(cut, grid)),
        },
        rounds=300,
        budget=4.0,
    )


def floor(case: Case) -> Callable[[], None]:
    """The least there is to do for y, the analytical gradient, and a numerical one by a single difference."""
    at = torch.from_numpy(case.x)
    ones, above, below = torch.ones_like(at), at + 1e-6, at - 1e-6

    def run() -> None:
        x = at.detach().requires_grad_()
        torch.autograd.grad(case.apply(x), x, ones)
        with torch.no_grad():
            case.apply(above)
            case.apply(below)

    return run


def _against_peers() -> Table:
    case = cases(1000)[0]
    cut = batched_section(section(case.op), case.x)
    y = case.bare(case.x)
    candidates: dict[str, Callable[[], object]] = {
        "floor": floor(case),
        "**Gradloupe** (slope, error bound, status)": lambda: differentiate(cut.forward, case.x, y, SPAN),
    }
    for name, peer in PEERS.items():
        candidates[name] = lambda peer=peer: peer(case.bare, case.x)
    times = interleave(candidates, budget=6.0)
    rows = [
        (name, f"{times.ratio(name, 'floor'):.2f}", f"{1e6 * times.median(name):.0f} µs")
        for name in candidates
        if name != "floor"
    ]
    return Table(
        "The numerical derivative alone, GELU, N = 1000", ("by", "× floor", "for orientation"), rows, "Times the floor."
    )
