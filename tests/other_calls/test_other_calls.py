"""A Function is called in other ways than the one that is shown, and the worst of them decides."""

import re
from typing import Any

import pytest
from support.sampling import each_fourth
from support.sections import look, section
from support.written_functions import formula, function_of

from gradloupe.ops import OPS
from gradloupe.server.contract import CheckRow
from gradloupe.server.inference.construction.op import op_of
from gradloupe.server.inference.infer import infer
from gradloupe.server.inference.recipe import parse_recipe
from gradloupe.server.other_calls.check import other_calls_rows

# Right for a vector: backward sums over the first dimension, where forward normalizes the last.
SOFTMAX_OVER_ROWS = formula("x", "x.softmax(-1)", "y * (g - (g * y).sum(0, keepdim=True))", saved="y")


def softmax_along(argument: str, dimension: str) -> str:
    """A softmax along a dimension that is given, whose backward sums along another one."""
    gradients = f"y * (g - (g * y).sum({dimension}, keepdim=True)), None"
    return formula(f"x, {argument}", "x.softmax(dim)", gradients, saved="y", kept="dim")


# Backward adds up what was picked twice.
PICKED = """
    def forward(ctx, x, index):
        ctx.save_for_backward(index)
        ctx.shape = x.shape
        return x[index]
    def backward(ctx, g):
        return g.new_zeros(ctx.shape).index_add(0, ctx.saved_tensors[0], g), None
"""
# Tables, which do not learn, turn two halves: what cannot be halved is not meant.
ROTATED = """
    def forward(ctx, x, cos, sin):
        ctx.save_for_backward(cos, sin)
        a, b = x.chunk(2, dim=-1)
        return x * cos + torch.cat([-b, a], dim=-1) * sin
    def backward(ctx, g):
        cos, sin = ctx.saved_tensors
        a, b = (g * sin).chunk(2, dim=-1)
        return g * cos - torch.cat([-b, a], dim=-1), None, None
"""
PICKED_ONCE = PICKED.replace("index_add", "index_copy")
VECTOR = "x: float64[7]"
TWO_OF_SEVEN = "x: float64[7]; index: int64[2] < 2"

# What shows a fault, with the Function that hides it, and the recipe where it is not inferred.
HIDDEN = {
    "x of shape (3, 5)": (SOFTMAX_OVER_ROWS, VECTOR),
    "x of shape (8,) and index of shape (3,)": (PICKED_ONCE, TWO_OF_SEVEN),
    # Right for the last dimension, which is the only one of a vector, and for the last of a matrix.
    "x of shape (2, 3, 4) and dim = 0": (softmax_along("dim=-1", "-1"), ""),
    "dim = 0": (softmax_along("dim=1", "1"), ""),
    # Right for its default alone.
    "p = 3": (
        formula("x, p: int = 2", "x**p", "2 * x * g, None", saved="x"),
        "",
    ),
    # Right for what lies in memory without gaps.
    "inputs that have gaps in memory": (
        formula("x", "x * x", "2 * g * torch.as_strided(x, x.shape, x.new_empty(x.shape).stride())"),
        "",
    ),
    # Right where both inputs want a gradient.
    "a gradient for a alone": (
        formula("a, b", "a * b", "g * b if all(ctx.needs_input_grad) else g, g * a"),
        "",
    ),
    "twice = True": ("def forward(ctx, x, twice: bool = False):\n    return 2 * x if twice else x * 1", ""),
    # A difference of forward, with a step that float32 cannot see.
    "float32": (
        formula("x", "x.exp()", "g * ((x + 1e-8).exp() - x.exp()) / 1e-8 if x.dtype == torch.float32 else g * x.exp()"),
        "",
    ),
    # Backward knows nothing of the rows that are left out.
    "ignore_index among target": (
        '''
        def forward(ctx, x, target, ignore_index: int = -100):
            """x: (N, C), target: (N,)"""
            ctx.save_for_backward(x, target)
            picked = x.gather(-1, target.clamp(min=0)[:, None])[:, 0]
            return torch.where(target == ignore_index, 0.0, picked).sum()
        def backward(ctx, g):
            x, target = ctx.saved_tensors
            return g * torch.zeros_like(x).scatter(-1, target.clamp(min=0)[:, None], 1.0), None, None
        ''',
        "",
    ),
    # Any number of tensors times their place, of which backward knows two.
    "3 tensors for *tensors": (
        """
        def forward(ctx, *tensors):
            ctx.count = len(tensors)
            return sum(each * (place + 1) for place, each in enumerate(tensors))
        def backward(ctx, g):
            return tuple(g * min(place + 1, 2) for place in range(ctx.count))
        """,
        "",
    ),
    # Scales by a tensor, whose default backward forgets.
    "the default of scale": (
        formula(
            "x, scale=torch.tensor(0.5)",
            "x * scale",
            "g * (scale if ctx.needs_input_grad[1] else 1), (g * x).sum_to_size(scale.shape)",
            saved="x, scale",
        ),
        "",
    ),
}


