from pathlib import Path

import pytest
from support.servers import serving

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
        return 2 * ctx.factor * x * grad_output, None


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
    (package_copy / "ops" / "newcomer.py").write_text(NEWCOMER)
    with serving(path=str(package_copy.parent), cwd=package_copy.parent) as server:
        server.wait_until_ready()
        assert 'href="/ops/newcomer"' in server.get("/").text
        page = server.get("/ops/newcomer").text
        assert "A parabola of its own" in page
        assert 'name="factor"' in page
        assert server.get("/ops/newcomer.json?factor=-2").json()["verdict"]["word"] == "matches"
