"""Complex tensors in a recipe, what tells that an argument is one, and the op of real numbers that comes of it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from functions.complex_functions import RIGHT, written
from torch.autograd import Function

from gradloupe.server.inference.construction.op import op_of
from gradloupe.server.inference.infer import infer
from gradloupe.server.inference.recipe.grammar import parse_recipe
from gradloupe.server.runtime.arguments import BoundFunction


class Copied(Function):
    """Copies what it is given."""

    @staticmethod
    def forward(ctx: Any, z: Any) -> Any:
        return z * 1

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        return grad_output * 1


class Imaginary(Copied):
    @staticmethod
    def forward(ctx: Any, z: Any) -> Any:
        part = torch.as_tensor(z)
        return part.imag * 1

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        return 1j * grad_output


class Conjugating(Copied):
    @staticmethod
    def forward(ctx: Any, z: Any) -> Any:
        ctx.save_for_backward(z)
        return z * z

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        (z,) = ctx.saved_tensors
        return 2 * grad_output * z.conj()


class Viewed(Copied):
    @staticmethod
    def forward(ctx: Any, z: Any) -> Any:
        return torch.view_as_real(z).sum(-1)

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        return torch.complex(grad_output, grad_output)


class Asserting(Copied):
    @staticmethod
    def forward(ctx: Any, z: Any) -> Any:
        if not torch.is_complex(z):
            raise TypeError("floats are no use here")
        return z * 1


class AskingForTheDtype(Copied):
    @staticmethod
    def forward(ctx: Any, z: Any) -> Any:
        if z.dtype != torch.complex64:
            raise TypeError("expected a complex64 tensor")
        return z * 1


class Annotated(Copied):
    @staticmethod
    def forward(ctx: Any, z: "ComplexTensor") -> Any:  # type: ignore[name-defined]  # noqa: F821, UP037
        return z * 1


class OfComplexInput(Copied):
    """Copies a complex-valued input."""


class Described(Copied):
    """A copy.

    z: a complex tensor
    """


class NamedSo(Copied):
    @staticmethod
    def forward(ctx: Any, z_complex: Any) -> Any:
        return z_complex * 1


class SavingTheRealPart(Copied):
    @staticmethod
    def forward(ctx: Any, z: Any) -> Any:
        ctx.save_for_backward(z.real)
        return z * 1


class Refusing(Copied):
    @staticmethod
    def forward(ctx: Any, z: Any) -> Any:
        if z.is_complex():
            raise TypeError("real numbers only")
        return z * 1


class Rectified(Copied):
    """Does not take complex tensors."""

    @staticmethod
    def forward(ctx: Any, z: Any) -> Any:
        return z.relu()


class OfPairs(Copied):
    """Copies complex numbers, each a pair in the last dimension."""


class MoreComplex(Copied):
    """A more complex activation of input tensors."""


@pytest.mark.parametrize(
    "function",
    [Imaginary, Conjugating, Viewed, Asserting, Annotated, OfComplexInput, Described, NamedSo],
)
def test_an_argument_that_is_complex_is_given_complex_numbers(function: Any) -> None:
    found = infer(function)
    assert [each.is_complex for each in found.recipe.inputs] == [True], found.recipe.text()
    assert "complex" in " ".join(reason for _, reason in found.because).lower()


@pytest.mark.parametrize("function", [Copied, Refusing, Rectified, OfPairs, MoreComplex])
def test_nothing_else_is(function: Any) -> None:
    assert infer(function).recipe.inputs[0].dtype == "float64"


def test_what_is_saved_is_read_too() -> None:
    assert infer(SavingTheRealPart).recipe.inputs[0].dtype == "complex128"


def test_complex64_is_given_where_nothing_else_will_do() -> None:
    assert infer(AskingForTheDtype).recipe.inputs[0].dtype == "complex64"


def test_a_recipe_with_complex_numbers_is_read_as_it_is_written() -> None:
    text = "z: complex128[2,3]; w: complex64[3] positive; v: complex128[] nograd; k = 2j"
    recipe = parse_recipe(text)
    assert recipe.text() == text
    tensors = recipe.tensors()
    assert [each.dtype for each in tensors.values()] == [torch.complex128, torch.complex64, torch.complex128]
    z, w = tensors["z"], tensors["w"]
    assert not torch.equal(z.real, z.imag)
    assert torch.allclose(100 * z, (100 * torch.view_as_real(z)).round().view(torch.complex128).reshape(2, 3))
    assert bool((w.real > 0).all() and (w.imag > 0).all())


def test_the_parts_of_a_complex_tensor_are_inputs_and_those_of_an_output_outputs() -> None:
    function, recipe = RIGHT["matrix product"]
    op = op_of(function, parse_recipe(recipe), "own", "own", "own")
    assert [each.name for each in op.inputs] == ["a.real", "a.imag", "b.real", "b.imag"]
    assert op.inputs[0].shape == (2, 3)
    assert op.outputs == ("y.real", "y.imag")
    parts = [torch.tensor(each.values, dtype=torch.float64).reshape(each.shape) for each in op.inputs]
    a, b = torch.complex(*parts[:2]), torch.complex(*parts[2:])
    real, imag = op(*parts)
    assert torch.allclose(torch.complex(real, imag), a @ b, rtol=1e-15)


def test_numbers_one_by_one_share_a_call() -> None:
    function, recipe = RIGHT["square"]
    op = op_of(function, parse_recipe(recipe), "own", "own", "own")
    assert [each.shape for each in op.inputs] == [(), ()]


def test_real_numbers_need_no_adapter() -> None:
    assert op_of(Copied, parse_recipe("z: float64[3]"), "own", "own", "own").call is None
    polar, recipe = RIGHT["polar"]
    call = op_of(polar, parse_recipe(recipe), "own", "own", "own").call
    assert isinstance(call, BoundFunction)
    assert call.in_parts


def test_a_real_gradient_of_a_complex_loss_reaches_both_parts() -> None:
    """∂/∂Re z and ∂/∂Im z of |z|², at z = 3 − 4i: 6 and −8."""
    function, _ = RIGHT["power"]
    op = op_of(function, parse_recipe("z: complex128[]"), "own", "own", "own")
    real, imag = (torch.tensor([each], dtype=torch.float64, requires_grad=True) for each in (3.0, -4.0))
    op(real, imag).sum().backward()
    assert (real.grad, imag.grad) == (torch.tensor([6.0]), torch.tensor([-8.0]))


def test_there_are_no_complex_numbers_of_bfloat16() -> None:
    function, recipe = RIGHT["square"]
    op = op_of(function, parse_recipe(recipe), "own", "own", "own")
    with pytest.raises(TypeError, match="there are no complex numbers of bfloat16"):
        op(*(torch.ones(1, dtype=torch.bfloat16) for _ in op.inputs))


def test_what_is_held_is_complex_too() -> None:
    product, _ = RIGHT["product"]
    op = op_of(product, parse_recipe("z: complex128[3]; w: complex128[3] nograd"), "own", "own", "own")
    assert [each.name for each in op.inputs] == ["z.real", "z.imag"]
    real, imag = op(*(torch.tensor(each.values, dtype=torch.float64).reshape(each.shape or (1,)) for each in op.inputs))
    assert bool(real.isfinite().all() and imag.any())


def test_a_function_without_a_source_is_called_as_its_recipe_says() -> None:
    function = written("Doubled", lambda z: 2 * z, lambda g, z: 2 * g)
    assert op_of(function, parse_recipe("z: complex64[3]"), "own", "own", "own").dtype == "float32"
