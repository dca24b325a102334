import pytest
from support.sections import section
from support.written_functions import function_of

from gradloupe.server.contract import CheckRow
from gradloupe.server.inference.construction.op import op_of
from gradloupe.server.inference.recipe import parse_recipe
from gradloupe.server.other_calls.check import other_calls_rows

LARGEST = """
    def forward(ctx, x):
        y = x.amax(-1, keepdim=True)
        ctx.save_for_backward(x, y)
        return y
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        largest = (x == y).to(x)
        return {}
"""
LARGER = """
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return torch.maximum(x, y)
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        share = torch.where(x == y, 0.5, (x > y).to(x))
        return {}
"""
SORTED = """
    def forward(ctx, x):
        y, order = x.sort(-1)
        ctx.save_for_backward(order)
        return y
    def backward(ctx, g):
        (order,) = ctx.saved_tensors
        return torch.zeros_like(g).scatter(-1, order, g)
"""
# The sum of the distances of neighbours, where a distance of 0 counts as a rise: no derivative, but fair.
RISES = """
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.diff(dim=-1).abs().sum(-1)
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        sign = torch.where(x.diff(dim=-1) >= 0, 1.0, -1.0).to(x) * g[..., None]
        out = torch.zeros_like(x)
        out[..., 1:] += sign
        out[..., :-1] -= sign
        return out
"""
# A cone has no slope at its tip.
DISTANCE = """
    def forward(ctx, x, y):
        length = (x - y).norm()
        ctx.save_for_backward((x - y) / length)
        return length
    def backward(ctx, g):
        (unit,) = ctx.saved_tensors
        return g * unit, -g * unit
"""
WRONG = {
    "each of the largest": (LARGEST.format("g * largest"), "equal numbers in pairs"),
    "both of two": (LARGER.format("g * (x >= y), g * (y >= x)"), "y equal to x"),
    "neither of two": (LARGER.format("g * (x > y), g * (y > x)"), "y equal to x"),
}
RIGHT = {
    "shared by the largest": LARGEST.format("g * largest / largest.sum(-1, keepdim=True)"),
    "the first of the largest": LARGEST.format("torch.zeros_like(x).scatter(-1, x.argmax(-1, keepdim=True), g)"),
    "sorted": SORTED,
    "rises": RISES,
    "the first of two": LARGER.format("g * (x >= y), g * (y > x)"),
    "halves": LARGER.format("g * share, g * (1 - share)"),
    "a distance": DISTANCE,
}


def row_of(methods: str) -> CheckRow:
    recipe = "x: float64[7]; y: float64[7]" if "x, y)" in methods.partition(":")[0] else "x: float64[3,4]"
    function = function_of(methods)
    (row,) = other_calls_rows(section(op_of(function, parse_recipe(recipe), "f", "f", "own", recipe_given=True)))
    return row


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_subgradient_is_told(name: str) -> None:
    methods, changed = WRONG[name]
    row = row_of(methods)
    assert row.level == "error"
    assert row.seen.startswith(f"Called with {changed}, for x = ")
    assert "moved by equal amounts" in row.seen


@pytest.mark.parametrize("name", RIGHT)
def test_every_subgradient_is_right(name: str) -> None:
    row = row_of(RIGHT[name])
    assert row.level == "fine"
    assert "equal numbers in pairs" in row.seen
