"""How much sooner there are curves than gradcheck says yes, in process and over HTTP."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from client import Client
from report import Report, Table, Target
from speed import SPAN, Case, cases
from support.sections import section
from support.servers import Server, copy_of_the_package, serving
from timing import Times, interleave

from gradloupe.server.numerics.curve.evaluate import evaluate
from gradloupe.server.numerics.differentiation.finite_differences import differentiate
from gradloupe.server.numerics.sampling.grid import Grid
from gradloupe.server.numerics.verdict.verdict import judge
from gradloupe.server.runtime.batching import batched_section

COUNTS = (200, 1000)
MIN_FACTOR = {200: 40, 1000: 200}
MIN_REQUEST_FACTOR = 40


def measure() -> Report:
    """The table of gradcheck's time over ours."""
    torch.set_num_threads(1)
    rows, targets = [], []
    with _server() as server, closing(Client(server.url, server.process.pid)) as client:
        for count in COUNTS:
            for case in cases(count)[:2]:
                times = _times(case, client)
                rows.append(_row(case, count, times))
                targets += _targets(case, count, times)
    headings = (
        "N",
        "Function",
        "gradcheck",
        "gradcheck / **differentiate**",
        "/ evaluate and judge",
        "/ whole HTTP request",
    )
    note = "gradcheck with its defaults, on points where it passes; it answers yes or no, Gradloupe with curves."
    return Report([Table("Against gradcheck", headings, rows, note)], targets)


@contextmanager
def _server() -> Iterator[Server]:
    """A server whose gallery has the GELU that is measured here."""
    with TemporaryDirectory() as folder:
        package = copy_of_the_package(Path(folder))
        shutil.copy(Path(__file__).with_name("gelu.py"), package / "ops")
        with serving(path=folder, cwd=Path(folder)) as server:
            server.wait_until_ready()
            yield server


def _times(case: Case, client: Client) -> Times:
    cut, x = batched_section(section(case.op), case.x), case.x
    grid = Grid(float(x[0]), float(x[-1]), x.size)
    leaf = torch.from_numpy(x).requires_grad_()

    def differentiated() -> None:
        returned = cut.backward(x, 1.0)
        differentiate(cut.forward, x, returned.values, SPAN)

    candidates: dict[str, Callable[[], object]] = {
        "gradcheck": lambda: torch.autograd.gradcheck(case.apply, (leaf,)),
        "differentiate": differentiated,
        "judge": lambda: judge(evaluate(cut, grid)),
        "request": lambda: _asked(client, case.op.name or "gelu", x.size),
    }
    return interleave(candidates, rounds=25, budget=12.0)


def _asked(client: Client, op: str, count: int) -> None:
    if client.fresh(op, count).status != 200:
        raise RuntimeError(f"/ops/{op}.json did not answer")


def _row(case: Case, count: int, times: Times) -> tuple[str, ...]:
    sooner = [times.ratio("gradcheck", name) for name in ("differentiate", "judge", "request")]
    absolute = f"{1e3 * times.median('gradcheck'):.0f} ms"
    return str(count), case.name, absolute, f"**{sooner[0]:.0f}**", *(f"{each:.0f}" for each in sooner[1:])


def _targets(case: Case, count: int, times: Times) -> list[Target]:
    sooner, request = times.ratio("gradcheck", "differentiate"), times.ratio("gradcheck", "request")
    least = MIN_FACTOR[count]
    wanted = f"{case.name}, N = {count}: at least {least} × faster than gradcheck"
    targets = [Target(wanted, f"{sooner:.0f} ×", sooner >= least)]
    if count == 1000:
        wanted = f"{case.name}, N = {count}: the whole HTTP request at least {MIN_REQUEST_FACTOR} ×"
        targets.append(Target(wanted, f"{request:.0f} ×", request >= MIN_REQUEST_FACTOR))
    return targets
