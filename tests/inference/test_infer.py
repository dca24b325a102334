"""From nothing but a Function: arguments it works with, why, and what that costs."""

import random
import warnings
from typing import Any

import pytest
import torch
from support.clock import SetClock
from support.sampling import sampled
from support.written_functions import function_of
from torch.autograd import Function

from gradloupe.ops import OPS
from gradloupe.server.inference.construction.op import op_of
from gradloupe.server.inference.infer import infer

# Ways to write a Function of one tensor, or of two.
WAYS = {
    "with a setup": """
        def forward(x, bound=0.5):
            return x.clamp(-bound, bound)
        def setup_context(ctx, inputs, output):
            x, bound = inputs
            ctx.save_for_backward(x)
            ctx.bound = bound
        def backward(ctx, g):
            return g * (ctx.saved_tensors[0].abs() <= ctx.bound), None
    """,
    "of the class": """
        @classmethod
        def forward(cls, self, x):
            self.save_for_backward(x)
            return cls.square(x)
        def square(x):
            return x * x
        @classmethod
        def backward(cls, self, g):
            return 2 * g * self.saved_tensors[0]
    """,
    "in place": """
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(3)
    """,
    "with a default that backward has no gradient for": (
        "def forward(ctx, x, k: float = 3.0): return x * k\ndef backward(ctx, g): return g * 3"
    ),
}
RECIPES = {"with a setup": "x: float64[7]; bound = 0.5"}
SINGLE = """
    def forward(ctx, x):
        if x.dtype != torch.float32:
            raise TypeError(f"expected float32, got {x.dtype}")
        return x * 2
"""


@pytest.mark.parametrize("way", WAYS)
def test_a_function_may_be_written_in_any_way_that_torch_takes(way: str) -> None:
    assert infer(function_of(WAYS[way])).recipe.text() == RECIPES.get(way, "x: float64[7]")


def test_a_plain_function_of_tensors_is_called_too() -> None:
    def hypotenuse(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return (a * a + b * b).sqrt()

    assert infer(hypotenuse).recipe.text() == "a: float64[7]; b: float64[7]"


def reasons(methods: str) -> dict[str, str]:
    return dict(infer(function_of(methods)).because)


def test_every_assumption_has_its_reason() -> None:
    assert "attribute of ctx" in reasons("def forward(ctx, x, k):\n    ctx.k = k\n    return x * k")["k"]
    assert "4" in reasons("def forward(ctx, x):\n    n, c, h, w = x.shape\n    return x.reshape(n, c, h, w)")["x"]
    product = reasons("def forward(ctx, left, right):\n    return left @ right.t()")
    assert "`left @ right.t()`" in product["right"]
    summed = reasons("def forward(ctx, q, k):\n    return torch.einsum('bd,bd->bd', q, k)")
    assert "einsum calls both 'b'" in summed["k"]
    assert "default" in reasons(WAYS["with a setup"])["bound"]
    annotated = reasons("def forward(ctx, x, flip: bool, power: int):\n    return (-x if flip else x) ** power")
    assert "annotation" in annotated["power"]
    assert [*annotated] == ["x", "flip", "power"]


def test_single_precision_is_given_where_nothing_else_is_taken_and_that_is_the_reason() -> None:
    guess = infer(function_of(SINGLE))
    assert guess.recipe.text() == "x: float32[7]"
    assert "asks for torch.float32" in dict(guess.because)["x"]


@pytest.mark.parametrize("name", sampled(OPS))
def test_every_op_of_the_gallery_is_found_without_its_declaration(name: str) -> None:
    recipe = infer(OPS[name].function).recipe
    assert recipe.inputs
    assert sum(leaf is not None for leaf, _ in recipe.leaves()) == len(recipe.inputs)


def test_gradients_that_torch_refuses_are_told_beside_the_recipe() -> None:
    wrong = "def forward(ctx, x, k):\n    ctx.k = k\n    return x * k\ndef backward(ctx, g):\n    return g * ctx.k"
    guess = infer(function_of(wrong))
    assert guess.recipe.text() == "x: float64[7]; k = 2"
    assert "expected 2, got 1" in guess.trouble


def test_a_slow_function_is_called_less_often_and_described_in_time(clock: SetClock) -> None:
    def slow(x: Any, gain: Any) -> Any:
        clock.goes_on(0.05)
        return x.abs() * gain

    guess = infer(slow, budget=0.5)
    assert guess.recipe.text() == "x: float64[7]; gain = 0.5"
    assert clock.seconds < 1001.0
    op = op_of(slow, guess.recipe, "slow", "Slow", "own")
    assert clock.seconds < 1005.0
    assert op.inputs[0].domain == (-3.0, 3.0)
    (gain,) = op.parameters
    assert (gain.default, gain.minimum, gain.maximum) == (0.5, -3.0, 3.0)


def test_a_function_that_takes_two_seconds_is_called_as_it_can_be_after_shapes_that_it_refuses(clock: SetClock) -> None:
    def slow(x: Any, weight: Any) -> Any:
        product = torch.bmm(x, weight)
        clock.goes_on(2.0)
        return product.tanh()

    guess = infer(slow)
    assert guess.tried > 1
    assert [len(each.shape) for each in guess.recipe.inputs] == [3, 3]


def test_an_iteration_that_may_never_end_is_called_where_it_does_and_described() -> None:
    """The fixed point of z = tanh(W z + b), which is reached where the map contracts, and not by other W."""
    endless = """
        def forward(ctx, b, W):
            z, new = b, torch.tanh(W @ b + b)
            while float((new - z).norm()) > 1e-6:
                z, new = new, torch.tanh(W @ new + b)
            ctx.save_for_backward(W, new)
            return new
        def backward(ctx, g):
            W, z = ctx.saved_tensors
            slope = 1 - z * z
            u = torch.linalg.solve(torch.eye(len(z), dtype=z.dtype) - W.T * slope, g) * slope
            return u, torch.outer(u, z)
    """
    recipe = infer(function_of(endless)).recipe
    assert recipe.text() == "b: float64[7]; W: float64[7,7] stable"
    op = op_of(function_of(endless), recipe, "endless", "Endless", "own")
    assert [each.domain[1] < 0.5 for each in op.inputs] == [False, True]


class Meddler(Function):
    """Changes what belongs to others."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(False)
        torch.manual_seed(7)
        random.seed(7)
        warnings.warn("look out", UserWarning, stacklevel=1)
        print("going")
        return x * torch.rand(())

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


def test_what_a_function_changes_is_put_back(capsys: pytest.CaptureFixture[str]) -> None:
    def state() -> tuple[Any, ...]:
        return (
            *(torch.get_rng_state().tolist(), random.getstate()),
            *(torch.get_default_dtype(), torch.is_grad_enabled(), capsys.readouterr().out),
        )

    torch.manual_seed(1)
    random.seed(1)
    before = state()
    infer(Meddler)
    assert state() == before


def test_arguments_with_which_it_comes_to_an_end_are_found_after_some_with_which_it_does_not() -> None:
    """Newton's square root, which of a negative number is never found."""
    contraction = """
        def forward(ctx, x):
            y = torch.ones_like(x)
            while float((y * y - x).abs().max()) > 1e-9:
                y = (y + x / y) / 2
            ctx.save_for_backward(y)
            return y
        def backward(ctx, g):
            return g / (2 * ctx.saved_tensors[0])
    """
    assert infer(function_of(contraction), budget=1.0).recipe.text() == "x: float64[7] positive"
