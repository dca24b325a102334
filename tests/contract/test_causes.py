import pytest
from support.sections import section
from support.written_functions import function_of

from gradloupe.server.contract import contract_xray
from gradloupe.server.inference.construction.op import op_of
from gradloupe.server.inference.recipe import parse_recipe

AFFINE = "def forward(ctx, x, bias): return 2 * x + bias\ndef backward(ctx, g): return 2 * g, {}"
POWERS = """
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x, x**3
    def backward(ctx, of_square, of_cube):
        (x,) = ctx.saved_tensors
        return {}
"""
ROWS = """
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return torch.tanh(x @ w)
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        slope = 1 - torch.tanh(x @ w) ** 2
        return {}
"""
PLACES = """
    def forward(ctx, x, index):
        ctx.save_for_backward(index)
        ctx.rows = x.shape[0]
        return 3 * x[index]
    def backward(ctx, g):
        (index,) = ctx.saved_tensors
        found = g.new_zeros(ctx.rows, *g.shape[1:])
        {}
        return 3 * found, None
"""
SUMS = "def forward(ctx, x): return x.cumsum(0)\ndef backward(ctx, g): return {}"
TURNED = "def forward(ctx, x): return x.permute(1, 2, 0).contiguous()\ndef backward(ctx, g): return g.permute({})"
# Its derivative is symmetric: a transpose changes nothing.
NORM = """
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x / x.norm()
    def backward(ctx, g):
        x, g = (each.{} for each in (*ctx.saved_tensors, g))
        unit = x / x.norm()
        return ((g - unit * (g * unit).sum()) / x.norm()).double()
"""
MASKED = """
    def forward(ctx, x, mask):
        ctx.save_for_backward(x, mask)
        return torch.where(mask, x**3, torch.zeros_like(x)).sum()
    def backward(ctx, g):
        x, mask = ctx.saved_tensors
        return {}, None
"""
GATHERED, CUBE = "x: float64[4,3]; index: int64[5] < 3", "x: float64[2,2,2]"
WHERE = "x: float64[7]; mask: bool[7]"
UNSURE = ("Compare what backward returns", "a mask is missing")
BIAS, MATRIX, ROW = "x: float64[4,3]; bias: float64[3]", "x: float64[4,3]; w: float64[3]", "x: float64[7]"


@pytest.mark.parametrize(
    ("methods", "returned", "recipe", "name", "cause"),
    [
        (AFFINE, "g[-1]", BIAS, "bias", "is the gradient of the last of dimension 0 of y: the sum over it is missing"),
        (AFFINE, "g.mean(0)", BIAS, "bias", "Compare what backward returns"),
        (POWERS, "2 * x * of_square + 3 * x**2 * of_square", ROW, "x", "uses the grad_output of y0 for all"),
        (POWERS, "2 * x * of_square + 3 * x * of_cube", ROW, "x", "Compare what backward returns"),
        (ROWS, "(g * slope)[:, None] * w, x.t() @ (g[0] * slope)", MATRIX, "w", "uses the grad_output of y[0] for all"),
        (ROWS, "(g * slope)[:, None] * w, x[0] * g[0] * slope[0]", MATRIX, "w", "the first of dimension 0 of y"),
        (PLACES, "found[index] = g", GATHERED, "x", "Of equal indices the last alone counts"),
        (PLACES, "found.index_add_(0, index, g.flip(1))", GATHERED, "x", "Compare what backward returns"),
        (SUMS, "g.cumsum(0)", ROW, "x", "and not its transpose"),
        (SUMS, "g.sum() - g.cumsum(0)", ROW, "x", "Compare what backward returns"),
        (TURNED, "1, 2, 0", CUBE, "x", "and not its transpose"),
        (TURNED, "0, 2, 1", CUBE, "x", "Compare what backward returns"),
        (NORM, "float()", ROW, "x", "Compare what backward returns"),
        (MASKED, "3 * x**2 * g", WHERE, "x", "a mask is missing"),
        (MASKED, "3 * x**2 * g * ~mask", WHERE, "x", "the mask is reversed"),
        (MASKED, "2 * x**2 * g * mask", WHERE, "x", "Compare what backward returns"),
    ],
)
def test_the_planted_cause_is_named(methods: str, returned: str, recipe: str, name: str, cause: str) -> None:
    op = op_of(function_of(methods.replace("{}", returned)), parse_recipe(recipe), "own", "Own", "own.py")
    found = contract_xray(section(op)).checks
    (wrong,) = [each for each in found if (each.id, each.level) == ("GRADIENT", "error")]
    assert wrong.element.partition("[")[0] == name
    assert cause in wrong.advice
    assert all("forgotten" not in each.seen for each in found if each.id == "SAVED-UNUSED") or cause in UNSURE
