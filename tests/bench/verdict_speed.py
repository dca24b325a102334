"""What the full verdict costs, against the least any program needs, and against gradcheck."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle

import numpy as np
import torch
from report import Report, Table, Target
from speed import Case, cases, floor
from support.sections import section
from timing import Times, interleave

from gradloupe.ops import OPS
from gradloupe.server.numerics.curve.evaluate import evaluate
from gradloupe.server.numerics.sampling.grid import Grid
from gradloupe.server.numerics.verdict.verdict import judge
from gradloupe.server.runtime.remembered import forget

from gelu import op as gelu  # isort: skip

COUNT, ZOOMS = 1000, 16
DTYPES = {"float64": torch.float64, "float32": torch.float32}
MIN_FACTOR = 20
# How many times the floor a verdict may cost: of a smooth Function, of one with kinks, and of a surrogate by the sign.
MOST, MOST_WITH_KINKS, MOST_BY_SIGN = 18, 27, 45


def measure() -> Report:
    """The table of the verdict's cost."""
    torch.set_num_threads(1)
    rows, targets = [], []
    for case in (*cases(COUNT), by_sign()):
        times = _times(case)
        sooner, cost = times.ratio("gradcheck", "float64"), times.ratio("float64", "floor")
        again = times.ratio("zoom", "floor")
        rows.append(
            (
                case.name,
                f"{1e6 * times.median('floor'):.0f} µs",
                *(
                    f"**{times.ratio(kind, 'floor'):.1f}** ({1e3 * times.median(kind):.2f} ms)"
                    for kind in (*DTYPES, "zoom")
                ),
                f"{1e3 * times.median('gradcheck'):.0f} ms",
                f"**{sooner:.0f}**",
            )
        )
        most = MOST_BY_SIGN if case.op.follows_sign else MOST if case.op is gelu else MOST_WITH_KINKS
        targets.append(Target(f"{case.name}: at most {most} × the floor", f"{cost:.1f} ×", cost <= most))
        targets.append(Target(f"{case.name}: a zoom at most {most / 2:g} ×", f"{again:.1f} ×", again <= most / 2))
        if not case.op.surrogate:  # of which gradcheck says no at its first point
            wanted = f"{case.name}: at least {MIN_FACTOR} × faster than gradcheck"
            targets.append(Target(wanted, f"{sooner:.0f} ×", sooner >= MIN_FACTOR))
    headings = (
        "Function",
        "floor",
        "verdict / floor, float64",
        "verdict / floor, float32",
        "zoom / floor, float64",
        "gradcheck, float64",
        "gradcheck / verdict",
    )
    note = (
        f"{COUNT} points. The floor is 1 forward with graph, 1 backward and 2 forwards of the bare Function; "
        "the verdict is all that the page needs to speak of a section, with nothing remembered of the Function; "
        "a zoom is one on another range each time, where what does not depend on the range is."
    )
    return Report([Table("The cost of the full verdict", headings, rows, note)], targets)


def by_sign() -> Case:
    """A clamp that lets the gradient back in, which depends on the sign of grad_output."""
    return Case("ClampWithGrad, a surrogate by the sign", OPS["clamp_with_grad"], np.linspace(-4, 4, COUNT))


def _times(case: Case) -> Times:
    grid = Grid(float(case.x[0]), float(case.x[-1]), case.x.size)
    leaf = torch.from_numpy(case.x).requires_grad_()
    candidates: dict[str, Callable[[], object]] = {"floor": floor(case)}
    for kind, dtype in DTYPES.items():
        candidates[kind] = _verdict(case, grid, dtype)
    candidates["zoom"] = _zoom(case, grid)
    candidates["gradcheck"] = lambda: torch.autograd.gradcheck(case.apply, (leaf,), raise_exception=False)
    return interleave(candidates, rounds=25, budget=12.0)


def _verdict(case: Case, grid: Grid, dtype: torch.dtype) -> Callable[[], object]:
    cut = section(case.op, dtype=dtype)

    def run() -> None:
        forget()
        judge(evaluate(cut, grid))

    return run


def _zoom(case: Case, grid: Grid) -> Callable[[], object]:
    cut, share = section(case.op), cycle(np.linspace(0.8, 0.9, ZOOMS))

    def run() -> None:
        factor = next(share)
        judge(evaluate(cut, Grid(factor * grid.start, factor * grid.stop, grid.count)))

    return run
