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
    ],
)
def test_the_planted_cause_is_named(methods: str, returned: str, recipe: str, name: str, cause: str) -> None:
    op = op_of(function_of(methods.replace("{}", returned)), parse_recipe(recipe), "own", "Own", "own.py")
    found = contract_xray(section(op)).checks
    (wrong,) = [each for each in found if (each.id, each.level) == ("GRADIENT", "error")]
    assert wrong.element.partition("[")[0] == name
    assert cause in wrong.advice
    assert all("forgotten" not in each.seen for each in found if each.id == "SAVED-UNUSED") or "Compare" in cause