def row_of(methods: str | Any, recipe: str = "", given: bool = False) -> CheckRow:
    """What is found by calling a Function in other ways than by this recipe, or by the one that is inferred."""
    function = function_of(methods) if isinstance(methods, str) else methods
    names = ["x", "index", "weight"] if "args" not in recipe else ["*args"]
    found = parse_recipe(recipe, names) if recipe else infer(function).recipe
    (row,) = other_calls_rows(section(op_of(function, found, "f", "f", "own", recipe_given=given)))
    return row


@pytest.mark.parametrize("changed", HIDDEN)
def test_a_fault_that_one_call_hides_is_shown_by_another(changed: str) -> None:
    row = row_of(*HIDDEN[changed])
    assert row.level == "error"
    assert row.seen.startswith(f"Called with {changed}, for ")
    assert row.element.partition("[")[0] in ("x", "a", "tensors2")


def test_a_backward_that_raises_where_all_declared_defaults_are_passed_is_an_error() -> None:
    row = row_of(
        "def forward(ctx, x, chunks: int = 4, state=None): return 3 * x\ndef backward(ctx, g): return 3 * g, None"
    )
    assert row.level == "error"
    assert row.seen.startswith("Called with state passed ")
    assert "backward raises RuntimeError" in row.seen


def test_indices_are_tried_that_are_more_than_their_range_and_as_many_as_nothing_else() -> None:
    assert "; 8 indices in index" in row_of(PICKED, "x: float64[7]; index: int64[7] < 2").seen
    weighed = formula(
        "x, index, weight",
        "x[index] * weight",
        "torch.zeros_like(x).index_add(0, index, g * weight), None, g * x[index]",
    )
    row = row_of(weighed, "x: float64[7]; index: int64[7] < 2; weight: float64[7]")
    assert row.level == "fine"
    assert "; 8 indices in index" in row.seen.partition("Not compared")[0]


def test_a_table_has_a_row_for_each_index_which_a_kernel_does_not_check() -> None:
    kernel = """
        def forward(ctx, x, index):
            rows, columns = ctx.shape = x.shape
            places = index[:, None] * columns + torch.arange(columns)
            ctx.save_for_backward(index)
            return x.flatten()[places % x.numel()]
        def backward(ctx, g):
            return g.new_zeros(ctx.shape).index_add(0, ctx.saved_tensors[0], g), None
    """
    row = row_of(kernel, "x: float64[3,4]; index: int64[4] < 2")
    assert row.level == "fine"
    assert "x of shape (1, 4)" not in row.seen
    assert "x of shape (4, 5)" in row.seen.partition("Not compared")[0]


def test_a_backward_that_raises_in_a_likely_call_is_a_warning() -> None:
    as_many = PICKED.replace("g.new_zeros(ctx.shape)", "torch.zeros_like(g)")
    row = row_of(as_many, "x: float64[7]; index: int64[7] < 2")
    assert row.level == "warning"
    assert row.seen.startswith("Called with 8 indices in index, ")
    assert "backward raises RuntimeError" in row.seen
    assert row.recipe == "x: float64[7]; index: int64[8] < 2"


