"""What the full verdict costs, against the least any program needs, and against gradcheck."""

from __future__ import annotations

from collections.abc import Callable

import torch
from report import Report, Table, Target
from speed import Case, cases, floor
from support.sections import section
from timing import Times, interleave

from gradloupe.server.numerics.curve.evaluate import evaluate
from gradloupe.server.numerics.sampling.grid import Grid
from gradloupe.server.numerics.verdict.verdict import judge

COUNT = 1000
DTYPES = {"float64": torch.float64, "float32": torch.float32}
MIN_FACTOR = 20


def measure() -> Report:
    """The table of the verdict's cost."""
    torch.set_num_threads(1)
    rows, targets = [], []
    for case in cases(COUNT):
        times = _times(case)
        sooner = times.ratio("gradcheck", "float64")
        rows.append(
            (
                case.name,
                f"{1e6 * times.median('floor'):.0f} µs",
                *(f"**{times.ratio(kind, 'floor'):.1f}** ({1e3 * times.median(kind):.2f} ms)" for kind in DTYPES),
                f"{1e3 * times.median('gradcheck'):.0f} ms",
                f"**{sooner:.0f}**",
            )
        )
        wanted = f"{case.name}, N = {COUNT}: at least {MIN_FACTOR} × faster than gradcheck"
        targets.append(Target(wanted, f"{sooner:.0f} ×", sooner >= MIN_FACTOR))
    headings = (
        "Function",
        "floor",
        "verdict / floor, float64",
        "verdict / floor, float32",
        "gradcheck, float64",
        "gradcheck / verdict",
    )
    note = (
        f"{COUNT} points. The floor is 1 forward with graph, 1 backward and 2 forwards of the bare Function; "
        "the verdict is all that the page needs to speak of a section."
    )
    return Report([Table("The cost of the full verdict", headings, rows, note)], targets)


def _times(case: Case) -> Times:
    grid = Grid(float(case.x[0]), float(case.x[-1]), case.x.size)
    leaf = torch.from_numpy(case.x).requires_grad_()
    candidates: dict[str, Callable[[], object]] = {"floor": floor(case)}
    for kind, dtype in DTYPES.items():
        candidates[kind] = _verdict(case, grid, dtype)
    candidates["gradcheck"] = lambda: torch.autograd.gradcheck(case.apply, (leaf,), raise_exception=False)
    return interleave(candidates, rounds=25, budget=12.0)


def _verdict(case: Case, grid: Grid, dtype: torch.dtype) -> Callable[[], object]:
    cut = section(case.op, dtype=dtype)
    return lambda: judge(evaluate(cut, grid))
