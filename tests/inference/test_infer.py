"""From nothing but a Function: arguments it works with, why, and what is said where there are none."""

from __future__ import annotations

import random
import sys
import time
import warnings
from typing import Any

import pytest
import torch
from support.sampling import sampled
from torch.autograd import Function

from gradloupe.ops import OPS
from gradloupe.server.inference.construction.op import op_of
from gradloupe.server.inference.infer import InferredRecipe, NotInferred, infer

MODES = {"soft": 1.0, "hard": 2.0}


def inferred_recipe(function: Any) -> str:
    """The recipe that is inferred, as text."""
    return infer(function).recipe.text()


def because(guess: InferredRecipe, name: str) -> str:
    return dict(guess.because)[name]


class Plain(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0].exp()


class Scaled(Function):
    @staticmethod
    def forward(ctx: Any, first: Any, second: Any) -> Any:
        ctx.second = second
        return first * second

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.second, None


class OnlyBackward(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, alpha: Any) -> Any:
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return -ctx.alpha * g, None


class Annotated(Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, flip: bool, power: int, mode: str) -> Any:
        ctx.save_for_backward(x)
        ctx.power = power
        if mode not in ("plain", "other"):
            raise ValueError(mode)
        return (-x if flip else x) ** power

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * ctx.power * x ** (ctx.power - 1), None, None, None


class Setup(Function):
    @staticmethod
    def forward(x: Any, bound: float = 0.5) -> Any:
        return x.clamp(-bound, bound)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, bound = inputs
        ctx.save_for_backward(x)
        ctx.bound = bound

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * (ctx.saved_tensors[0].abs() <= ctx.bound), None


class OfClass(Function):
    @classmethod
    def forward(cls, self: Any, x: Any) -> Any:
        self.save_for_backward(x)
        return cls.square(x)

    @staticmethod
    def square(x: Any) -> Any:
        return x * x

    @classmethod
    def backward(cls, self: Any, g: Any) -> Any:
        return 2 * g * self.saved_tensors[0]


class Starred(Function):
    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        a, b, k = args
        ctx.save_for_backward(a, b)
        ctx.k = k
        return a * b * k

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        a, b = ctx.saved_tensors
        return g * b * ctx.k, g * a * ctx.k, None


class Image(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        n, c, h, w = x.shape
        ctx.size = (n, c, h, w)
        return x.reshape(n, c, h * w).sum(-1)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g[..., None, None].expand(ctx.size)


class Product(Function):
    @staticmethod
    def forward(ctx: Any, left: Any, right: Any) -> Any:
        ctx.save_for_backward(left, right)
        return left @ right.t()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        left, right = ctx.saved_tensors
        return g @ right, g.t() @ left


class Summed(Function):
    @staticmethod
    def forward(ctx: Any, q: Any, k: Any) -> Any:
        ctx.save_for_backward(q, k)
        return torch.einsum("bhqd,bhkd->bhqk", q, k)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        q, k = ctx.saved_tensors
        return torch.einsum("bhqk,bhkd->bhqd", g, k), torch.einsum("bhqk,bhqd->bhkd", g, q)


class Asserted(Function):
    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        _, columns = a.shape
        assert b.shape == (columns, 1)
        ctx.save_for_backward(a, b)
        return a.mm(b)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        a, b = ctx.saved_tensors
        return g.mm(b.t()), a.t().mm(g)


class Gathered(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, which: Any) -> Any:
        ctx.save_for_backward(x, which)
        return x.gather(0, which)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, which = ctx.saved_tensors
        return torch.zeros_like(x).scatter_add(0, which, g), None


class Masked(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, keep: Any) -> Any:
        ctx.save_for_backward(keep)
        return x.masked_fill(~keep, 0.0)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0], None


class Mode(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, how: Any) -> Any:
        ctx.k = MODES[how]
        return x * ctx.k

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.k, None


class Called(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, f: Any) -> Any:
        with torch.enable_grad():
            ctx.x = x.detach().requires_grad_()
            ctx.y = f(ctx.x)
        return ctx.y.detach()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return torch.autograd.grad(ctx.y, ctx.x, g, retain_graph=True)[0], None