def test_a_backward_that_raises_for_a_batch_which_forward_takes_as_its_elements_is_a_warning() -> None:
    of_one = formula("x", "x.cumsum(-1)", "g.flip(-1).cumsum(-1).flip(-1) + 0 * x.diag().sum(0)[0]")
    row = row_of(of_one, VECTOR)
    assert row.level == "warning"
    assert row.seen.startswith("Called with x of shape (3, 5), forward runs, and backward raises IndexError")


def test_a_backward_that_raises_for_a_batch_with_another_constant_is_a_warning() -> None:
    total = """
        def forward(ctx, x, keepdim=True):
            ctx.shape = x.shape
            return x.sum(-1, keepdim=keepdim)
        def backward(ctx, g):
            return g.expand(ctx.shape), None
    """
    row = row_of(total)
    assert row.level == "warning"
    assert row.seen.startswith(
        "Called with x of shape (2, 3, 4) and keepdim = False, forward runs, and backward raises "
    )


def test_a_class_that_a_shorter_row_does_not_have_is_no_likely_call() -> None:
    row = row_of(OPS["cross_entropy"].function)
    assert row.level == "fine"
    assert "x of shape (2, 3, 4) and target = 4 (backward raises IndexError" in row.seen


def test_each_other_dimension_is_tried_and_a_right_backward_is_right_along_all_of_them() -> None:
    row = row_of(softmax_along("dim=-1", "ctx.dim"))
    assert row.level == "fine"
    assert "x of shape (2, 3, 4) and dim = 0; x of shape (2, 3, 4) and dim = 1" in row.seen
    assert "dim = 2" not in row.seen


def test_a_weight_that_a_batch_shares_is_not_asked_for_one_of_each_element() -> None:
    scaled = formula("x, weight", "x * weight", "g * weight, (g * x).reshape(-1, x.shape[-1]).sum(0)")
    row = row_of(scaled)
    assert row.level == "fine"


def test_a_size_that_the_source_says_stays() -> None:
    row = row_of(
        """
        def forward(ctx, x):
            y = (x[..., 0] * x[..., 0] + x[..., 1] * x[..., 1]).sqrt()
            ctx.save_for_backward(x, y)
            return y
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return x * (g / y)[..., None]
        """
    )
    assert row.level == "fine"
    assert "(3,)" not in row.seen.partition("Not compared")[0]


def test_a_permutation_stays_one_and_what_the_user_gave_as_it_is() -> None:
    assert row_of(PICKED_ONCE, "x: float64[7]; index: int64[7] shuffled").level == "fine"
    row = row_of(SOFTMAX_OVER_ROWS, VECTOR, given=True)
    assert row.level == "fine"
    assert "shape" not in row.seen


def test_as_many_columns_as_there_are_classes_stay_so_many() -> None:
    counted = """
        def forward(ctx, logits, labels, num_classes):
            chosen = torch.nn.functional.one_hot(labels, num_classes).to(logits.dtype)
            ctx.save_for_backward(torch.softmax(logits, 1) - chosen)
            return -(chosen * torch.log_softmax(logits, 1)).sum()
        def backward(ctx, g):
            return g * ctx.saved_tensors[0], None, None
    """
    found = infer(function_of(counted)).recipe
    assert found.inputs[0].shape[1] == found.arguments[2].value
    assert row_of(counted).level == "fine"


@pytest.mark.parametrize(("least", "doc"), [(1.0, ""), (1.3, "For q > 1.3.")])
def test_a_number_keeps_to_the_side_of_1_on_which_it_is_and_to_bounds_that_are_said(least: float, doc: str) -> None:
    stated = f"""
        def forward(ctx, x, q=1.5):
            ctx.save_for_backward(x)
            ctx.q = q
            return (1 - (x * (1 - q)).exp()) / (q - 1)
        def backward(ctx, g):
            return (g * (ctx.saved_tensors[0] * (1 - ctx.q)).exp() if ctx.q > {least} else 0 * g), None
    """
    row = row_of(function_of(stated, doc=doc))
    assert row.level == "fine"
    assert "q = 3" in row.seen


