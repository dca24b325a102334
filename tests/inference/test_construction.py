"""From a Function and a recipe to an op: what is swept, over which range, and how far its parameters may be moved."""

import pytest
import torch
from functions import user_written
from support.answers import document
from support.sampling import sampled
from support.sections import look, section
from support.written_functions import function_of

from gradloupe.ops import OPS
from gradloupe.server.contract import contract_xray
from gradloupe.server.inference.construction.op import op_of
from gradloupe.server.inference.recipe import Constant, NotInferred, Recipe, TensorArgument, parse_recipe

# Ops of the gallery whose call is the Function itself: what they declare is what has to be found.
BARE = [name for name, op in OPS.items() if op.call is None]


def made(function, recipe, name="own", **given):
    return op_of(function, parse_recipe(recipe), name, name, "own", given or None)


def verdict(op):
    start, stop = next(each.domain for each in op.inputs if each.name == op.wrt.partition("[")[0])
    return look(op, start, stop, 201)[1].word


def parameter(op, name):
    return next(each for each in op.parameters if each.name == name)


def stripped(op):
    """The recipe of an op of the gallery, with its tensors filled as those of a stranger."""
    tensors = [TensorArgument(each.name, each.shape or (7,)) for each in op.inputs]
    return Recipe((*tensors, *(Constant(each.name, each.default) for each in op.parameters)))


@pytest.mark.parametrize("name", sampled(BARE))
def test_an_op_of_the_gallery_is_found_again_without_its_declaration(name):
    declared = OPS[name]
    op = op_of(declared.function, stripped(declared), declared.name, declared.title, declared.group)
    if declared.name != "gradient_viewed":  # a matrix there, though its elements do not see each other
        assert [each.shape for each in op.inputs] == [each.shape for each in declared.inputs]
    assert len(op.outputs) == len(declared.outputs)
    for each in declared.parameters:
        found = parameter(op, each.name)
        assert found.kind == each.kind
        assert found.minimum < found.maximum
    swept = (declared.wrt or declared.inputs[0].name).partition("[")[0]
    domain = next(each.domain for each in declared.inputs if each.name == swept)
    expected = look(declared, *domain)[1].word
    if declared.name not in ("norm_with_a_hole", "gelu_by_tanh", "top_k_mask"):  # theirs is at one place, or faint
        assert verdict(op) == ("differs" if expected == "matches its surrogate" else expected)


def test_elements_that_do_not_see_each_other_are_one_number():
    op = made(user_written.Clamp, "x: float64[2,3]; min = -1.0; max = 1.0")
    assert op.inputs[0].shape == ()
    assert (op.wrt, op.of, op.call) == ("x", "y", None)
    op = made(user_written.Line, "x: float64[4]; start: float64[4]; stop: float64[4]")
    assert [each.shape for each in op.inputs] == [(), (), ()]


def test_a_backward_that_mixes_elements_keeps_the_shape():
    op = made(user_written.Centred, "x: float64[7]")
    assert op.inputs[0].shape == (7,)
    assert (op.wrt, op.of) == ("x[0]", "y[0]")
    assert verdict(op) == "differs"


def test_a_rank_that_matters_is_kept():
    op = op_of(OPS["kill_head"].function, parse_recipe("x: float64[3,4]; n = 2"), "own", "own", "own")
    assert op.inputs[0].shape == (3, 4)
    assert op.wrt.removeprefix("x") == op.of.removeprefix("y")
    assert int(op.wrt[-2]) >= 2  # the first two columns are dead


def test_the_pair_moves():
    op = made(
        user_written.Rows, "index: int64[5] < 2; table: float64[6,4]; weight: float64[5,4] nograd; then = identity"
    )
    evaluation, judged = look(op)
    assert judged.word == "matches"
    assert evaluation.forward.max() - evaluation.forward.min() > 0.1


def test_constants_are_put_in_their_places():
    op = made(
        user_written.Rows, "index: int64[5] < 2; table: float64[6,4]; weight: float64[5,4] nograd; then = torch.tanh"
    )
    assert [each.name for each in op.inputs] == ["table"]
    assert op.parameters == ()
    table = torch.ones(6, 4, dtype=torch.float64)
    again = op(table)
    assert again.shape == (5, 4)
    assert torch.equal(op(table), again)
    assert op(table.float()).dtype == torch.float32


def test_what_a_function_writes_into_is_never_seen_again():
    op = made(lambda x, h: x + h.add_(1), "x: float64[3]; h: float64[3] nograd")
    x = torch.zeros(3, dtype=torch.float64)
    assert torch.equal(op(x), op(x))


