from typing import Any

import pytest
import torch
from support.answers import document
from support.sections import op_of

from gradloupe.ops import Input


class Steps(torch.autograd.Function):
    """Rounds x to steps of s, of which there are at most four to either side."""

    @staticmethod
    def forward(ctx: Any, x: Any, s: Any, passed: float, scale: float) -> Any:
        ctx.save_for_backward(x, s)
        ctx.passed, ctx.scale = passed, scale
        return (x / s).round().clamp(-4, 4) * s

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, s = ctx.saved_tensors
        steps = (x / s).round().clamp(-4, 4)
        inside = (x / s).abs() <= 4
        return g * inside, ctx.scale * g * (steps - ctx.passed * inside * x / s), None, None


@pytest.mark.parametrize(
    ("passed", "scale", "kind", "said"),
    [
        (1.0, 1.0, "learned step", "backward returns (y − x) / s everywhere"),
        (1.0, 0.25, "learned step", "backward returns 0.25 times (y − x) / s everywhere"),
        (1.1, 1.0, "unexplained", "No simple explanation was found"),
    ],
)
def test_what_is_rounded_passes_straight_through(passed: float, scale: float, kind: str, said: str) -> None:
    op = op_of(
        lambda x, s: Steps.apply(x, s, passed, scale), Input("x", value=0.7), Input("s", value=0.3, domain=(0.1, 2.0))
    )
    found = document(op, "curves", 0.1, 2.0, wrt="s")[0]["verdict"]["explanation"]
    assert found["kind"] == kind
    assert found["sentence"].startswith(said)
