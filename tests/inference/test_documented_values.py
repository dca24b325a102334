"""What docstrings, comments and messages say of the values of an argument is how it is filled, and what it stays."""

import pytest
import torch
from support.sections import look
from support.written_functions import formula, function_of

from gradloupe import fill_tensor, keep_values
from gradloupe.server.inference.construction.op import op_of
from gradloupe.server.inference.infer import infer
from gradloupe.server.inference.recipe import parse_recipe

PRODUCT = formula("A, x", "A @ x", "torch.outer(g, x), A.mT @ g")
SUM = formula("x, y", "x * y", "g * y, g * x")
# What it does with y cannot be read in the source, as in that of a kernel.
PICKED = """
    def forward(ctx, x, y):
        rows, columns = ctx.shape = x.shape
        places = getattr(y, "lo" + "ng")()[:, None] % columns
        ctx.save_for_backward(places)
        return x.gather(1, places)
    def backward(ctx, g):
        (places,) = ctx.saved_tensors
        return g.new_zeros(ctx.shape).scatter_add(1, places, g), None
"""
MASKED = formula("x, y", "x * getattr(y, 'to')(x.dtype)", "g * ctx.saved_tensors[1].to(g.dtype), None")
# What is said, in a docstring, of a Function with these methods, and its recipe.
SAID = {
    "A: a symmetric matrix; x: a vector.": (PRODUCT, "A: float64[4,4] symmetric; x: float64[4]"),
    "Solves for positive definite A.": (PRODUCT, "A: float64[4,4] spd; x: float64[4]"),
    "Rotates by an orthogonal matrix A.": (PRODUCT, "A: float64[4,4] orthogonal; x: float64[4]"),
    "The cosine of unit vectors x and y.": (SUM, "x: float64[7] unit; y: float64[7] unit"),
    "x: scores; y: weights that sum to one.": (SUM, "x: float64[7]; y: float64[7] marginal"),
    "x: queries; y: positions in ascending order.": (SUM, "x: float64[7]; y: float64[7] rising"),
    "x: logits; y: one-hot targets.": (SUM, "x: float64[7]; y: float64[7] onehot"),
    "x: the input; y (Tensor): binary mask.": (SUM, "x: float64[7]; y: float64[7] binary"),
    "x: (rows, N), y: (rows,) int64": (PICKED, "x: float64[3,4]; y: int64[3] < 2"),
    "x (Tensor): scores of shape (rows, N). y (LongTensor): labels of shape (rows,).": (
        PICKED,
        "x: float64[3,4]; y: int64[3] < 2",
    ),
    "x: of length 6; y (Tensor): of length nnz = 6": (SUM, "x: float64[6]; y: float64[6]"),
    "Picks of x where y, a boolean mask, is true.": (MASKED, "x: float64[7]; y: bool[7]"),
    # These say nothing of an argument.
    "Multiplies x by y. Returns probabilities that sum to one.": (SUM, "x: float64[7]; y: float64[7]"),
    "x: unsorted values, y: non-symmetric.": (SUM, "x: float64[7]; y: float64[7]"),
}
SYMMETRIC = """
    def forward(ctx, A):
        if not torch.equal(A, A.mT):
            raise ValueError("A must be symmetric")
        w, v = torch.linalg.eigh(A)
        ctx.save_for_backward(v[..., -1])
        return w[..., -1]
    def backward(ctx, g):
        (v,) = ctx.saved_tensors
        return g[..., None, None] * v[..., :, None] * v[..., None, :]
"""
# A plan of transport by the iterations of Sinkhorn, whose gradients for the marginals are known up to a constant.
TRANSPORT = """
    def forward(ctx, c, a, b, num_sink, strength):
        # a, b are the marginals, c the cost matrix
        kernel = torch.exp(-c / strength)
        u = torch.ones_like(a)
        for _ in range(num_sink):
            v = b / (kernel.mT @ u)
            u = a / (kernel @ v)
        p = u[:, None] * kernel * v
        ctx.save_for_backward(p)
        ctx.strength = strength
        return p
    def backward(ctx, g):
        (p,) = ctx.saved_tensors
        n, m = p.shape
        both = torch.cat((torch.cat((p.sum(1).diag(), p), 1), torch.cat((p.mT, p.sum(0).diag()), 1)))
        found = torch.linalg.solve(both[:-1, :-1], torch.cat(((g * p).sum(1), (g * p).sum(0)[:-1])))
        of_a, of_b = found[:n], torch.cat((found[n:], found.new_zeros(1)))
        return -p * (g - of_a[:, None] - of_b) / ctx.strength, of_a, of_b, None, None
"""


