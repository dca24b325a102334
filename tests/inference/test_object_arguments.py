"""Arguments that are neither tensors nor numbers: objects, settings, modules and things to call, written as text."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.autograd import Function

from gradloupe.server.inference.construction.op import op_of
from gradloupe.server.inference.infer import NotInferred, infer
from gradloupe.server.inference.recipe.grammar import parse_recipe
from gradloupe.server.inference.recipe.recipe import BadRecipe, Constant


class Settings(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, cfg: Any) -> Any:
        ctx.save_for_backward(x)
        ctx.cfg = cfg
        y = (x * x + cfg.eps).sqrt()
        return y.clamp(min=0) if cfg.use_clamp else y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * x / (x * x + ctx.cfg.eps).sqrt(), None


class Keyed(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, config: Any) -> Any:
        ctx.config = config
        return x * config["num_steps"]

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.config["num_steps"], None


class Reversible(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, block: Any, *weights: Any) -> Any:
        ctx.block, ctx.count = block, len(weights)
        ctx.save_for_backward(x)
        with torch.no_grad():
            return x + block.forward(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            y = x + ctx.block.forward(x)
        found = torch.autograd.grad(y, (x, *ctx.block.parameters()), g)
        return (found[0], None, *found[1:])


class Surrogate(Function):
    @staticmethod
    def forward(ctx: Any, v: Any, threshold: Any, surrogate: Any) -> Any:
        ctx.save_for_backward(v)
        ctx.threshold, ctx.surrogate = threshold, surrogate
        return (v > threshold).to(v)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (v,) = ctx.saved_tensors
        return g * ctx.surrogate(v, ctx.threshold), None, None


class Custom(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, surrogate: Any) -> Any:
        ctx.surrogate = surrogate
        out = (x > 0).to(x)
        ctx.save_for_backward(x, out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, out = ctx.saved_tensors
        return ctx.surrogate(x, g, out), None


class Blocks(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, layers: Any) -> Any:
        ctx.save_for_backward(x)
        ctx.layers = layers
        for layer in layers:
            x = layer(x)
        return x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            y = x
            for layer in ctx.layers:
                y = layer(y)
        return (*torch.autograd.grad(y, x, g), None)


class HandedOn(Function):
    """What is called only elsewhere is known by its name."""

    @staticmethod
    def forward(ctx: Any, x: Any, loss_fn: Any) -> Any:
        ctx.save_for_backward(x)
        ctx.given = {"fn": loss_fn}
        return ctx.given["fn"](x).sum()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            return (*torch.autograd.grad(ctx.given["fn"](x).sum(), x, g), None)


class NumberOrPlan(Function):
    """A number, or an object that has one: which of them is asked for."""

    @staticmethod
    def forward(ctx: Any, x: Any, plan: Any) -> Any:
        ctx.factor = plan.factor if isinstance(plan, Plan) else plan
        return x * ctx.factor

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.factor, None


class Plan:
    factor = 2.0


class Hooked(Function):
    @staticmethod
    def forward(ctx: Any, state: Any, x: Any) -> Any:
        ctx.state = state
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        ctx.state.before_backward()
        return None, g * 2


class Swallowing(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, module: Any) -> Any:
        ctx.module = module
        return x * 1

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        try:
            return g * ctx.module.penalty(g), None
        except AttributeError:
            return g, None


class PutAside(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, local_ctx: Any) -> Any:
        ctx.local_ctx = local_ctx
        return x * 3

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 3, None


RECIPES: tuple[tuple[Any, str], ...] = (
    (Settings, "x: float64[7]; cfg = types.SimpleNamespace(eps=1e-05, use_clamp=False)"),
    (Keyed, "x: float64[7]; config = {'num_steps': 10}"),
    (Reversible, "x: float64[7]; block = torch.nn.Tanh()"),
    (Surrogate, "v: float64[7]; threshold = 0.5; surrogate = torch.mul"),
    (Custom, "x: float64[7]; surrogate = torch.addcmul"),
    (Blocks, "x: float64[7]; layers = (torch.tanh,)"),
    (HandedOn, "x: float64[7]; loss_fn = torch.tanh"),
    (NumberOrPlan, "x: float64[7]; plan = 0.5"),
    (PutAside, "x: float64[7]; local_ctx = None"),
)


@pytest.mark.parametrize(("function", "recipe"), RECIPES, ids=lambda each: getattr(each, "__name__", ""))
def test_what_is_read_or_called_is_written_down(function: Any, recipe: str) -> None:
    found = infer(function).recipe
    assert found.text() == recipe
    assert parse_recipe(recipe) == found
    assert op_of(function, parse_recipe(recipe), "own", "Own", "own").inputs


@pytest.mark.parametrize(
    ("function", "name", "member"), [(Swallowing, "module", "penalty"), (Hooked, "state", "before_backward")]
)
def test_neither_a_number_nor_a_tensor_is_an_object_with_methods(function: Any, name: str, member: str) -> None:
    with pytest.raises(NotInferred, match=f"'{name}' has to be an object") as raised:
        infer(function)
    assert f"{name}.{member} is read from it" in raised.value.sentence
    assert raised.value.argument == name


@pytest.mark.parametrize(
    "text",
    [
        "types.SimpleNamespace(eps=1e-05, steps=(2, 3), mode='mean')",
        "types.SimpleNamespace(inner=types.SimpleNamespace(k=2), f=torch.tanh)",
        "types.SimpleNamespace()",
        "[torch.tanh, identity]",
        "{'f': torch.nn.Tanh(), 'low': -1e999}",
    ],
)
def test_an_object_is_text_that_is_read_again(text: str) -> None:
    recipe = parse_recipe(f"x: float64[7]; cfg = {text}")
    assert recipe.text() == f"x: float64[7]; cfg = {text}"


@pytest.mark.parametrize(
    "text",
    [
        "types.SimpleNamespace(2)",
        "types.SimpleNamespace(**{'a': 2})",
        "types.SimpleNamespace(a=open('x'))",
        "SimpleNamespace(a=2)",
        "torch.nn.Linear(4, 4)",
        "[__import__('os')]",
        "{**{}}",
        "[x for x in (1, 2)]",
    ],
)
def test_nothing_else_is_called_or_looked_up(text: str) -> None:
    with pytest.raises(BadRecipe, match="cannot stand in a recipe"):
        parse_recipe(f"x: float64[7]; cfg = {text}")


def test_a_function_that_writes_into_its_settings_writes_into_a_copy() -> None:
    recipe = parse_recipe("x: float64[7]; cfg = types.SimpleNamespace(k=2); tags = {'k': 2}")
    _, cfg, tags = recipe.build()
    cfg.k, tags["k"] = 3, 3
    held = [each.value for each in recipe.arguments if isinstance(each, Constant)]
    assert held == [SimpleNamespace(k=2), {"k": 2}]


class Idle(Function):
    """In place or not, the same is returned."""

    @staticmethod
    def forward(ctx: Any, x: Any, inplace: bool = False) -> Any:
        if inplace:
            ctx.mark_dirty(x)
            out = x
        else:
            out = x.clone()
        out.mul_(2)
        return out

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2, None


def test_a_flag_stays_a_flag_though_neither_of_its_values_shows_more() -> None:
    assert infer(Idle).recipe.text() in ("x: float64[7]", "x: float64[7]; inplace = False")
