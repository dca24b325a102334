"""What tells that an argument is complex, and the op of real numbers that comes of it."""

import pytest
import torch
from functions.basics import Double, altered
from functions.complex_functions import RIGHT
from support.written_functions import formula, function_of

from gradloupe.ops import Op
from gradloupe.server.inference.construction.op import op_of
from gradloupe.server.inference.infer import infer
from gradloupe.server.inference.recipe import parse_recipe
from gradloupe.server.runtime.arguments import BoundFunction

COPIED = "def forward(ctx, z):\n    return z * 1"
RAISING = "def forward(ctx, z):\n    if {}:\n        raise TypeError('{}')\n    return z * 1"
COMPLEX = {
    "its imaginary part is read": (
        "def forward(ctx, z): return torch.as_tensor(z).imag * 1\ndef backward(ctx, g): return 1j * g"
    ),
    "backward conjugates it": formula("z", "z * z", "2 * g * z.conj()"),
    "it is viewed as real": (
        "def forward(ctx, z): return torch.view_as_real(z).sum(-1)\ndef backward(ctx, g): return torch.complex(g, g)"
    ),
    "forward asks for it": RAISING.format("not torch.is_complex(z)", "floats are no use here"),
    "its annotation says so": "def forward(ctx, z: 'ComplexTensor'):\n    return z * 1",
    "the docstring says so": f"'''Copies a complex-valued input.'''\n{COPIED}",
    "the docstring says so right before it": f"'''Copies complex z, as real numbers are copied.'''\n{COPIED}",
    "the docstring says so of it": f"'''A copy.\n\nz: a complex tensor\n'''\n{COPIED}",
    "its name says so": "def forward(ctx, z_complex):\n    return z_complex * 1",
    "what is saved is its real part": "def forward(ctx, z):\n    ctx.save_for_backward(z.real)\n    return z * 1",
}
REAL = {
    "nothing says so": COPIED,
    "complex numbers are refused": RAISING.format("z.is_complex()", "real numbers only"),
    "they would be refused": "'''Does not take complex tensors.'''\ndef forward(ctx, z):\n    return z.relu()",
    "they are pairs": f"'''Copies complex numbers, each a pair in the last dimension.'''\n{COPIED}",
    "complex means intricate": f"'''A more complex activation of input tensors.'''\n{COPIED}",
}


@pytest.mark.parametrize("because", COMPLEX)
def test_an_argument_is_given_complex_numbers_where(because: str) -> None:
    found = infer(function_of(COMPLEX[because]))
    assert [each.dtype for each in found.recipe.inputs] == ["complex128"], found.recipe.text()
    assert "complex" in " ".join(reason for _, reason in found.because).lower()


@pytest.mark.parametrize("because", REAL)
def test_it_is_given_real_numbers_where(because: str) -> None:
    assert infer(function_of(REAL[because])).recipe.inputs[0].dtype == "float64"


def test_complex64_is_given_where_nothing_else_will_do() -> None:
    asking = RAISING.format("z.dtype != torch.complex64", "expected a complex64 tensor")
    assert infer(function_of(asking)).recipe.inputs[0].dtype == "complex64"


def made(name: str, recipe: str = "") -> Op:
    """The op of a right Function of complex numbers."""
    function, usual = RIGHT[name]
    return op_of(function, parse_recipe(recipe or usual), "own", "own", "own")


def parts(op: Op) -> list[torch.Tensor]:
    return [torch.tensor(each.values, dtype=torch.float64).reshape(each.shape or (1,)) for each in op.inputs]


def test_the_parts_of_a_complex_tensor_are_inputs_and_those_of_an_output_outputs() -> None:
    op = made("matrix product")
    assert [each.name for each in op.inputs] == ["a.real", "a.imag", "b.real", "b.imag"]
    assert op.inputs[0].shape == (2, 3)
    assert op.outputs == ("y.real", "y.imag")
    given = parts(op)
    a, b = torch.complex(*given[:2]), torch.complex(*given[2:])
    assert torch.allclose(torch.complex(*op(*given)), a @ b, rtol=1e-15)


def test_numbers_one_by_one_share_a_call() -> None:
    assert [each.shape for each in made("square").inputs] == [(), ()]


def test_real_numbers_need_no_adapter() -> None:
    assert op_of(function_of(COPIED), parse_recipe("z: float64[3]"), "own", "own", "own").call is None
    call = made("polar").call
    assert isinstance(call, BoundFunction)
    assert call.in_parts


def test_a_real_gradient_of_a_complex_loss_reaches_both_parts() -> None:
    """∂/∂Re z and ∂/∂Im z of |z|², at z = 3 − 4i: 6 and −8."""
    real, imag = (torch.tensor([each], dtype=torch.float64, requires_grad=True) for each in (3.0, -4.0))
    made("power", "z: complex128[]")(real, imag).sum().backward()
    assert (real.grad, imag.grad) == (torch.tensor([6.0]), torch.tensor([-8.0]))


def test_there_are_no_complex_numbers_of_bfloat16() -> None:
    op = made("square")
    with pytest.raises(TypeError, match="bfloat16"):
        op(*(torch.ones(1, dtype=torch.bfloat16) for _ in op.inputs))


def test_what_is_held_is_complex_too() -> None:
    op = made("product", "z: complex128[3]; w: complex128[3] nograd")
    assert [each.name for each in op.inputs] == ["z.real", "z.imag"]
    real, imag = op(*parts(op))
    assert bool(real.isfinite().all() and imag.any())


def test_a_function_without_a_source_is_called_as_its_recipe_says() -> None:
    forward, backward = eval("lambda ctx, z: 2 * z"), eval("lambda ctx, g: 2 * g")  # noqa: S307
    function = altered(Double, "Doubled", forward=forward, backward=backward)
    assert op_of(function, parse_recipe("z: complex64[3]"), "own", "own", "own").dtype == "float32"