@pytest.mark.parametrize("said", SAID)
def test_what_is_said_of_values_fills_a_tensor(said: str) -> None:
    methods, recipe = SAID[said]
    assert infer(function_of(methods, doc=said)).recipe.text() == recipe


def test_what_is_said_to_be_frozen_needs_no_gradient() -> None:
    none = formula("x, W", "x * W", "g * W, None")
    found = (infer(function_of(none, doc=doc)).recipe.text() for doc in ("Scales x, with W frozen.", "Scales x by W."))
    assert tuple(found) == ("x: float64[7]; W: float64[7] nograd", "x: float64[7]; W: float64[7]")


def test_a_reason_quotes_the_words() -> None:
    found = infer(function_of(SUM, doc="y: weights that sum to one."))
    assert "as “sum to one” says" in dict(found.because)["y"]


def test_a_matrix_that_forward_asks_to_be_symmetric_stays_so_and_backward_is_judged_on_such_ones() -> None:
    for factor, word in (("", "matches"), (" * 2", "differs")):
        function = function_of(SYMMETRIC.replace("v[..., None, :]", f"v[..., None, :]{factor}"))
        recipe = infer(function).recipe
        assert recipe.text() == "A: float64[4,4] symmetric"
        op = op_of(function, recipe, "f", "f", "own")
        assert look(op, -1.0, 1.0, wrt="A[0,1]")[1].word == word


def test_a_positive_definite_matrix_stays_symmetric_only_where_forward_refuses_others() -> None:
    recipe = parse_recipe("A: float64[4,4] spd", ["A"])
    assert op_of(function_of(SYMMETRIC), recipe, "f", "f", "own").kept == {"A": "symmetric"}
    other = function_of(formula("A", "torch.logdet(A)", "g * torch.linalg.inv(A).mT"))
    assert op_of(other, recipe, "f", "f", "own").kept == {}


def test_marginals_of_a_transport_go_on_to_add_up_to_1() -> None:
    function = function_of(TRANSPORT)
    recipe = infer(function).recipe
    said = "c: float64[3,4] positive; a: float64[3] marginal; b: float64[4] marginal; num_sink = 100; strength = 0.5"
    assert recipe.text() == said
    converged = parse_recipe(said.replace("100", "20"), ["c", "a", "b", "num_sink", "strength"])
    op = op_of(function, converged, "f", "f", "own")
    for wrt in ("a[1]", "b[2]", "c[0,1]"):
        start, stop = next(each for each in op.inputs if each.name == wrt[0]).domain
        assert look(op, start, stop, 21, wrt=wrt)[1].word in ("matches", "matches here")


@pytest.mark.parametrize("kind", ["symmetric", "orthogonal", "unit", "marginal"])
def test_what_is_of_a_kind_stays_as_it_is_and_others_become_so(kind: str) -> None:
    held = fill_tensor((3, 4, 4), kind)
    assert torch.allclose(keep_values(held, kind), held, 1e-12, 1e-12)
    found = keep_values(held + 0.1 * fill_tensor((3, 4, 4), seed=1), kind)
    assert torch.allclose(keep_values(found, kind), found, 1e-12, 1e-12)


def test_labels_in_which_nothing_differs_would_show_one_case_alone() -> None:
    for fill in ("binary", "signs"):
        rows = fill_tensor((50, 2), fill)
        assert bool((rows[:, 0] != rows[:, 1]).all())