@pytest.mark.parametrize(
    ("function", "recipe", "start", "stop"),
    [
        (user_written.Log, "x: float64[7] positive", (0.0, 0.1), (3.0, 4.0)),
        (user_written.Log, "x: float64[7]", (0.0, 0.1), (3.0, 3.0)),
        (torch.asin, "x: float64[7]", (-1.0, -0.99), (0.99, 1.0)),
        (torch.tanh, "x: float64[7]", (-3.0, -3.0), (3.0, 3.0)),
        (user_written.Fire, "x: float64[7]", (-1000.0, -100.0), (100.1, 1000.0)),
        (lambda x: x.exp().exp(), "x: float64[7]", (-3.0, -1.0), (1.0, 2.8)),
    ],
)
def test_the_range_is_where_something_is_to_be_seen(function, recipe, start, stop):
    low, high = made(function, recipe).inputs[0].domain
    assert start[0] <= low <= start[1]
    assert stop[0] <= high <= stop[1]


@pytest.mark.parametrize(
    ("recipe", "least", "most"),
    [
        ("x: float64[3,4] simplex", 0.01, 0.99),
        ("x: float64[3] rising", -2.0, 2.0),
        ("x: float64[7] binary", 0.0, 1.0),
        ("x: float64[7] positive", 0.01, 10.0),
        ("x: float64[7] negative", -10.0, -0.01),
    ],
)
def test_the_range_stays_where_the_values_have_a_meaning(recipe, least, most):
    low, high = made(lambda x: x.cumsum(-1) * 1, recipe).inputs[0].domain
    assert least <= low < high <= most


def test_a_number_among_rising_ones_stays_between_its_neighbours():
    op = made(lambda x: x[1] * x[1] + x[1], "x: float64[3] rising")
    low, high = op.inputs[0].domain
    assert op.wrt == "x[1]"
    assert -1 < low < 0 < high < 1


def test_a_range_reaches_beyond_the_limits_it_is_given():
    low, high = made(user_written.Clamp, "x: float64[7]; min = -8.0; max = 20.0").inputs[0].domain
    assert low < -8 < 20 < high


def test_a_definite_matrix_is_swept_where_it_is_definite():
    op = made(user_written.Inverse, "a: float64[3,3] spd")
    (low, high), values = op.inputs[0].domain, torch.tensor(op.inputs[0].values).reshape(3, 3)
    row, column = map(int, op.wrt[2:-1].split(","))
    assert low < values[row, column] < high
    assert verdict(op) == "matches"


def test_a_stable_matrix_is_swept_where_it_is_stable():
    op = made(lambda a: torch.linalg.matrix_exp(a), "a: float64[3,3] stable")
    values = torch.tensor(op.inputs[0].values).reshape(3, 3)
    for end in op.inputs[0].domain:
        values[*map(int, op.wrt[2:-1].split(","))] = end
        assert (torch.linalg.eigvals(values).abs() < 0.95).all()
        assert (torch.linalg.eigvals(values).real < 0).all()


def test_parameters_have_bounds_that_were_tried():
    op = made(user_written.Powered, "x: float64[7]; power = 2")
    assert (parameter(op, "power").minimum, parameter(op, "power").maximum) == (1, 4)
    op = made(lambda x, scale: (x / scale).clamp(-5, 5), "x: float64[7]; scale = 0.5")
    assert 0 < parameter(op, "scale").minimum < 0.5 < parameter(op, "scale").maximum
    op = made(lambda x, cut: x * (1 / 0 if cut > 1.2 else cut), "x: float64[7]; cut = 1.0")
    assert 1.0 <= parameter(op, "cut").maximum <= 1.2


def test_strings_become_a_choice_of_those_that_work():
    op = made(user_written.Pooled, "x: float64[7]; mode = 'mean'; dim = None; twice = False")
    mode, twice = op.parameters
    assert (mode.name, mode.kind, mode.choices) == ("mode", "choice", ("mean", "sum", "total"))
    assert (twice.name, twice.kind) == ("twice", "switch")
    x = torch.ones(7, dtype=torch.float64)
    assert float(op(x, "sum", True)) == 14.0


def test_a_string_or_switch_that_can_only_be_what_it_is_stays():
    op = made(lambda x, mode, on: x * 2 if on and mode == "a" else 1 / 0, "x: float64[7]; mode = 'a'; on = True")
    assert op.parameters == ()
    assert op(torch.ones(2)).tolist() == [2.0, 2.0]


def test_names_of_the_address_get_an_underscore():
    op = made(user_written.Line, "x: float64[]; start: float64[]; stop: float64[]")
    assert [each.name for each in op.inputs] == ["x", "start_", "stop_"]
    op = made(lambda x, start, start_: x + start + start_, "x: float64[7]; start = 1.0; start_ = 2.0")
    assert [each.name for each in op.parameters] == ["start_", "start__"]


def test_outputs_are_called_what_forward_calls_them():
    assert made(user_written.Polar, "r: float64[7]; theta: float64[7]").outputs == ("x", "z")
    assert made(lambda x: (x, x * 2), "x: float64[7]").outputs == ("y0", "y1")
    assert made(user_written.logged, "x: float64[7]").outputs == ("y0", "y1")
    either = """
        def forward(ctx, x, flag=False):
            if flag:
                small, large = x, 10 * x
                return small, large
            a, b = 2 * x, 3 * x
            return a, b
        def backward(ctx, g, h):
            return 2 * g + 3 * h, None
    """
    assert made(function_of(either), "x: float64[7]").outputs == ("a", "b")
    assert made(user_written.Log, "x: float64[7]").outputs == ("y",)


