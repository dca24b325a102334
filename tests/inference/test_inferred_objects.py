"""Arguments that are neither tensors nor numbers: objects, settings, modules and things to call, written as text."""

import pytest
import torch
from support.written_functions import formula, function_of

import gradloupe
from gradloupe.server.inference.construction.op import op_of
from gradloupe.server.inference.infer import NotInferred, infer
from gradloupe.server.inference.recipe import parse_recipe

OBJECTS = {
    "x: float64[7]; cfg = types.SimpleNamespace(eps=1e-05, use_clamp=False)": """
        def forward(ctx, x, cfg):
            y = (x * x + cfg.eps).sqrt()
            return y.clamp(min=0) if cfg.use_clamp else y
    """,
    # The plural of what a tensor has is no misspelling of it.
    "x: float64[7]; cfg = types.SimpleNamespace(dims=-1)": """
        def forward(ctx, x, cfg):
            ctx.shape = x.shape
            return x.sum(cfg.dims, keepdim=True)
        def backward(ctx, g):
            return g.expand(ctx.shape), None
    """,
    "x: float64[7]; config = {'num_steps': 10}": 'def forward(ctx, x, config): return x * config["num_steps"]',
    "x: float64[7]; f = torch.tanh": """
        def forward(ctx, x, f):
            with torch.enable_grad():
                ctx.x = x.detach().requires_grad_()
                ctx.y = f(ctx.x)
            return ctx.y.detach()
        def backward(ctx, g):
            return torch.autograd.grad(ctx.y, ctx.x, g, retain_graph=True)[0], None
    """,
    "x: float64[7]; block = torch.nn.Tanh()": """
        def forward(ctx, x, block, *weights):
            ctx.block, ctx.count = block, len(weights)
            ctx.save_for_backward(x)
            with torch.no_grad():
                return x + block.forward(x)
        def backward(ctx, g):
            x = ctx.saved_tensors[0].detach().requires_grad_()
            with torch.enable_grad():
                y = x + ctx.block.forward(x)
            found = torch.autograd.grad(y, (x, *ctx.block.parameters()), g)
            return (found[0], None, *found[1:])
    """,
    "v: float64[7]; threshold = 0.5; surrogate = torch.mul": """
        def forward(ctx, v, threshold, surrogate):
            ctx.save_for_backward(v)
            ctx.threshold, ctx.surrogate = threshold, surrogate
            return (v > threshold).to(v)
        def backward(ctx, g):
            (v,) = ctx.saved_tensors
            return g * ctx.surrogate(v, ctx.threshold), None, None
    """,
    "x: float64[7]; surrogate = torch.addcmul": """
        def forward(ctx, x, surrogate):
            ctx.surrogate = surrogate
            out = (x > 0).to(x)
            ctx.save_for_backward(x, out)
            return out
        def backward(ctx, g):
            x, out = ctx.saved_tensors
            return ctx.surrogate(x, g, out), None
    """,
    "x: float64[7]; layers = (torch.tanh,)": """
        def forward(ctx, x, layers):
            for layer in layers:
                x = layer(x)
            return x
    """,
    # What is called only elsewhere is known by its name.
    "x: float64[7]; loss_fn = torch.tanh": """
        def forward(ctx, x, loss_fn):
            ctx.save_for_backward(x)
            ctx.given = {"fn": loss_fn}
            return ctx.given["fn"](x).sum()
        def backward(ctx, g):
            return g * ctx.saved_tensors[0], None
    """,
    # A number, or an object that has one: which of them is asked for.
    "x: float64[7]; plan = 0.5": """
        class Plan:
            factor = 2.0
        def forward(ctx, x, plan):
            ctx.factor = plan.factor if isinstance(plan, Own.Plan) else plan
            return x * ctx.factor
    """,
    # What is only put aside.
    "x: float64[7]; local_ctx = None": """
        def forward(ctx, x, local_ctx):
            ctx.local_ctx = local_ctx
            return x * 3
    """,
}


@pytest.mark.parametrize("recipe", OBJECTS)
def test_what_is_read_or_called_is_written_down(recipe: str) -> None:
    function = function_of(OBJECTS[recipe])
    found = infer(function).recipe
    assert found.text() == recipe
    assert parse_recipe(recipe) == found
    assert op_of(function, parse_recipe(recipe), "own", "Own", "own").inputs


