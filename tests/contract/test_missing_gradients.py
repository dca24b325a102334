"""None for an input that moves the outputs: told as a difference, unless it is declared constant, or data."""

from typing import Annotated, Any

import pytest
import torch
from functions.basics import SquaredError

import gradloupe

F = torch.autograd.Function


class Product(F):
    @staticmethod
    def forward(ctx: Any, u: Any, v: Any) -> Any:
        ctx.save_for_backward(u, v)
        return u * v

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[1], None


class DeclaredByAnnotation(Product):
    @staticmethod
    def forward(ctx: Any, u: Any, v: Annotated[torch.Tensor, "not differentiable"]) -> Any:
        return Product.forward(ctx, u, v)


class OnlyWhereAsked(Product):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        du = g * ctx.saved_tensors[1] if ctx.needs_input_grad[0] else None
        return du, None


class OnlyTogether(Product):
    """Right where a gradient is asked for both, and None for u where v asks for none."""

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        u, v = ctx.saved_tensors
        return (g * v, g * u) if ctx.needs_input_grad[1] else (None, None)


class Centred(F):
    """By a mean that runs along."""

    @staticmethod
    def forward(ctx: Any, x: Any, state: Any) -> Any:
        state.mul_(0.9).add_(0.1 * x.mean(0).detach())
        ctx.save_for_backward(state)
        return x - state.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        ctx.saved_tensors  # noqa: B018
        return g - 0.1 * g.sum(0) / g.shape[0], None


class Quantised(F):
    """The scale may be a number."""

    @staticmethod
    def forward(ctx: Any, x: Any, scale: Any) -> Any:
        ctx.scale = scale
        return (x / scale).tanh() * scale

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, None


class Nothing(F):
    @staticmethod
    def forward(ctx: Any, x: Any, w: Any) -> Any:
        ctx.save_for_backward(x, w)
        return x @ w.t()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return None, None


class Refusing(F):
    """What requires grad is refused aloud."""

    @staticmethod
    def forward(ctx: Any, x: Any, v: Any) -> Any:
        if v.requires_grad:
            raise ValueError("v has to be data")
        ctx.save_for_backward(v)
        return x * v

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0], None


def nones(found: Any) -> list[str]:
    """How gravely a missing gradient is told, of each input."""
    return [each.level for each in found.findings if each.id == "GRAD-NONE" and each.level in ("error", "warning")]


@pytest.mark.parametrize("function", [Product, OnlyWhereAsked])
def test_a_missing_gradient_is_told(function: Any) -> None:
    found = gradloupe.check(function)
    assert (found.word, found.ok, nones(found)) == ("differs", False, ["error"])
    (seen,) = [each.seen for each in found.findings if each.id == "GRAD-NONE"]
    assert seen.startswith("v is treated as a constant")


def test_a_gradient_that_is_missing_where_it_is_asked_for_alone_is_told_as_that() -> None:
    found = gradloupe.check(OnlyTogether)
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
        gradloupe.check(DeclaredByAnnotation),
        gradloupe.check(Product, "u: float64[7]; v: float64[7] nograd"),
    ):
        assert (found.word, nones(found)) == ("matches", [])


def test_a_target_without_a_gradient_is_a_warning() -> None:
    found = gradloupe.check(SquaredError)
    assert (found.word, found.ok, nones(found)) == ("matches", True, ["warning"])
    assert nones(gradloupe.check(SquaredError, "x: float64[7]; target: float64[7] nograd")) == []


def test_what_forward_overwrites_is_state_and_no_input() -> None:
    found = gradloupe.check(Centred)
    assert (found.recipe.endswith("nograd"), nones(found)) == (True, ["warning"])


def test_what_is_refused_aloud_where_it_requires_grad_is_not_missed() -> None:
    found = gradloupe.check(Refusing)
    assert (found.word, nones(found)) == ("matches", [])


def test_a_scale_that_may_be_a_number_is_one() -> None:
    found = gradloupe.check(Quantised)
    assert ("scale = " in found.recipe, nones(found)) == (True, [])


def test_no_gradient_at_all_is_a_finding_of_backward() -> None:
    found = gradloupe.check(Nothing)
    assert (found.word, nones(found)) == ("differs", ["error", "error"])
