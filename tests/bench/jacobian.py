"""How long whole Jacobians take, numerical and returned, against functional.jacobian and gradcheck; their memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from report import Report, Table, Target
from support.sections import op_of, section
from timing import Times, interleave

from gradloupe.ops import OPS, Input, Op
from gradloupe.server.numerics.differentiation.map_slopes import BasePoint
from gradloupe.server.numerics.jacobian.cell_status import judge_jacobian_cells
from gradloupe.server.numerics.jacobian.jacobian import jacobian
from gradloupe.server.numerics.jacobian.scan import JacobianScan, ScanResult, returned_rows
from gradloupe.server.numerics.tolerance import USUAL
from gradloupe.server.runtime.arrays import Array
from gradloupe.server.runtime.batching import batched_rows
from gradloupe.server.runtime.section import Section

SPAN, STEP = 6.0, 1e-5
# Least factors over gradcheck.
MIN_FACTOR, MIN_FACTOR_OF_KILL_HEAD = 5.0, 20.0
TIME_LIMIT = 60.0  # seconds that a look over all cells may take here
MIB = 2.0**20


class Affine(torch.autograd.Function):
    """A linear layer as the tutorial writes it, with matrix products."""

    @staticmethod
    def forward(ctx, input, weight, bias):
        ctx.save_for_backward(input, weight)
        return input.mm(weight.t()) + bias

    @staticmethod
    def backward(ctx, grad_output):
        input, weight = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_input, grad_weight, grad_bias


def scan(copies: Section) -> ScanResult | None:
    """The look over all cells."""
    return JacobianScan(copies, 1.0, (str, str), USUAL).against(copies, SPAN, TIME_LIMIT)


@dataclass(frozen=True)
class Case:
    """A Function of several elements, the first input of which is looked at."""

    name: str
    op: Op

    @cached_property
    def copies(self) -> Section:
        """As many copies stacked as it bears, which is found once."""
        return batched_rows(section(self.op), SPAN)

    @cached_property
    def tensors(self) -> list[torch.Tensor]:
        """The inputs with nothing of ours around them; the first is differentiated."""
        held = [torch.tensor(each.values, dtype=torch.float64).reshape(each.shape) for each in self.op.inputs]
        return [held[0].requires_grad_(), *held[1:]]

    def apply(self, x: torch.Tensor) -> torch.Tensor:
        """The Function as a function of that input alone."""
        result: torch.Tensor = self.op(x, *self.tensors[1:], *(each.default for each in self.op.parameters))
        return result

    def thorough(self) -> None:
        """Every cell by the whole ladder, with an error bound and a status."""
        copies = self.copies
        rows, columns = np.arange(copies.size), np.arange(copies.here.size)
        (returned, _), ground = returned_rows(copies, rows, 1.0), BasePoint.of(copies, SPAN)
        assert returned is not None
        judge_jacobian_cells(ground, rows, columns, returned.ravel(), USUAL)

    def both(self) -> tuple[Array, Array | None]:
        """Both Jacobians: a central difference a column, as gradcheck takes, and what backward returns for each row."""
        copies = self.copies
        returned, _ = returned_rows(copies, np.arange(copies.size), 1.0)
        ground, columns = BasePoint.plain(copies, SPAN), np.arange(copies.here.size)
        above, below = copies.here + STEP * SPAN, copies.here - STEP * SPAN
        values = ground.moved(np.tile(columns, 2), np.concatenate((above, below)), np.arange(copies.size))
        numerical = (values[: columns.size] - values[columns.size :]).T / (above - below)
        return numerical, returned

    def quick(self) -> None:
        """Every row along random lines, and all cells of those that are suspect."""
        found = scan(self.copies)
        assert found is not None
        assert (found.judged, found.differs) == (found.cells, 0)


def cases() -> list[Case]:
    """The three of the performance study."""
    draw = np.random.default_rng(0)

    def normal(name: str, *shape: int) -> Input:
        return Input(name, shape=shape, value=tuple(draw.standard_normal(shape).ravel().tolist()))

    weight = torch.from_numpy(draw.standard_normal((256, 256)) / 16)
    linear = (normal("input", 32, 64), normal("weight", 16, 64), normal("bias", 16))
    return [
        Case("KillHead, 24 → 24", OPS["kill_head"]),
        Case("linear layer, 2048 → 512", op_of(Affine.apply, *linear)),
        Case("tanh(xW), 256 → 256", op_of(lambda x: torch.tanh(x @ weight), normal("x", 1, 256))),
    ]


def measure() -> Report:
    """The tables of times and of memory."""
    torch.set_num_threads(1)
    rows, targets = [], []
    for case in cases():
        numerical, returned = case.both()
        assert np.allclose(numerical, returned, rtol=1e-6, atol=1e-6)
        times = _times(case)
        rows.append(_row(case, times))
        targets.append(_target(case, times))
    headings = (
        *("Function", "both Jacobians", "functional.jacobian", "gradcheck", "gradcheck / **both Jacobians**"),
        *("/ judged", "all that the page is sent"),
    )
    note = (
        "*Both Jacobians* are numerical, by one central difference a column as in gradcheck, and returned, without a "
        "loop wherever the Function bears it; *functional.jacobian* is the returned one alone. *Judged* has an error "
        "bound for each cell, or for each row where the Jacobian is larger than a picture, and names what differs."
    )
    table = Table("Jacobians", headings, rows, note)
    memory, met = _memory()
    return Report([table, memory], [*targets, *met])


def _times(case: Case) -> Times:
    x = case.tensors[0]
    candidates: dict[str, Callable[[], object]] = {
        "both": case.both,
        "judged": case.thorough if case.copies.size <= 64 else case.quick,
        "jacobian": lambda: torch.autograd.functional.jacobian(case.apply, x),
        "gradcheck": lambda: torch.autograd.gradcheck(case.apply, (x,)),
        "block": lambda: jacobian(section(case.op), SPAN),
    }
    return interleave(candidates, rounds=30, budget=20.0)


def _row(case: Case, times: Times) -> tuple[str, ...]:
    texts = [f"{1e3 * times.median(name):.2f} ms" for name in ("both", "jacobian", "gradcheck", "block")]
    ratios = [times.ratio("gradcheck", name) for name in ("both", "judged")]
    return case.name, *texts[:3], f"**{ratios[0]:.1f}**", f"{ratios[1]:.1f}", texts[3]


def _target(case: Case, times: Times) -> Target:
    least = MIN_FACTOR_OF_KILL_HEAD if case.op is OPS["kill_head"] else MIN_FACTOR
    ratio = times.ratio("gradcheck", "both")
    wanted = f"{case.name}: numerical and returned at least {least:g} × faster than gradcheck"
    return Target(wanted, f"{ratio:.1f} ×", ratio >= least)


def _memory() -> tuple[Table, list[Target]]:
    rows, targets = [], []
    for case in cases()[1:]:
        size = case.copies.size * case.copies.here.size * 8 / MIB
        found = {name: _peak(case.name, name) for name in ("quick", "jacobian", "gradcheck")}
        rows.append((case.name, f"{size:.1f} MiB", *(f"{each:.0f} MiB" for each in found.values())))
        allowed = 3 * size + 32
        wanted = f"{case.name}: peak memory at most 3 × the Jacobian + 32 MiB, {allowed:.0f} MiB"
        targets.append(Target(wanted, f"{found['quick']:.0f} MiB", found["quick"] <= allowed))
    headings = ("Function", "one Jacobian", "**ours**", "functional.jacobian", "gradcheck")
    return Table("Memory at the peak", headings, rows, "Above what the process had before, each in its own."), targets


def _peak(case: str, what: str) -> float:
    """MiB by which a process of its own grew."""
    command = [sys.executable, __file__, case, what]
    folders = {"PYTHONPATH": ":".join(map(str, (Path(__file__).parent, Path(__file__).parents[1])))}
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | folders)
    return float(json.loads(ran.stdout))


def _grown(case: Case, what: str) -> float:
    """MiB by which this process grows: one small call of everything first, then this."""
    small, x = cases()[0], case.tensors[0]
    calls: dict[str, Callable[[Case], object]] = {
        "quick": lambda each: scan(each.copies),
        "jacobian": lambda each: torch.autograd.functional.jacobian(each.apply, each.tensors[0]),
        "gradcheck": lambda each: torch.autograd.gradcheck(each.apply, (each.tensors[0],)),
    }
    calls[what](small)
    case.apply(x).sum().backward()
    assert case.copies.size
    Path("/proc/self/clear_refs").write_text("5")  # the peak is what it is now
    before = _peak_of_this_process()
    calls[what](case)
    return _peak_of_this_process() - before


def _peak_of_this_process() -> float:
    """The peak of this process in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps(_grown(next(each for each in cases() if each.name == sys.argv[1]), sys.argv[2])))
