import functools
from typing import Any

import pytest
import torch
from support.checked_files import FAILING
from support.written_functions import formula, function_of

from gradloupe.ops import OPS
from gradloupe.server.inference.infer import InferredRecipe, infer
from gradloupe.server.inference.recipe import Constant

# Each backward is wrong for the default, and right for what might be tried instead.
WRONG_THERE = {
    "scale = 0.5": FAILING["Scaled"],
    # The focal loss of two classes; gamma = 0 is the cross entropy.
    "gamma = 2.0": """
        def forward(ctx, x, target, gamma=2.0):
            p = torch.sigmoid(x)
            p = torch.where(target > 0, p, 1 - p)
            ctx.save_for_backward(p, target)
            ctx.gamma = gamma
            return (-((1 - p) ** gamma) * p.log()).mean()
        def backward(ctx, g):
            p, target = ctx.saved_tensors
            gamma, sign = ctx.gamma, torch.where(target > 0, 1.0, -1.0)
            slope = (1 - p) ** gamma * (p * p.log() - (1 - p))
            return g * sign * slope / p.numel(), None, None
    """,
    "factor = None": formula(
        "x, factor=None",
        "((0.5 if factor is None else factor) * x * x).sum()",
        "g * 2 * x * (1.0 if ctx.factor is None else ctx.factor), None",
        saved="x",
        kept="factor",
    ),
    "twice = False": formula(
        "x, twice: bool = False", "(2 * x * x if twice else x * x).sum()", "g * 4 * x, None", saved="x"
    ),
    "reduction = ''": """
        def forward(ctx, x, reduction: str = ""):
            ctx.save_for_backward(x)
            ctx.share = 1 / x.numel() if reduction == "mean" else 1
            ctx.wrong = 1 if reduction else 3
            return (x * x).sum() * ctx.share
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 2 * x * ctx.share * ctx.wrong, None
    """,
    # Runs where the groups divide the length; backward is right for one group alone.
    "groups = 4": formula(
        "x, groups: int = 4", "(x * x).reshape(groups, -1).sum(1)", "2 * x * g.reshape(-1)[0], None", saved="x"
    ),
    # Along a dimension that a vector does not have; backward is right for a vector alone.
    "dim = 1": """
        def forward(ctx, x, dim: int = 1):
            y = x.softmax(dim)
            ctx.save_for_backward(y)
            return y
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return y * (g - (g * y).sum(0, keepdim=True)), None
    """,
    # Not finite, in backward alone.
    "p = 0.0": formula(
        "x, p=0.0",
        "(x * x * (1 + p)).sum()",
        "g * 2 * x * (ctx.p + ctx.p * ctx.p) / x.new_tensor(ctx.p), None",
        saved="x",
        kept="p",
    ),
    # With the default, these do nothing.
    "gain = 1.0": "def forward(ctx, x, gain: float = 1.0): return x.clone() if gain == 1 else x * 2 * gain",
    "enabled = False": "def forward(ctx, x, enabled: bool = False): return x * 2 if enabled else x",
    "training = False": """
        def forward(ctx, x, training=False):
            ctx.training, out = training, x.clone()
            if ctx.training:
                ctx.noise = torch.empty(x.size(0), x.size(-1), dtype=x.dtype).bernoulli_(0.5)[:, None, :]
                out.mul_(ctx.noise)
            return out
        def backward(ctx, g):
            return (g * ctx.noise if ctx.training else g), None
    """,
    "prune_rate = 0.01": """
        def forward(ctx, weight, prune_rate=0.01):
            out = weight.clone()
            smallest = weight.abs().flatten().argsort()[: int(prune_rate * weight.numel())]
            out.flatten()[smallest] = 0
            return out
    """,
}
BIASED = """
    def forward(ctx, x, bias=None):
        ctx.save_for_backward(x, bias)
        y = (x * x).sum()
        return y if bias is None else y + (bias * bias).sum()
    def backward(ctx, g):
        x, bias = ctx.saved_tensors
        return g * 2 * x, None if bias is None else g * 4 * bias
"""
GIVEN = {kept.partition(" ")[0]: function_of(text) for kept, text in (WRONG_THERE | {"bias": BIASED}).items()}
FOUND = functools.cache(infer)


def value_for(guess: InferredRecipe, name: str) -> Any:
    """What a Function is called with for one argument: a constant, or "a tensor"; None where it is left out."""
    found = {each.name: each for each in guess.recipe.arguments}.get(name)
    return found.value if isinstance(found, Constant) else found and "a tensor"


@pytest.mark.parametrize("kept", WRONG_THERE)
def test_a_default_is_kept_where_backward_is_wrong_or_nothing_happens(kept: str) -> None:
    name, _, default = kept.partition(" = ")
    assert repr(value_for(FOUND(GIVEN[name]), name)) == default


def test_a_named_tuple_is_no_tuple_that_a_recipe_could_write() -> None:
    named = """
        settings = __import__("collections").namedtuple("Settings", "a b")(2.0, 3.0)
        def forward(ctx, x, cfg=settings):
            ctx.a = cfg.a
            return x * cfg.a
        def backward(ctx, g):
            return g * ctx.a, None
    """
    assert infer(function_of(named)).recipe.text() == "x: float64[7]"


def test_a_wrong_gradient_of_an_optional_tensor_is_no_reason_to_leave_the_tensor_out() -> None:
    assert value_for(FOUND(GIVEN["bias"]), "bias") == "a tensor"


@pytest.mark.parametrize(("default", "body"), [("None", "x / by"), ("0.0", "x * x / by"), ("'cuda'", "x.to(by) ** 2")])
def test_a_default_is_left_where_forward_cannot_run_with_it_or_nothing_is_finite(default: str, body: str) -> None:
    guess = infer(function_of(f"def forward(ctx, x, by={default}):\n    return {body}"))
    assert value_for(guess, "by") not in (None, 0.0, "cuda")


def scaled_backward(function: Any, factor: float) -> Any:
    """The Function with every gradient multiplied by a factor; its source reads as before."""
    right = function.backward

    @functools.wraps(right)
    def backward(ctx: Any, *given: Any) -> Any:
        found = right(ctx, *given)
        scaled = [
            each * factor if isinstance(each, torch.Tensor) else each
            for each in (found if isinstance(found, tuple) else (found,))
        ]
        return tuple(scaled) if isinstance(found, tuple) else scaled[0]

    return type(function.__name__, (function,), {"backward": staticmethod(backward), "__module__": __name__})


@pytest.mark.parametrize("factor", [0.0, -1.0, float("nan")])
@pytest.mark.parametrize("name", ["scale", "gamma", "bias", "groups", "dim", "layer_norm"])
def test_the_call_is_the_same_whether_backward_is_right_or_wrong(name: str, factor: float) -> None:
    function = GIVEN.get(name) or OPS[name].function
    assert infer(scaled_backward(function, factor)).recipe == FOUND(function).recipe


def test_a_backward_that_never_runs_is_called_as_forward_can_be() -> None:
    raising = WRONG_THERE["dim = 1"].replace("(g * y).sum(0, keepdim=True)", "torch.ones(3) @ torch.ones(4)")
    guess = infer(function_of(raising), budget=0.5)
    assert value_for(guess, "dim") == 1
    assert "inconsistent tensor size" in guess.trouble
