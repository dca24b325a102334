"""An op that is declared is called in other ways, too, within what its declaration says."""

from typing import Any

import pytest
from support.sampling import sampled
from support.sections import section
from support.written_functions import formula, function_of

from gradloupe.ops import OPS, Input, Op, Parameter
from gradloupe.server.contract import CheckRow
from gradloupe.server.other_calls.check import other_calls_rows

# Right for its default alone.
POWER = """
    def forward(ctx, x, p):
        assert 1 <= p <= 4, "from 1 to 4"
        ctx.save_for_backward(x)
        return x**p
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0], None
"""
# Right for a vector, and for a matrix whose rows are as many as its columns.
SCALED_BY_ROWS = formula("x", "x.sin()", "g * x.cos() / (1 if x.dim() < 2 else x.shape[1] / x.shape[0])")
# A difference whose step float16 cannot see.
BY_SMALL_STEPS = formula(
    "x", "x.sin()", "g * ((x + 1e-4).sin() - (x - 1e-4).sin()) / 2e-4 if x.dtype != torch.float64 else g * x.cos()"
)
# Its own rule for vmap takes it that the batch comes first.
NORMALIZED = """
    def forward(x):
        return x * x.sum(-1, keepdim=True)
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.sum(-1, keepdim=True) + (g * x).sum(-1, keepdim=True)
    def vmap(info, in_dims, x):
        return Own.apply(x), 0
"""
NORMALIZED_ANYWHERE = NORMALIZED.replace("Own.apply(x)", "Own.apply(x.movedim(in_dims[0], 0))")
SQUARE = Input("x", shape=(4, 4), value=tuple(0.1 * place for place in range(16)))
NUMBER = Input("x", domain=(0.5, 2.0))


def declared(methods: str, given: Input = NUMBER, *parameters: Parameter, **words: Any) -> Op:
    return Op(function_of(methods), "a test", "tests", "", "", (given,), parameters, **words)


def row_of(op: Op) -> CheckRow:
    (row,) = other_calls_rows(section(op))
    return row


@pytest.mark.parametrize(
    ("op", "changed"),
    [
        (declared(POWER, NUMBER, Parameter("p", 2, 1, 4, kind="int")), "p = 3"),
        (declared(SCALED_BY_ROWS), "x of shape (2, 4)"),
        (declared(BY_SMALL_STEPS), "float16"),
        (declared(NORMALIZED, SQUARE), "torch.func.vmap over dimension 1"),
    ],
)
def test_a_fault_that_the_declared_call_hides_is_shown_by_another(op: Op, changed: str) -> None:
    row = row_of(op)
    assert row.level == "error"
    assert row.seen.startswith(f"Called with {changed}, for ")


@pytest.mark.parametrize(
    ("op", "kept"),
    [
        (declared(SCALED_BY_ROWS, SQUARE), "shape"),
        (declared(POWER, NUMBER, Parameter("p", 2, 2, 2, kind="int")), "p ="),
        (OPS["softmax"], "vmap"),  # which it does not claim
    ],
)
def test_what_a_declaration_leaves_no_room_for_is_not_tried(op: Op, kept: str) -> None:
    row = row_of(op)
    assert row.level == "fine"
    assert kept not in row.seen


def test_a_rule_for_vmap_that_heeds_the_dimension_is_right() -> None:
    row = row_of(declared(NORMALIZED_ANYWHERE, SQUARE))
    assert row.level == "fine"
    assert "torch.func.vmap over dimension 1" in row.seen


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
