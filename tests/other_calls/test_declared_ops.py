"""An op that is declared is called in other ways, too, within what its declaration says."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from support.sampling import sampled
from support.sections import section
from torch.autograd import Function

from gradloupe.ops import OPS, Input, Op, Parameter
from gradloupe.server.contract.xray import CheckRow
from gradloupe.server.other_calls.check import other_calls_rows


class Power(Function):
    """Right for its default alone."""

    @staticmethod
    def forward(ctx: Any, x: Any, p: Any) -> Any:
        assert 1 <= p <= 4, "from 1 to 4"
        ctx.save_for_backward(x)
        return x**p

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * g * ctx.saved_tensors[0], None


class ScaledByRows(Function):
    """Right for a vector, and for a matrix whose rows are as many as its columns."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * x.cos() / (1 if x.dim() < 2 else x.shape[1] / x.shape[0])


class BySmallSteps(Function):
    """A difference whose step float16 cannot see."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * ((x + 1e-4).sin() - (x - 1e-4).sin()) / 2e-4 if x.dtype != torch.float64 else g * x.cos()


class Normalized(Function):
    """Its own rule for vmap takes it that the batch comes first."""

    @staticmethod
    def forward(x: Any) -> Any:
        return x * x.sum(-1, keepdim=True)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * x.sum(-1, keepdim=True) + (g * x).sum(-1, keepdim=True)

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any) -> Any:
        return Normalized.apply(x), 0


class NormalizedAnywhere(Normalized):
    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any) -> Any:
        return NormalizedAnywhere.apply(x.movedim(in_dims[0], 0)), 0


def declared(function: Any, *inputs: Input, parameters: tuple[Parameter, ...] = (), **words: Any) -> Op:
    return Op(function, "a test", "tests", "", "", inputs or (Input("x", domain=(0.5, 2.0)),), parameters, **words)


def row_of(op: Op) -> CheckRow:
    (row,) = other_calls_rows(section(op))
    return row


SQUARE = Input("x", shape=(4, 4), value=tuple(0.1 * each for each in range(16)))
P = Parameter("p", 2, 1, 4, kind="int")


@pytest.mark.parametrize(
    ("op", "changed"),
    [
        (declared(Power, parameters=(P,)), "p = 3"),
        (declared(ScaledByRows), "x of shape (2, 4)"),
        (declared(BySmallSteps), "float16"),
        (declared(Normalized, SQUARE), "torch.func.vmap over dimension 1"),
    ],
)
def test_a_fault_that_the_declared_call_hides_is_shown_by_another(op: Op, changed: str) -> None:
    row = row_of(op)
    assert row.level == "error"
    assert row.seen.startswith(f"Called with {changed}, for ")


def test_a_shape_that_is_declared_is_law() -> None:
    row = row_of(declared(ScaledByRows, SQUARE))
    assert row.level == "fine"
    assert "shape" not in row.seen


def test_a_parameter_stays_within_its_bounds() -> None:
    only = Parameter("p", 2, 2, 2, kind="int")
    row = row_of(declared(Power, parameters=(only,)))
    assert row.level == "fine"
    assert "p =" not in row.seen


def test_a_rule_for_vmap_that_heeds_the_dimension_is_right() -> None:
    row = row_of(declared(NormalizedAnywhere, SQUARE))
    assert row.level == "fine"
    assert "torch.func.vmap over dimension 1" in row.seen


def test_vmap_is_asked_only_where_it_is_claimed() -> None:
    assert "vmap" not in row_of(OPS["softmax"]).seen


@pytest.mark.parametrize(
    "name", sampled(name for name, op in OPS.items() if op.claim != "broken" and not op.follows_sign)
)
def test_no_op_of_the_gallery_is_accused(name: str) -> None:
    row = row_of(OPS[name])
    assert row.level == "fine", row.seen
    assert "float16" in row.seen


@pytest.mark.parametrize("name", sampled(name for name, op in OPS.items() if op.claim == "broken"))
def test_a_specimen_has_no_other_calls(name: str) -> None:
    assert other_calls_rows(section(OPS[name])) == ()
