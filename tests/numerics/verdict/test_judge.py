"""The judge on trial: a slightly wrong gradient must be caught, a right one never accused."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from support.sections import look, op_of, written

from gradloupe.ops import OPS
from gradloupe.server.numerics.status import Status
from gradloupe.server.numerics.verdict.verdict import judge

F = torch.nn.functional


@pytest.mark.parametrize("wrong", [3e-12, 5e-10])
def test_a_gradient_that_is_off_by_less_than_a_billionth_everywhere_matches_with_a_remark(wrong):
    _, verdict = look(written(torch.exp, lambda x: torch.exp(x) * (1 + wrong)))
    assert (verdict.word, verdict.against.intervals) == ("matches", ())
    assert verdict.against.remark.off == pytest.approx(wrong * verdict.against.remark.slope, rel=0.1)


def test_torchs_own_trigamma_is_a_remark_on_its_digamma():
    _, verdict = look(written(torch.digamma, lambda x: torch.polygamma(1, x)), 0.5, 5.0)
    assert (verdict.word, verdict.against.remark.off > 1e-10) == ("matches", True)


def test_a_small_difference_is_no_remark_where_there_is_a_large_one():
    _, verdict = look(written(torch.exp, lambda x: torch.exp(x) * (1 + 1e-10 + 1e-8 * (x > 2).double())))
    assert (verdict.word, verdict.against.remark) == ("differs", None)
    assert verdict.against.intervals[0][0] == -3.0


def test_a_slope_of_0_is_measured_by_the_slopes_nearby_and_a_constant_by_nothing():
    parabola = look(written(torch.square, lambda x: 2 * x + 1e-11 * (x.abs() < 0.05)))[1]
    constant = look(written(lambda x: 0 * x + 1, lambda x: 0 * x + 1e-11))[1]
    assert [parabola.word, constant.word] == ["matches", "differs"]


def test_who_asks_for_a_tolerance_gets_no_remark():
    evaluation, verdict = look(written(torch.exp, lambda x: torch.exp(x) * (1 + 1e-10)))
    assert [verdict.word, judge(evaluation, rtol=1e-12).word] == ["matches", "differs"]


@pytest.mark.parametrize("wrong", [1e-8, 1e-6, 1.0])
def test_a_gradient_that_is_wrong_at_one_point_of_200_is_caught(wrong):
    def derivative(x):
        slope = torch.cos(x)
        return torch.where((x > 0.999) & (x < 1.001), slope * (1 + wrong), slope)

    evaluation, verdict = look(written(torch.sin, derivative), -1.0, 1.0, 201)
    assert verdict.word == "differs"
    assert evaluation.rows.x[verdict.against.worst] == pytest.approx(1.0, abs=1e-3)


def at_kink(slope):
    return lambda x: torch.where(x == 0, torch.full_like(x, slope), (x > 0) * 1.0)


WRONG = {
    "by a part in 500 million": (torch.exp, lambda x: torch.exp(x) * (1 + 2e-9)),
    "by a millionth": (torch.exp, lambda x: torch.exp(x) * (1 + 1e-6)),
    "by a factor of 2": (torch.exp, lambda x: 2 * torch.exp(x)),
    "a sign": (torch.sin, lambda x: -torch.cos(x)),
    "nothing": (torch.exp, torch.zeros_like),
    "another tail": (torch.tanh, lambda x: torch.where(x > 2.5, torch.ones_like(x), 1 - torch.tanh(x) ** 2)),
    "a square forgotten": (torch.tanh, lambda x: 1 - torch.tanh(x)),
    "a mask forgotten": (lambda x: x.clamp(0, 1), torch.ones_like),
    "by a hundredth": (lambda x: x.clamp(0, 1), lambda x: (x >= 0) * (x <= 1) * 1.01),
    "a mask too wide": (torch.relu, lambda x: (x > -0.1) * 1.0),
    "a factor forgotten": (torch.sigmoid, torch.sigmoid),
    "NaN": (torch.log1p, lambda x: torch.full_like(x, torch.nan)),
    "∞": (torch.sin, lambda x: torch.full_like(x, torch.inf)),
    "nearly ∞": (torch.sin, lambda x: torch.full_like(x, 1e308)),
    "NaN at one point": (torch.square, lambda x: torch.where(x == 0, torch.nan, 2 * x)),
    "NaN at a cusp": (lambda x: x.abs().sqrt(), lambda x: torch.sign(x) / (2 * x.abs().sqrt())),
    "just below the slopes of a kink": (torch.relu, at_kink(-1e-8)),
    "just above the slopes of a kink": (torch.relu, at_kink(1 + 1e-8)),
    "where a steep curve is flat": (
        lambda x: torch.exp(8 * x),
        lambda x: 8 * torch.exp(8 * x) * torch.where(x < -2.5, 1.01, 1.0),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_formula_is_caught(name):
    assert look(written(*WRONG[name]))[1].word == "differs"


def test_a_wrong_formula_is_caught_in_float32_from_a_thousandth_on_and_beside_a_surrogate():
    for wrong in (1e-3, 0.1):
        op = written(torch.tanh, lambda x, wrong=wrong: (1 - torch.tanh(x) ** 2) * (1 + wrong))
        assert look(op, dtype=torch.float32)[1].word == "differs", wrong
    _, verdict = look(written(torch.round, lambda x: torch.full_like(x, 0.9), surrogate=lambda x: x))
    assert (verdict.word, verdict.against is verdict.forward) == ("differs", False)
    assert look("sign_swish", 0.1, 4.0)[1].word == "matches its surrogate"  # not held to the last place of its values


def test_where_there_is_no_gradient_or_no_number_nothing_is_decided():
    assert look("clamp_with_grad", wrt="min")[1].word == "no gradient"
    assert look(op_of(torch.acosh), -0.5, 0.5)[1].word == "undecided"


# A steep function, its derivative, what is returned instead, and how far one looks.
STEEP = {
    "exp without its tail": (torch.exp, torch.exp, lambda x: torch.where(x < 0, 0.0, x.exp()), (20.0, 40.0, 60.0)),
    "exp and a little more": (torch.exp, torch.exp, lambda x: x.exp() + 1e-6, (20.0,)),
    "sinh with the wrong sign in the middle": (
        torch.sinh,
        torch.cosh,
        lambda x: torch.where(x.abs() < 3, -1.0, 1.0) * x.cosh(),
        (40.0,),
    ),
    "a power of relu that passes the negative": (
        lambda x: torch.relu(x) ** 6,
        lambda x: 6 * torch.relu(x) ** 5,
        lambda x: torch.where(x < 0, 1.0, 6 * torch.relu(x) ** 5),
        (300.0,),
    ),
    "a pole without its sides": (
        lambda x: x**-8,
        lambda x: -8 * x**-9,
        lambda x: torch.where(x.abs() > 1, 0.0, -8 * x**-9),
        (3.0,),
    ),
    "a tall step on a slope that is forgotten": (
        lambda x: 1e13 * torch.sigmoid(50 * x) + x,
        lambda x: 5e14 * torch.sigmoid(50 * x) * torch.sigmoid(-50 * x) + 1,
        lambda x: 5e14 * torch.sigmoid(50 * x) * torch.sigmoid(-50 * x),
        (3.0,),
    ),
}


@pytest.mark.parametrize("name", STEEP)
def test_a_wrong_gradient_is_caught_beside_slopes_however_steep(name):
    value, right, wrong, reaches = STEEP[name]
    for reach in reaches:
        assert look(written(value, right), -reach, reach)[1].word == "matches", reach
        assert look(written(value, wrong), -reach, reach)[1].word == "differs", reach


def test_a_missing_tail_is_reported_up_to_its_end():
    _, verdict = look(written(torch.exp, lambda x: torch.where(x < 0, 0.0, x.exp())), -20.0, 20.0)
    assert verdict.forward.intervals == ((-20.0, 0.0),)


@pytest.mark.parametrize("slope", [0.0, 0.5, 1.0])
def test_a_subgradient_at_a_kink_is_accepted(slope):
    _, verdict = look(written(torch.relu, at_kink(slope)))
    assert verdict.word == "matches"
    assert verdict.forward.count(Status.SUBGRADIENT) == 1


def relus(seed):
    """A sum of relus with knots at random: a piecewise linear spline."""
    knots = (6 * torch.rand(30, generator=torch.Generator().manual_seed(seed)) - 3).tolist()
    return lambda x: sum(torch.relu(x - knot) for knot in knots)


@pytest.mark.parametrize("seed", range(6))
def test_a_kink_is_judged_by_what_is_known_of_the_slopes_on_its_sides(seed):
    assert look(op_of(relus(seed)))[1].word == "matches"


def test_a_wrong_gradient_at_a_kink_is_caught_beside_slopes_however_steep():
    def derivative(x):
        return torch.where(x == -15, 5.0, (x > -15) * 1.0 + x.exp())

    _, verdict = look(written(lambda x: torch.relu(x + 15) + x.exp(), derivative), -30.0, 30.0)
    assert verdict.word == "differs"
    assert look(op_of(lambda x: torch.relu(x + 15) + x.exp()), -30.0, 30.0)[1].word == "matches"


def test_a_kink_where_analytical_and_central_agree_is_still_a_kink():
    evaluation, verdict = look("abs_product")
    row = int(np.flatnonzero(evaluation.rows.x == 0)[0])
    assert evaluation.analytical[row] == 0
    assert evaluation.numerical.slopes.left[row] == pytest.approx(-2)
    assert evaluation.numerical.slopes.right[row] == pytest.approx(2)
    assert verdict.forward.status[row] == Status.SUBGRADIENT


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_a_gradient_where_forward_is_flat_is_caught_in_every_dtype(dtype):
    _, verdict = look(written(torch.relu, torch.ones_like), dtype=dtype)
    assert verdict.word == "differs"
    assert verdict.forward.intervals == ((-3.0, 0.0),)


@pytest.mark.parametrize("grad_output", [0.25, 1.0, -8.0])
def test_a_surrogate_may_depend_on_the_size_of_grad_output(grad_output):
    assert {look("gradient_clip", grad_output=each)[1].word for each in (grad_output, 0.0)} == {"matches its surrogate"}
    normalised = replace(OPS["gradient_clip"], surrogate=lambda x, limit, grad_output: x * limit / abs(grad_output))
    assert look(normalised, grad_output=grad_output)[1].word == "differs"


def test_each_sign_and_each_input_may_have_a_surrogate_of_its_own():
    assert {look("guided_relu", grad_output=each)[1].word for each in (1.0, -1.0)} == {"matches its surrogate"}
    for wrt, start, stop in (("x", -3.0, 3.0), ("step_size", 0.2, 2.0), ("step_size", -2.0, -0.2)):
        assert look("learned_step_size", start, stop, wrt=wrt)[1].word == "matches its surrogate"
    one = replace(OPS["learned_step_size"], surrogate=lambda x, s, low, high: torch.clamp(x, low * s, high * s))
    assert look(one, 0.2, 2.0, wrt="step_size")[1].word == "differs"


@pytest.mark.parametrize(("steps", "reach"), [(1, 1000.0), (64, 3.0), (64, 1000.0), (255, 3.0), (255, 10.0)])
def test_a_fine_staircase_with_the_right_gradient_of_zero_is_not_accused(steps, reach):
    op = written(lambda x: torch.round(steps * x) / steps, torch.zeros_like)
    assert look(op, -reach, reach)[1].word in ("matches", "undecided")


@pytest.mark.parametrize(
    "op",
    [
        written(lambda x: 1e8 + 1e-6 * torch.sin(x), lambda x: -1e-6 * torch.cos(x)),
        written(lambda x: (1e5 + torch.sin(x)).float().to(x.dtype), lambda x: 1.1 * torch.cos(x)),
        written(lambda x: torch.round(40 * x) / 40 + 7 * x * (x < 0), lambda x: 0 * x),
    ],
)
def test_what_the_band_hides_is_no_match(op):
    assert look(op)[1].word != "matches"


@pytest.mark.parametrize("grad_output", [3e-3, -1e-4, 1e-5])
def test_the_sign_of_gradients_smaller_than_a_normal_number_is_seen(grad_output):
    asked = {"count": 101, "grad_output": grad_output, "dtype": torch.float16}
    wrong, right = (written(torch.sin, lambda x, sign=sign: sign * torch.cos(x)) for sign in (-1, 1))
    assert look(wrong, -1.0, 1.0, **asked)[1].word == "differs"
    assert look(right, -1.0, 1.0, **asked)[1].word == "matches"


def test_the_example_is_taken_where_forward_is_smooth():
    leaky = written(lambda x: torch.where(x > 0, x, 0.01 * x), lambda x: (x > 0) * 1.0)
    evaluation, verdict = look(leaky)
    assert evaluation.rows.x[verdict.against.worst] < 0
    assert verdict.forward.intervals == ((-3.0, 0.0),)


@pytest.mark.parametrize(("dtype", "stop", "grad_output"), [(torch.float16, 12.0, 2.5), (torch.float64, 712.0, 1e4)])
def test_a_gradient_beyond_what_the_dtype_holds_is_not_held_against_backward(dtype, stop, grad_output):
    _, verdict = look("exp", stop - 24, stop, grad_output=grad_output, dtype=dtype)
    assert verdict.word == "matches"


def test_tolerances_can_be_chosen():
    op = written(torch.exp, lambda x: torch.exp(x) * 1.001)
    evaluation, strict = look(op)
    assert strict.word == "differs"
    assert judge(evaluation, atol=0.0, rtol=0.01).word == "matches"


@pytest.mark.parametrize("count", [101, 401, 1001])
def test_a_wave_faster_than_the_rows_is_judged_by_its_own_curvature(count):
    wave = partial(written, lambda x: torch.sin(10_000 * x))
    assert look(wave(lambda x: 10_000 * torch.cos(10_000 * x)), count=count, dtype=torch.float32)[1].word == "matches"
    assert look(wave(lambda x: 11_000 * torch.cos(10_000 * x)), count=count, dtype=torch.float32)[1].word == "differs"