def test_the_elements_by_which_a_direction_is_off_are_found_however_few_they_are() -> None:
    """Windows overlap in one place of five, where what was laid there before is overwritten."""
    pooled = """
        def forward(ctx, x, kernel=3, stride=2):
            ctx.kernel, ctx.stride, ctx.length = kernel, stride, x.shape[-1]
            return x.unfold(-1, kernel, stride).mean(-1)
        def backward(ctx, g):
            out = g.new_zeros(*g.shape[:-1], ctx.length)
            for i in range(g.shape[-1]):
                begin = i * ctx.stride
                out[..., begin : begin + ctx.kernel] ADDED g[..., i : i + 1] / ctx.kernel
            return out, None, None
    """
    wrong, right = (row_of(pooled.replace("ADDED", each), "x: float64[2,3,4]") for each in ("=", "+="))
    assert (wrong.level, right.level) == ("error", "fine")
    assert wrong.seen.startswith("Called with x of shape (3, 4, 5), for x[1,1,2] = ")


def test_the_size_of_an_identity_that_is_written_stays() -> None:
    angle = """
        def forward(ctx, x):
            cosine = (x.diagonal(dim1=-2, dim2=-1).sum(-1) - 1) / 2
            ctx.save_for_backward(cosine)
            return 3 * cosine
        def backward(ctx, g):
            return 1.5 * g[..., None, None] * torch.eye(3, dtype=g.dtype)
    """
    row = row_of(angle, "x: float64[3,3]")
    assert row.level == "fine"
    assert "(3, 3, 3)" in row.seen


def test_tables_of_a_rotation_are_data_and_what_is_halved_is_even() -> None:
    assert infer(function_of(ROTATED)).recipe.text() == "x: float64[8]; cos: float64[8] nograd; sin: float64[8] nograd"


def test_the_call_that_shows_it_can_be_opened() -> None:
    recipe = row_of(SOFTMAX_OVER_ROWS).advice.partition("`")[2].partition("`")[0]
    assert recipe == "x: float64[3,5]"
    assert parse_recipe(recipe, ["x"]).text() == recipe


@pytest.mark.parametrize("methods", [SOFTMAX_OVER_ROWS.replace("sum(0", "sum(-1"), PICKED, ROTATED])
def test_a_right_function_is_called_in_many_ways_and_accused_in_none(methods: str) -> None:
    row = row_of(methods)
    assert row.level == "fine"
    assert row.seen.startswith("The gradient is right")
    assert row.seen.count(";") >= 4


@pytest.mark.parametrize("name", each_fourth([name for name, op in OPS.items() if op.claim == "exact"][::4]))
def test_right_functions_of_the_gallery_are_not_accused_without_their_declaration(name: str) -> None:
    row = row_of(OPS[name].function)
    assert row.level != "error", row.seen


def test_calls_that_cannot_be_made_are_named() -> None:
    row = row_of(
        """
        def forward(ctx, x):
            assert not x.numel() % 7, "sevens"
            ctx.save_for_backward(x)
            return x.sin()
        def backward(ctx, g):
            return g * ctx.saved_tensors[0].cos()
        """
    )
    assert row.level == "fine"
    assert "x of shape (8,) (it raises AssertionError: " in row.seen


def test_the_targets_of_a_loss_are_stacked_with_its_rows() -> None:
    loss = function_of(
        """
        def forward(ctx, x, target):
            p = x.softmax(-1)
            ctx.save_for_backward(p, target)
            return -p.gather(1, target[:, None]).log().squeeze(1)
        def backward(ctx, g):
            p, target = ctx.saved_tensors
            return g[:, None] * (p - torch.nn.functional.one_hot(target, p.shape[1])), None
        """
    )
    op = op_of(loss, infer(loss).recipe, "loss", "loss", "own")
    evaluation, verdict = look(op, -3.0, 3.0)
    assert op.inputs[0].shape == (3, 4)
    assert evaluation.section.stacked == ("x",)
    assert verdict.word == "matches"


def test_more_arguments_than_the_source_tells_of_are_varied_as_well() -> None:
    total = """
        def forward(ctx, *args):
            ctx.count = len(args)
            return sum(args[1:], args[0] * 1)
        def backward(ctx, g):
            return (g,) * ctx.count
    """
    row = row_of(total, "; ".join(f"args{place}: float64[7]" for place in range(6)))
    assert row.level == "fine"
    assert "args5 of shape (3, 5)" in row.seen