class Padded(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, pads: Any) -> Any:
        left, right = pads
        ctx.pads = pads
        return torch.nn.functional.pad(x, (left, right))

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        left, right = ctx.pads
        return g[..., left : g.shape[-1] - right], None


class Bits(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, bits: Any) -> Any:
        levels = 2**bits - 1
        return torch.round(x * levels) / levels

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, None


class Sliced(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, m: Any) -> Any:
        ctx.m = m
        return torch.cat([x[:, :m] * 2, x[:, m:]], dim=1)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return torch.cat([g[:, : ctx.m] * 2, g[:, ctx.m :]], dim=1), None


class Logarithm(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.log()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g / ctx.saved_tensors[0]


class Inverse(Function):
    @staticmethod
    def forward(ctx: Any, a: Any) -> Any:
        inverse = torch.inverse(a)
        ctx.save_for_backward(inverse)
        return inverse

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (inverse,) = ctx.saved_tensors
        return -inverse.t() @ g @ inverse.t()


class Single(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        if x.dtype != torch.float32:
            raise TypeError(f"expected float32, got {x.dtype}")
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2


class Omitted(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, k: float = 3.0) -> Any:
        ctx.k = k
        return x * k

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.k


class Quaternion(Function):
    @staticmethod
    def forward(ctx: Any, q: Any) -> Any:
        ctx.save_for_backward(q)
        return q[..., 3:4] * q[..., :3]

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (q,) = ctx.saved_tensors
        return torch.cat([g * q[..., 3:4], (g * q[..., :3]).sum(-1, keepdim=True)], -1)


class InPlace(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(3)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 3


class Legacy(Function):
    def __init__(self, slope: float) -> None:
        self.slope = slope

    def forward(self, x: Any) -> Any:
        return x * self.slope

    def backward(self, g: Any) -> Any:
        return g * self.slope


class NoBackward(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2


class Configured(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, config: Any) -> Any:
        return x * config.gain + config.shifted(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, None


class Riddle(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, riddle: Any) -> Any:
        if str(riddle)[::-1] != "sesame":
            raise LookupError(f"not {riddle}")
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2, None


class Exits(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        print("going")
        sys.exit(3)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


class Meddler(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(False)
        torch.manual_seed(7)
        random.seed(7)
        warnings.warn("look out", UserWarning, stacklevel=1)
        return x * torch.rand(())

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


class CountedWrong(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, k: Any) -> Any:
        ctx.k = k
        return x * k

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.k


class DoReFa(Function):
    @staticmethod
    def forward(ctx: Any, input: Any, k: Any) -> Any:
        if k == 32:
            out = input
        elif k == 1:
            out = torch.sign(input)
        else:
            n = float(2**k - 1)
            out = torch.round(input * n) / n
        return out

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g.clone(), None


class Doubled(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, given: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, None


class NoMode(Doubled):
    @staticmethod
    def forward(ctx: Any, x: Any, mode: Any) -> Any:
        if mode == "none":
            return x
        if mode == "double":
            return x * 2
        raise ValueError(mode)


class NoScale(Doubled):
    @staticmethod
    def forward(ctx: Any, x: Any, scale: float = 1.0) -> Any:
        if scale == 1:
            return x.clone()
        return x * 2 * scale


class NoDrop(Doubled):
    @staticmethod
    def forward(ctx: Any, x: Any, p: Any) -> Any:
        ctx.p = p
        return x if p == 0.0 else x * (1 - p)


class NotEnabled(Doubled):
    @staticmethod
    def forward(ctx: Any, x: Any, enabled: bool = False) -> Any:
        if not enabled:
            return x
        return x * 2


class Refused(Doubled):
    @staticmethod
    def forward(ctx: Any, x: Any, power: Any) -> Any:
        if power == 2:
            raise ValueError("not 2")
        elif power == 3:
            return x**3
        else:
            raise ValueError("only 3")


class Sluggish(Function):
    seconds = 0.0
    spent = 0.0

    @staticmethod
    def forward(ctx: Any, x: Any, gain: Any) -> Any:
        ctx.gain = gain
        Sluggish.spent += Sluggish.seconds
        end = time.thread_time() + Sluggish.seconds
        while time.thread_time() < end:
            pass
        return x.abs() * gain

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.gain, None


class Slow(Function):
    calls = 0

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        Slow.calls += 1
        ctx.save_for_backward(x)
        total = x
        for _ in range(20_000):
            total = total + x * 0.001
        return total

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 21


class Huge(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        if x.shape[-1] < 2**40:
            raise RuntimeError(f"The size of tensor a ({x.shape[-1]}) must match the size of tensor b ({2**40})")
        return x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


def hypotenuse(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a * a + b * b).sqrt()


RECIPES: tuple[tuple[Any, str], ...] = (
    (Plain, "x: float64[7]"),
    (Scaled, "first: float64[7]; second = 0.5"),
    (OnlyBackward, "x: float64[7]; alpha = 0.5"),
    (Annotated, "x: float64[7]; flip = False; power = 2; mode = 'plain'"),
    (Setup, "x: float64[7]; bound = 0.5"),
    (OfClass, "x: float64[7]"),
    (Starred, "args0: float64[7]; args1: float64[7]; args2 = 0.5"),
    (Image, "x: float64[2,4,6,6]"),
    (Product, "left: float64[3,4]; right: float64[5,4]"),
    (Summed, "q: float64[2,4,6,6]; k: float64[2,4,6,6]"),
    (Asserted, "a: float64[3,4]; b: float64[4,1]"),
    (Gathered, "x: float64[7]; which: int64[7] < 2"),
    (Masked, "x: float64[7]; keep: bool[7]"),
    (Mode, "x: float64[7]; how = 'hard'"),
    (Called, "x: float64[7]; f = torch.tanh"),
    (Padded, "x: float64[7]; pads = (1, 1)"),
    (Bits, "x: float64[7]; bits = 4"),
    (Sliced, "x: float64[3,4]; m = 2"),
    (Logarithm, "x: float64[7] positive"),
    (Inverse, "a: float64[4,4] spd"),
    (Single, "x: float32[7]"),
    (Omitted, "x: float64[7]"),
    (Quaternion, "q: float64[4]"),
    (InPlace, "x: float64[7]"),
    (hypotenuse, "a: float64[7]; b: float64[7]"),
)


@pytest.mark.parametrize(("function", "recipe"), RECIPES, ids=lambda each: getattr(each, "__name__", ""))
def test_a_recipe_is_found(function: Any, recipe: str) -> None:
    assert inferred_recipe(function) == recipe


def test_every_assumption_has_its_reason() -> None:
    assert because(infer(Scaled), "second") == "it is kept as an attribute of ctx"
    assert "4" in because(infer(Image), "x")
    assert "it shares a size with left, as forward has `left @ right.t()`" in because(infer(Product), "right")
    assert "it shares a size with q, as einsum calls both 'b'" in because(infer(Summed), "k")
    assert because(infer(Setup), "bound") == "it is the default"
    assert because(infer(Annotated), "power") == "its annotation is int"
    assert because(infer(Single), "x").startswith("otherwise forward raises TypeError: expected float32")
    assert [name for name, _ in infer(Annotated).because] == ["x", "flip", "power", "mode"]


@pytest.mark.parametrize("name", sampled(OPS))
def test_every_op_of_the_gallery_is_found_without_its_declaration(name: str) -> None:
    guess = infer(OPS[name].function)
    assert guess.recipe.inputs
    assert sum(each is not None for each, _ in guess.recipe.leaves()) == len(guess.recipe.inputs)


def test_gradients_that_torch_refuses_are_told_beside_the_recipe() -> None:
    guess = infer(CountedWrong)
    assert guess.recipe.text() == "x: float64[7]; k = 2"
    assert "incorrect number of gradients (expected 2, got 1)" in guess.trouble


def test_a_slow_function_is_not_called_again_and_again() -> None:
    assert infer(Slow, budget=0.5).recipe.text() == "x: float64[7]"
    assert Slow.calls == 1


@pytest.mark.parametrize(
    ("function", "recipe"),
    [
        (DoReFa, "input: float64[7]; k = 2"),
        (NoMode, "x: float64[7]; mode = 'double'"),
        (NoDrop, "x: float64[7]; p = 0.5"),
        (Refused, "x: float64[7]; power = 3"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_a_value_with_which_the_function_does_nothing_is_not_what_it_is_looked_at_with(
    function: Any, recipe: str
) -> None:
    assert inferred_recipe(function) == recipe


@pytest.mark.parametrize(
    ("function", "recipe"),
    [(NoScale, "x: float64[7]; scale = 1.0"), (NotEnabled, "x: float64[7]; enabled = False")],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_a_declared_default_is_kept_where_the_function_does_nothing_with_it(function: Any, recipe: str) -> None:
    assert inferred_recipe(function) == recipe


@pytest.mark.parametrize("name", ["scale", "alpha", "coupling", "coeff", "strength", "c"])
def test_a_number_that_nobody_knows_is_a_half_for_a_factor_of_one_is_not_seen(name: str) -> None:
    namespace: dict[str, Any] = {"Function": Function}
    exec(  # noqa: S102 the argument's name is what is asked about
        f"class Named(Function):\n"
        f"    forward = staticmethod(lambda ctx, x, {name}: x * {name})\n"
        f"    backward = staticmethod(lambda ctx, g: (g, None))",
        namespace,
    )
    assert inferred_recipe(namespace["Named"]) == f"x: float64[7]; {name} = 0.5"


@pytest.mark.parametrize(("seconds", "most"), [(0.05, 5.0), (0.5, 8.0)])
def test_a_slow_function_is_described_in_time(seconds: float, most: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sluggish, "seconds", seconds)
    monkeypatch.setattr(Sluggish, "spent", 0.0)
    op = op_of(Sluggish, infer(Sluggish).recipe, "sluggish", "Sluggish", "own")
    assert Sluggish.spent < most
    assert op.inputs[0].domain == (-3.0, 3.0)
    (gain,) = op.parameters
    assert (gain.default, gain.minimum, gain.maximum) == (0.5, -3.0, 3.0)


def test_no_error_talks_it_into_huge_tensors() -> None:
    with pytest.raises(NotInferred, match=str(2**40)) as raised:
        infer(Huge, budget=1.0)
    assert all(str(2**40) not in recipe for recipe, _ in raised.value.tried)


def test_what_a_function_changes_is_put_back(capsys: pytest.CaptureFixture[str]) -> None:
    torch.manual_seed(1)
    random.seed(1)
    before = (torch.get_rng_state(), random.getstate(), torch.get_default_dtype(), torch.is_grad_enabled())
    infer(Meddler)
    after = (torch.get_rng_state(), random.getstate(), torch.get_default_dtype(), torch.is_grad_enabled())
    assert torch.equal(before[0], after[0])
    assert before[1:] == after[1:]
    assert capsys.readouterr().out == ""


def test_a_function_that_exits_is_told_of_like_any_other(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(NotInferred, match=r"sys\.exit"):
        infer(Exits)
    assert capsys.readouterr().out == ""


def test_the_argument_that_could_not_be_guessed_is_named() -> None:
    with pytest.raises(NotInferred) as raised:
        infer(Riddle, budget=1.0)
    error = raised.value
    assert error.argument == "riddle"
    assert "No value was found for 'riddle'" in error.sentence
    assert f"called with `{error.recipe}`; say how it is called instead." in error.sentence
    assert error.sayable
    assert error.recipe.startswith("x: float64[7]; riddle = ")
    assert 1 <= len(error.tried) <= 5
    assert all("LookupError: not" in message for _, message in error.tried)
    assert [name for name, _ in error.parameters] == ["x", "riddle"]


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (NoBackward, "NoBackward has no backward"),
        (Function, "has no forward of its own"),
        (Legacy, "forward of Legacy is not a static method"),
        (Configured, "'config' has to be an object (config.gain, config.shifted is read from it)"),
        (lambda: torch.ones(3), "takes no argument"),
        (dict, "is a class, but no torch.autograd.Function"),
    ],
    ids=("no backward", "no forward", "not static", "an object", "no argument", "no Function"),
)
def test_what_cannot_be_called_is_said_in_a_sentence_with_the_fix(function: Any, words: str) -> None:
    with pytest.raises(NotInferred) as raised:
        infer(function, budget=1.0)
    assert words in raised.value.sentence
    assert ";" in raised.value.sentence or "Write" in raised.value.sentence
