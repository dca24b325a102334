"""A file dropped into ops/: gallery, page, controls, API and tests pick it up, and no other file is touched."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.servers import HERE, serving

pytestmark = pytest.mark.release

NEWCOMER = '''import torch

from .op import Input, Op, Parameter


class Newcomer(torch.autograd.Function):
    """A parabola of its own."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return factor * x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return {slope} * ctx.factor * x * grad_output, None


op = Op(
    function=Newcomer,
    title="Newcomer",
    group="Newcomers",
    forward=r"y = k x^2",
    backward=r"2 k x",
    inputs=(Input("x"),),
    parameters=(Parameter("factor", 1.0, -3.0, 3.0),),
    reference="written by a test",
)
'''


def test_a_file_dropped_into_ops_appears_in_gallery_page_and_api(package_copy: Path) -> None:
    (package_copy / "ops" / "newcomer.py").write_text(NEWCOMER.format(slope=2))
    with serving(path=str(package_copy.parent), cwd=package_copy.parent) as server:
        server.wait_until_ready()
        assert 'href="/ops/newcomer"' in server.get("/").text
        page = server.get("/ops/newcomer").text
        assert "A parabola of its own" in page
        assert 'name="factor"' in page
        assert server.get("/ops/newcomer.json?factor=-2").json()["verdict"]["word"] == "matches"


@pytest.mark.nightly
def test_a_file_dropped_into_ops_is_judged_by_the_tests(package_copy: Path) -> None:
    (package_copy / "ops" / "right_newcomer.py").write_text(NEWCOMER.format(slope=2))
    (package_copy / "ops" / "wrong_newcomer.py").write_text(NEWCOMER.format(slope=3))
    options = "-p no:cacheprovider -q -rA -k newcomer tests/ops/test_claims.py"
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options.split()],
        cwd=HERE,
        env=os.environ | {"PYTHONPATH": str(package_copy.parent)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    found = re.findall(
        r"^(PASSED|FAILED) tests/([\w/]+)\.py::(\w+)\[.*?(right|wrong)_newcomer", ran.stdout, re.MULTILINE
    )
    assert {outcome for outcome, *_, op in found if op == "right"} == {"PASSED"}, ran.stdout
    assert {file for _, file, _, op in found if op == "right"} == {"ops/test_claims"}
    judged = "test_the_measured_verdict_and_the_contract_are_as_the_op_claims"
    assert {outcome for outcome, _, test, op in found if (test, op) == (judged, "wrong")} == {"FAILED"}
