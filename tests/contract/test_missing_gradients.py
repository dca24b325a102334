"""None for an input that moves the outputs: told as a difference, unless it is declared constant, or data."""

from typing import Any

import pytest
from functions.basics import SquaredError
from support.written_functions import formula, function_of

import gradloupe

PRODUCT = """
    def forward(ctx, u, v):
        ctx.save_for_backward(u, v)
        return u * v
    def backward(ctx, g):
        return g * ctx.saved_tensors[1], None
"""
Product = function_of(PRODUCT)
DECLARED_BY_ANNOTATION = PRODUCT.replace("u, v)", "u, v: \"Annotated[torch.Tensor, 'not differentiable']\")", 1)
ONLY_WHERE_ASKED = PRODUCT.replace("1], None", "1] if ctx.needs_input_grad[0] else None, None")
# Right where a gradient is asked for both, and None for u where v asks for none.
ONLY_TOGETHER = PRODUCT.replace(
    "g * ctx.saved_tensors[1], None",
    "(g * ctx.saved_tensors[1], g * ctx.saved_tensors[0]) if ctx.needs_input_grad[1] else (None, None)",
)
# By a mean that runs along.
CENTRED = """
    def forward(ctx, x, state):
        state.mul_(0.9).add_(0.1 * x.mean(0).detach())
        ctx.save_for_backward(state)
        return x - state.clone()
    def backward(ctx, g):
        ctx.saved_tensors
        return g - 0.1 * g.sum(0) / g.shape[0], None
"""
# The scale may be a number.
QUANTISED = """
    def forward(ctx, x, scale):
        ctx.scale = scale
        return (x / scale).tanh() * scale
"""
NOTHING = formula("x, w", "x @ w.t()", "None, None")
# What requires grad is refused aloud.
REFUSING = """
    def forward(ctx, x, v):
        if v.requires_grad:
            raise ValueError("v has to be data")
        ctx.save_for_backward(v)
        return x * v
    def backward(ctx, g):
        return g * ctx.saved_tensors[0], None
"""


def nones(found: Any) -> list[str]:
    """How gravely a missing gradient is told, of each input."""
    return [each.level for each in found.findings if each.id == "GRAD-NONE" and each.level in ("error", "warning")]


@pytest.mark.parametrize("function", [Product, function_of(ONLY_WHERE_ASKED)])
def test_a_missing_gradient_is_told(function: Any) -> None:
    found = gradloupe.check(function)
    assert (found.word, found.ok, nones(found)) == ("differs", False, ["error"])
    (seen,) = [each.seen for each in found.findings if each.id == "GRAD-NONE"]
    assert seen.startswith("v is treated as a constant")


def test_a_gradient_that_is_missing_where_it_is_asked_for_alone_is_told_as_that() -> None:
    found = gradloupe.check(function_of(ONLY_TOGETHER))
    assert [each.word for each in found.sweeps] == ["matches", "matches"]
    assert found.word == "differs"
    assert "called with a gradient for u alone, for u[" in found.sentence


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ("Weighs u. The weights v are constants.", "matches"),
        ("The gain v comes from elsewhere and is treated\n    as a constant.", "matches"),
        ("Args:\n    u: the input\n    v (Tensor): weights, no gradient", "matches"),
        ("No gradient for v.", "matches"),
        ("Multiplies u by v and adds a constant.", "differs"),
        ("u is a constant times v, which is not constant.", "differs"),
        ("u is weighed by v; a constant is added.", "differs"),
    ],
)
def test_a_docstring_declares_a_constant_where_it_says_so_of_the_argument(said: str, word: str) -> None:
    assert gradloupe.check(type("Weighed", (Product,), {"__doc__": said})).word == word


def test_a_missing_gradient_that_is_declared_is_not_told() -> None:
    for found in (
        gradloupe.check(function_of(DECLARED_BY_ANNOTATION)),
        gradloupe.check(Product, "u: float64[7]; v: float64[7] nograd"),
    ):
        assert (found.word, nones(found)) == ("matches", [])


def test_a_target_without_a_gradient_is_a_warning() -> None:
    found = gradloupe.check(SquaredError)
    assert (found.word, found.ok, nones(found)) == ("matches", True, ["warning"])
    assert nones(gradloupe.check(SquaredError, "x: float64[7]; target: float64[7] nograd")) == []


def test_what_forward_overwrites_is_state_and_no_input() -> None:
    found = gradloupe.check(function_of(CENTRED))
    assert (found.recipe.endswith("nograd"), nones(found)) == (True, ["warning"])


def test_what_is_refused_aloud_where_it_requires_grad_is_not_missed() -> None:
    found = gradloupe.check(function_of(REFUSING))
    assert (found.word, nones(found)) == ("matches", [])


def test_a_scale_that_may_be_a_number_is_one() -> None:
    found = gradloupe.check(function_of(QUANTISED))
    assert ("scale = " in found.recipe, nones(found)) == (True, [])


def test_no_gradient_at_all_is_a_finding_of_backward() -> None:
    found = gradloupe.check(function_of(NOTHING))
    assert (found.word, nones(found)) == ("differs", ["error", "error"])