def test_single_precision_is_kept_where_nothing_else_is_taken():
    op = made(user_written.Single, "x: float32[7]")
    assert op.dtype == "float32"
    assert op(torch.ones(3)).dtype == torch.float32
    assert made(user_written.Log, "x: float64[7]").dtype == "float64"
    mixed = made(lambda x, h: x * h.to(x.dtype) if h.dtype == torch.float16 else 1 / 0, "x: float64[7]; h: float16[7]")
    x = torch.ones(2, dtype=torch.float64)
    assert mixed(x, x).tolist() == [1.0, 1.0]


def test_a_tensor_of_no_dimensions_stays_one_where_it_matters():
    def asks(x, a):
        if a.dim():
            raise ValueError("a has to be a number")
        return (x * a).sum()

    op = made(asks, "x: float64[3]; a: float64[]")
    assert [each.shape for each in op.inputs] == [(3,), ()]
    assert op(torch.ones(3), torch.full((1,), 2.0)).tolist() == 6.0
    assert verdict(op) == "matches"


def test_tensors_that_are_given_are_held_as_they_are():
    op = made(user_written.Clamp, "x: float64[2]; min = -1.0; max = 1.0", x=torch.tensor([0.123456, 9.0]).double())
    assert op.inputs[0].values == pytest.approx((0.123456,))


def test_an_output_without_elements_is_passed_over():
    op = made(lambda x: (x[:0], None, x.sum()), "x: float64[3]")
    assert (op.outputs, op.of) == (("y0", "y1", "y2"), "y2")
    assert verdict(op) == "matches"


def test_noise_is_the_same_for_every_call():
    before = torch.get_rng_state()
    op = made(lambda x: x + torch.rand_like(x), "x: float64[7]")
    assert torch.equal(torch.get_rng_state(), before)
    assert op.inputs[0].shape == ()


def test_a_call_that_fails_says_what_was_tried():
    with pytest.raises(NotInferred) as failed:
        made(user_written.Powered, "x: float64[7]; power = 9")
    assert "lie from 1 to 4" in failed.value.sentence
    assert failed.value.recipe == "x: float64[7]; power = 9"
    with pytest.raises(NotInferred, match="no floating tensor"):
        made(lambda x: x > 0, "x: float64[7]")
    with pytest.raises(NotInferred, match="nothing to sweep"):
        made(lambda x: x.sum(), "x: float64[0]")


def test_a_backward_that_fails_makes_an_op_and_one_in_place_is_looked_at():
    assert verdict(made(OPS["one_gradient_too_few"].function, "x: float64[7]; factor = 2.0")) == "failed"
    assert verdict(made(user_written.Doubled, "x: float64[7]")) == "matches"


def test_the_function_in_a_plain_function_is_what_the_page_is_about():
    op = made(user_written.logged, "x: float64[7]")
    assert op.function is user_written.Log
    assert verdict(op) == "matches"
    ids = {each.id: each.level for each in contract_xray(section(op)).checks}
    assert ids["NO-BACKWARD"] == "fine"  # it was seen through what calls it


@pytest.mark.parametrize("function", [user_written.smooth, torch.tanh, torch.nn.Tanh()], ids=("Python", "C", "module"))
def test_a_function_without_a_function_is_told_in_a_sentence(function):
    op = made(function, "x: float64[7]; k = 2.0" if function is user_written.smooth else "x: float64[7]")
    assert verdict(op) == "matches"
    (row,) = contract_xray(section(op)).checks
    assert row.seen.endswith("no contract to check.")
    assert "no autograd.Function" in document(op, "node", at=0.5)[0]["sentence"]
    assert isinstance(op.source, str)
    assert isinstance(op.doc, str)


def test_a_staircase_that_is_too_fine_stays_where_forward_is_finite():
    stairs = """
        def forward(ctx, x, clip):
            return torch.where(x >= 0, torch.floor(10 * x).clamp(max=10 * clip), torch.nan)
        def backward(ctx, g):
            return g, None
    """
    op = made(function_of(stairs), "x: float64[7]; clip = 30.0")
    assert op.inputs[0].domain[0] >= 0


@pytest.mark.parametrize("seed", [0, 42, 100, 123, 2024, -7, 2**31 - 1])
def test_seeds_are_offered_from_a_hundred_that_the_default_is_among(seed):
    function = function_of("""
        def forward(ctx, x, seed):
            ctx.kept = torch.rand(x.shape, generator=torch.Generator().manual_seed(seed)) > 0.5
            return x * ctx.kept
        def backward(ctx, g):
            return g * ctx.kept, None
    """)
    seeds = parameter(made(function, f"x: float64[7]; seed = {seed}"), "seed")
    assert seeds.minimum <= seeds.default <= seeds.maximum == seeds.minimum + 99