METHODS = {
    "module.penalty": """
        def forward(ctx, x, module):
            ctx.module = module
            return x * 1
        def backward(ctx, g):
            try:
                return g * ctx.module.penalty(g), None
            except AttributeError:
                return g, None
    """,
    "state.before_backward": """
        def forward(ctx, state, x):
            ctx.state = state
            return x * 2
        def backward(ctx, g):
            ctx.state.before_backward()
            return None, g * 2
    """,
    "config.gain, config.shifted": "def forward(ctx, x, config): return x * config.gain + config.shifted(x)",
}


@pytest.mark.parametrize("read", METHODS)
def test_neither_a_number_nor_a_tensor_is_an_object_with_methods(read: str) -> None:
    with pytest.raises(NotInferred, match="has to be an object") as raised:
        infer(function_of(METHODS[read]), budget=0.5)
    assert f"{read} is read from it" in raised.value.sentence
    assert raised.value.argument == read.partition(".")[0]


def test_a_flag_stays_a_flag_though_neither_of_its_values_shows_more() -> None:
    idle = """
        def forward(ctx, x, inplace: bool = False):
            if inplace:
                ctx.mark_dirty(x)
            out = x if inplace else x.clone()
            out.mul_(2)
            return out
    """
    assert infer(function_of(idle)).recipe.text() in ("x: float64[7]", "x: float64[7]; inplace = False")


GIVEN_SLOPE = function_of("""
    def forward(ctx, x, surrogate_fn):
        ctx.surrogate = surrogate_fn
        ctx.save_for_backward(x)
        return (x > 0).to(x.dtype)

    def backward(ctx, g):
        return ctx.surrogate(ctx.saved_tensors[0], g), None
""")


def test_a_callable_of_our_own_is_no_evidence_against_a_function():
    found = gradloupe.check(GIVEN_SLOPE)
    assert (found.word, found.ok, found.judged) == ("unsolved", False, False)
    assert "surrogate_fn has to be a callable that only you know" in found.sentence
    assert gradloupe.check(GIVEN_SLOPE, (torch.tensor([0.3, -0.4]), torch.mul)).word == "differs"


# Meant for a k of one column: of any other the gradient is larger than k.
COLUMN = function_of("""
    def forward(ctx, q, k):
        ctx.save_for_backward(q, k)
        return torch.tanh(q[:, None] * k)

    def backward(ctx, g):
        q, k = ctx.saved_tensors
        g = g * (1 - torch.tanh(q[:, None] * k) ** 2)
        return (g * k).sum(-1), g * q
""")


def test_a_gradient_that_is_larger_than_its_input_is_no_evidence_either():
    found = gradloupe.check(COLUMN)
    assert (found.word, found.ok, found.judged) == ("unsolved", False, False)
    assert "backward returns a larger gradient for k than that is" in found.sentence
    row = torch.tensor([0.5, -0.25, 2.0], dtype=torch.float64)
    assert gradloupe.check(COLUMN, (row, row)).word == "differs"


# Too large a gradient for an input whose shape is no guess: it stands alone, or forward or its name says its rank.
TOO_LARGE = {
    "x: float64[7]": formula("x", "x * x", "(g * x).expand(3, *g.shape)"),
    "v: float64[7]": formula("v", "torch.outer(v, v)", "g * v"),
    "input: float64[3,4]; weight: float64[5,4]; bias: float64[5]": formula(
        "input, weight, bias", "input @ weight.t() + bias", "g @ weight, g.t() @ input, 0.5 * g", saved="input, weight"
    ),
}


@pytest.mark.parametrize("recipe", TOO_LARGE)
def test_it_is_the_gradient_that_is_wrong_where_the_call_is_no_guess(recipe):
    function = function_of(TOO_LARGE[recipe])
    assert infer(function).recipe.text() == recipe
    found = gradloupe.check(function)
    assert (found.word, found.judged) == ("differs", True)
    assert "GRAD-SHAPE-REDUCED" in {each.id for each in found.findings if each.level == "error"}