# A spike above 0 with the slope of a sigmoid, which is NaN far below 0.
SPIKES = """
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x > 0).to(x.dtype)
    def backward(ctx, g):
        e = torch.exp(-25 * ctx.saved_tensors[0])
        return g * 25 * e / (1 + e) ** 2
"""
STABLE_SPIKES = SPIKES.replace("torch.exp(-25 * ", "torch.sigmoid(25 * ").replace("e / (1 + e) ** 2", "e * (1 - e)")
# Rounds with the gradient of the identity, but where x is transposed in memory.
ROUNDED_BY_ROWS = """
    def forward(ctx, x):
        ctx.rows = x.is_contiguous()
        return x.round()
    def backward(ctx, g):
        return g if ctx.rows else 2 * g
"""


@pytest.mark.parametrize(
    ("methods", "seen"),
    [
        (SPIKES, "Called with float16, for x[2] = −2.18 backward returned NaN"),
        (STABLE_SPIKES, ""),
        (ROUNDED_BY_ROWS, "Called with inputs that have gaps in memory, for x backward returned "),
    ],
    ids=["NaN", "a right one", "a wrong stride"],
)
def test_what_differs_anyhow_is_called_in_other_ways_too(methods: str, seen: str) -> None:
    function = function_of(methods)
    rows = other_calls_rows(section(op_of(function, infer(function).recipe, "f", "f", "own")), wrong={"x"})
    assert [row.level for row in rows] == ["error" if seen else "fine"]
    assert rows[0].seen.startswith(seen)


def test_numbers_that_a_layout_makes_equal_are_no_fault_of_the_layout() -> None:
    factors = """
        def forward(ctx, x):
            q, r = torch.linalg.qr(x)
            ctx.save_for_backward(q, r)
            return r
        def backward(ctx, g):
            q, r = ctx.saved_tensors
            m = (r @ g.mT).tril()
            return torch.linalg.solve_triangular(r, (q @ (m + m.tril(-1).mT)).mT, upper=True).mT
    """
    row = row_of(factors, "x: float64[3,3]")
    assert row.level == "fine"
    assert "for these numbers backward is not the slope in any layout" in row.seen


@pytest.mark.parametrize(
    ("value", "recipe"),
    [
        ("x.var(-1)", "x: float64[7]"),
        ("x.std(-1)", "x: float64[7]"),
        ("torch.nn.functional.layer_norm(x, x.shape[-1:])", "x: float64[7]"),
        ("torch.nn.functional.batch_norm(x, None, None, training=True)", "x: float64[3,4]"),
        ("torch.nn.functional.group_norm(x, 2)", "x: float64[3,4]"),
        ("1 - torch.nn.functional.cosine_similarity(x, index, -1)", "x: float64[3,4]; index: float64[3,4]"),
    ],
)
def test_what_is_left_of_terms_that_cancel_at_equal_numbers_is_no_wrong_gradient(value: str, recipe: str) -> None:
    names = ", ".join(re.findall(r"(\w+):", recipe))
    by_autograd = f"""
        def forward(ctx, {names}):
            ctx.save_for_backward({names})
            return {value}
        def backward(ctx, g):
            {names}, = saved = [each.detach().requires_grad_() for each in ctx.saved_tensors]
            with torch.enable_grad():
                found = torch.autograd.grad({value}, saved, g)
            return found if len(found) > 1 else found[0]
    """
    assert row_of(by_autograd, recipe).level == "fine"


def test_what_is_drawn_in_another_order_where_the_input_is_laid_out_otherwise_is_no_difference() -> None:
    dropped = """
        def forward(ctx, x):
            mask = 2.0 * (torch.rand_like(x) > 0.5)
            ctx.save_for_backward(mask)
            return x * mask
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]
    """
    op = op_of(function_of(dropped), parse_recipe("x: float64[3,4]", ["x"]), "f", "f", "own")
    (row,) = other_calls_rows(section(op), {"x"})
    assert row.level == "fine"
    assert "inputs that are transposed in memory" in row.seen
