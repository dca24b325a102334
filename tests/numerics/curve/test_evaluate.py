import numpy as np
import pytest
import torch
from functions.basics import with_backward
from functions.seeds import SEEDS
from support.sampling import in_turn, sampled
from support.sections import look, op_of, written

from gradloupe.ops import Input


@pytest.mark.parametrize("name", sampled(SEEDS))
def test_every_column_has_one_number_a_row(name):
    for count in (2, 57, 401):
        evaluation, _ = look(name, count=count)
        size, slopes = evaluation.rows.x.size, evaluation.numerical.slopes
        assert size >= count
        assert (np.diff(evaluation.rows.x) >= 0).all()
        assert evaluation.forward.shape == evaluation.analytical.shape == (size,)
        assert {part.shape for part in (slopes.value, slopes.error, slopes.left, slopes.right, slopes.kind)} == {
            (size,)
        }


@pytest.mark.parametrize("count", [2, 5, 20])
def test_a_coarse_grid_misses_no_kink(count):
    evaluation, verdict = look("incorrect_clipped_relu", -1.0, 3.0, count)
    assert [each.x for each in evaluation.special] == [0.0, 2.0]
    assert verdict.forward.intervals == ((-1.0, 0.0), (2.0, 3.0))


def test_a_slope_across_a_jump_is_never_given_as_a_value():
    for op in ("round_straight_through", "heaviside_sigmoid"):
        slopes = look(op)[0].numerical.slopes
        assert np.nanmax(np.abs(slopes.value)) == 0


@pytest.mark.parametrize(
    ("place", "dtype"),
    [
        *((place, torch.float64) for place in (0.0, 0.3, 0.37, 1 / 3)),
        *((0.3, dtype) for dtype in (torch.float32, torch.bfloat16, torch.float16)),
    ],
)
def test_both_ends_of_a_jump_are_drawn_where_it_is(place, dtype):
    evaluation, _ = look(op_of(lambda x: (x >= place).to(x.dtype)), dtype=dtype)
    at = evaluation.rows
    assert at.x[at.gap] == pytest.approx([place], abs=1e-12 if dtype == torch.float64 else 2e-3)
    assert evaluation.forward[at.below].tolist() == [0.0]
    assert evaluation.forward[at.above].tolist() == [1.0]
    assert evaluation.numerical.slopes.value[at.below | at.above].tolist() == [0.0, 0.0]


def test_the_numerical_gradient_of_a_half_precision_section_is_computed_in_double():
    evaluation, _ = look("exp", dtype=torch.float16)
    assert evaluation.reference.dtype == torch.float64
    assert evaluation.numerical.slopes.value == pytest.approx(np.exp(evaluation.rows.x), rel=1e-9)


def test_a_function_that_refuses_double_is_measured_as_it_is():
    def picky(x):
        if x.dtype == torch.float64:
            raise TypeError("float32 only")
        return torch.sin(x)

    evaluation, verdict = look(op_of(picky), dtype=torch.float32)
    assert evaluation.reference.dtype == torch.float32
    assert verdict.word == "matches"
    assert evaluation.numerical.slopes.value == pytest.approx(np.cos(evaluation.rows.x), abs=1e-3)


def test_a_function_that_computes_in_float32_inside_is_not_accused():
    evaluation, verdict = look(op_of(lambda x: torch.tanh(x.float()).to(x.dtype)))
    assert evaluation.numerical.slopes.precision == 2.0**-24
    assert verdict.word == "matches"


def test_a_surrogate_that_raises_is_named_and_leaves_the_curves():
    evaluation, verdict = look(op_of(torch.sin, surrogate=lambda x: x @ "nonsense"))
    assert verdict.word == "failed"
    assert evaluation.failure.phase == "surrogate"
    assert evaluation.analytical is not None


def test_a_grad_output_scales_what_is_returned_and_not_the_slope():
    one, two = look("exp", grad_output=1.0)[0], look("exp", grad_output=-2.0)[0]
    assert two.analytical == pytest.approx(-2 * one.analytical)
    assert two.numerical.slopes.value == pytest.approx(one.numerical.slopes.value)


def test_a_grad_output_of_zero_is_judged_too():
    _, verdict = look(written(torch.sin, torch.cos), grad_output=0.0)
    assert verdict.word == "matches"

    adds_one = with_backward(torch.sin, lambda g, x: g + 1)
    assert look(op_of(adds_one.apply), grad_output=0.0)[1].word == "differs"


def test_one_singular_matrix_is_a_gap_in_the_curve():
    value = (2.0, 0.5, 0.25, 1.0)  # of which every step of an elimination is exact, on any processor
    op = op_of(torch.linalg.inv, Input("a", shape=(2, 2), value=value), of="y[0,0]", wrt="a[0,0]")
    evaluation, verdict = look(op, start=-1.0, stop=1.0)
    assert verdict.word == "matches"
    assert evaluation.refused == ((0.125, "forward raised _LinAlgError"),)


def test_a_slow_function_is_looked_at_in_fewer_points(clock):
    def slow(x):
        clock.goes_on(2.8e-3)  # between two powers of two, to which it is estimated
        return x.softmax(0)

    began = clock.elapsed()
    evaluation, _ = look(op_of(slow, Input("x", shape=(3,), value=0.5), of="y[1]", wrt="x[0]"))
    assert evaluation.grid.count <= 101
    assert clock.elapsed() - began < 5


@pytest.mark.parametrize("function", [torch.abs, lambda x: torch.sign(x) + x, torch.reciprocal])
def test_a_function_that_refuses_its_special_point_alone_is_judged_at_the_others(function):
    def strict(x):
        if (x == 0).any():
            raise ValueError("not at 0")
        return function(x)

    evaluation, verdict = look(op_of(strict), -1.0, 1.0, 400)
    assert verdict.word in ("matches", "undecided")
    assert [x for x, _ in evaluation.refused] in ([0.0], [])


def _within(p):
    if not ((p > 0) & (p < 1)).all():
        raise ValueError("p has to lie between 0 and 1")
    return torch.log(p) - torch.log1p(-p)


@pytest.mark.parametrize(
    ("dtype", "start", "stop"),
    in_turn([torch.float64, torch.float32, torch.float16, torch.bfloat16], (0.0, 0.9999), (0.001, 0.999), (0.0, 1.0)),
)
def test_a_domain_may_refuse_its_ends_and_what_a_dtype_rounds_onto_them(dtype, start, stop):
    right, wrong = lambda p: 1 / (p * (1 - p)), lambda p: 1 / p
    words = [look(written(_within, each), start, stop, dtype=dtype)[1].word for each in (right, wrong)]
    assert words == ["matches", "differs"]
