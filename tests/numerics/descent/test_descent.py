"""The consequence of a backward: two gradient descents side by side, to the last digit and in words."""

import random

import numpy as np
import pytest
import torch
from functions.basics import with_backward
from support.answers import document
from support.sections import op_of

from gradloupe.ops import OPS, Input, Parameter

SLIDE = ["0.468723958333333", "0.402643048321759", "0.3471167281037", "0.300459195142693", "0.261253907029624"]
clamp = "clamp_with_grad"


def descent(op, wrt="", of="", **asked):
    """The header and the columns of the view."""
    return document(op, "descent", -3.0, 3.0, wrt, of, **asked)


def down(function, shape=(), **asked):
    """The descents through a function of numbers that start at 1, 2, …."""
    value = tuple(float(each) for each in range(1, 1 + int(np.prod(shape)))) if shape else 1.0
    first = f"[{','.join('0' for _ in shape)}]" if shape else ""
    return descent(op_of(function, Input("x", shape=shape, value=value)), f"x{first}", f"y{first}", **asked)


def endings(header):
    return header["returned"]["ending"], header["true"]["ending"]


def places(columns, name="position"):
    """What moves in every step, an element a column."""
    return np.stack([column for each, column in columns.items() if each.startswith(name)], 1)


def test_the_story_of_the_clamp_is_told_to_the_last_digit():
    header, columns = descent(clamp, steps=6)
    assert columns["position"].tolist() == [3, 2.5, 2, 1.5, 1, 0.5, 0.25]
    assert columns["loss"].tolist() == [1, 1, 1, 1, 1, 0.25, 0.0625]
    assert columns["true_position"].tolist() == [3] * 7
    assert columns["true_loss"].tolist() == [1] * 7
    assert columns["gradient"].tolist() == [2, 2, 2, 2, 2, 1, 0.5]
    assert (header["lr"], header["goal"], header["at"]) == (0.25, [0.0], 3.0)
    assert header["sentence"] == (
        "With this backward the loss falls from 1 to 0.0625 in 6 steps; with the true derivative input stays at 3"
        " forever: no slope leads down there."
    )
    assert descent(clamp, steps=7)[1]["position"][-1] == 0.125


def test_a_goal_out_of_reach_holds_the_clamp_where_its_gradient_is_blocked():
    header, columns = descent(clamp, goal=(2.0,), at=-3.0)
    assert columns["position"].tolist()[:6] == [-3, -1.5, 0, 1, 1.5, 1.5]
    assert columns["loss"][-1] == 1
    assert endings(header)[0] == "stuck"
    assert "from −3 to 1.5 in 4 steps" in header["sentence"]
    header, columns = descent(clamp, goal=(2.0,), at=3.0)
    assert set(columns["position"]) == set(columns["true_position"]) == {3.0}
    assert "input stays" in header["sentence"]


def test_a_clamp_that_works_and_that_of_torch_stay_in_the_dead_zone():
    header, columns = descent("clamp_with_grad_that_works")
    found, of_torch = down(lambda x: x.clamp(-1, 1), at=3.0, goal=(0.0,), lr=0.25)
    assert {*columns["position"], *columns["true_position"], *of_torch["position"]} == {3.0}
    assert header["sentence"].replace("input", "x") == found["sentence"]


def test_the_loop_of_the_kill_head_slide_comes_out_to_the_last_digit():
    header, columns = descent("kill_head", "x[0,3]", "y[0,3]")
    losses = columns["loss"]
    assert [f"{loss:.15g}" for loss in losses[:5]] == SLIDE
    law = 0.055 + 0.4137239583333334 * (121 / 144) ** np.arange(losses.size)
    assert losses == pytest.approx(law, abs=1e-15)
    head = [f"{row}_{column}" for row in range(3) for column in (0, 1)]
    assert all(np.ptp(columns[f"position_{each}"]) == np.ptp(columns[f"true_position_{each}"]) == 0 for each in head)
    assert np.ptp(columns["position_0_2"]) > 0.1
    assert columns["true_loss"] == pytest.approx(law, abs=1e-9)
    assert header["shape"] == [3, 8]
    assert "6 of 24" in header["sentence"]


def test_the_arithmetic_is_that_of_an_optimizer():
    x = torch.tensor([1.7], dtype=torch.float64, requires_grad=True)
    optimizer, walked = torch.optim.SGD([x], lr=0.03), []
    for _ in range(20):
        walked.append(x.item())
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(OPS["exp"](x), torch.tensor([0.2], dtype=torch.float64)).backward()
        optimizer.step()
    _, columns = descent("exp", steps=19, lr=0.03, goal=(0.2,), at=1.7)
    assert columns["position"].tolist() == walked
    assert columns["true_position"] == pytest.approx(walked, rel=1e-9)
    _, columns = descent("exp", dtype="float32", steps=5, lr=0.03, goal=(0.2,), at=1.7)
    assert columns["position"].tolist() == columns["position"].astype(np.float32).tolist()


@pytest.mark.parametrize(
    ("function", "asked", "ends", "words"),
    [
        (lambda x: 2 * x, {"lr": 0.0625}, ("reached", "reached"), "the goal is reached"),
        (lambda x: 2 * x, {"lr": 1.0}, ("diverges", "diverges"), "it diverges"),
        (lambda x: 2 * x, {"lr": 0.25}, ("oscillates", "oscillates"), "back and forth between −1 and 1"),
        (lambda x: 2 * x, {"lr": 1e300}, ("diverges", "diverges"), "to ∞ in 1 step: it diverges"),
        (lambda x: x * x, {"at": 0.0, "goal": (1.0,), "lr": 0.1}, ("stays", "stays"), "at 0 forever: backward"),
        (lambda x: x * x, {"goal": (-1.0,), "lr": 0.1}, ("stuck", "stuck"), "gets no further"),
        (lambda x: x.detach() + 0 * x, {"lr": 0.1}, ("stays", "falls"), "stays at 1 forever: backward returns 0"),
        (lambda x: 2 * x.detach() - x, {"lr": 0.1}, ("rises", "falls"), "grows from 1 to"),
        (lambda x: x.detach(), {"lr": 0.25}, ("bare", "reached"), "does not move: no gradient arrives"),
        (lambda x: x.round().long(), {"lr": 0.25}, ("bare", "stays"), "y holds whole numbers (int64)"),
        (lambda x: x * float("nan"), {"lr": 0.25}, ("nan", "nan"), "where the loss is NaN"),
        (lambda x: x + 0 * x.abs().sqrt(), {"at": 0.0, "goal": (1.0,), "lr": 0.1}, ("nan", "falls"), "is NaN"),
        (lambda x: x, {"at": 0.5, "goal": (0.5,)}, ("there", "there"), "the loss is 0 from the start"),
        (lambda x: x + 1e20, {"lr": 1e-40}, ("stays", "stays"), "the steps are next to nothing"),
    ],
)  # fmt: skip
def test_every_ending_is_told_apart(function, asked, ends, words):
    steps = 200 if ends[0] in ("oscillates", "stuck") else 12
    header, _ = down(function, **{"goal": (0.0,), "steps": steps, "at": 1.0} | asked)
    assert endings(header) == ends
    assert words in header["sentence"]


def test_at_a_kink_the_side_that_leads_downhill_counts():
    header, _ = down(torch.abs, at=0.0, goal=(3.0,), lr=0.25)
    assert endings(header) == ("stays", "reached")  # torch takes 0 there, which is a subgradient and leads nowhere
    assert header["bent"]
    assert "the downhill side" in header["sentence"]
    assert endings(down(torch.abs, at=0.0, goal=(-1.0,), lr=0.25)[0])[1] == "stays"  # it rises to both sides


@pytest.mark.parametrize("x", [1e-3, 4.5e-8, 1e-12])
def test_a_kink_beside_the_place_is_not_taken_for_one_of_it(x):
    for at, slope in ((x, 1.0), (-x, 0.0)):
        _, columns = down(torch.relu, at=at, goal=(max(at, 0.0) - 0.5,), lr=1e-3, steps=1)
        assert columns["true_gradient"][0] == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("function", [torch.sinh, torch.nn.functional.gelu, torch.sigmoid])
@pytest.mark.parametrize("shape", [(4,), (2, 3)])
def test_the_lanes_of_a_processor_are_no_kinks(function, shape):
    header, columns = down(function, shape)
    assert places(columns, "true_position") == pytest.approx(places(columns), rel=0, abs=1e-9)
    assert (header["bent"], endings(header)[0] in ("falls", "reached")) == (False, True)


def test_a_function_that_computes_in_float32_has_a_true_derivative_too():
    header, columns = down(lambda x: (x.float() ** 2).to(x.dtype), (4,))
    assert places(columns, "true_position") == pytest.approx(places(columns), abs=1e-4)
    assert "slope is 0" not in header["sentence"]


def test_an_element_that_stands_on_its_goal_is_not_said_to_be_stuck():
    assert "never move" not in down(torch.exp, (3,))[0]["sentence"]  # the middle one of the start reversed
    stuck, _ = down(lambda x: torch.stack((x[0], x[0] * 0, x[2])), (3,))
    assert "1 of 3" in stuck["sentence"]


def test_what_rounding_leaves_of_a_gradient_does_not_shorten_the_steps():
    normalised = with_backward(torch.clone, lambda g, x: g / (g.norm() + 1e-30))
    assert down(normalised.apply, (3,))[0]["lr"] > 1e-3


def test_the_true_derivative_of_a_matrix_is_that_of_autograd():
    header, columns = down(lambda x: (x / 10 @ x.T / 10).tanh(), (3, 2), lr=0.1, steps=3)
    assert places(columns, "true_gradient")[0] == pytest.approx(places(columns, "gradient")[0], rel=1e-8)
    assert not header["bent"]


def test_a_function_that_fails_on_the_way_keeps_the_steps_before():
    def fussy(x):
        if x.min() < 0.5:
            raise ValueError("too low")
        return 2 * x

    op = with_backward(fussy, lambda g, x: 2 * g).apply
    header, columns = down(op, at=1.0, goal=(0.0,), lr=0.0625)
    assert columns["position"][:3].tolist() == [1.0, 0.5, 0.25]
    assert columns["loss"][:2].tolist() == [4.0, 1.0]
    assert "in step 3, where forward raises" in header["sentence"]
    assert down(op, at=0.0)[0]["failure"]["phase"] == "forward"


def test_a_backward_that_fails_is_said_and_the_true_one_goes_on():
    header, columns = descent("one_gradient_too_few")
    assert header["failure"]["phase"] == "backward"
    assert "in step 1, where backward" in header["sentence"]
    assert endings(header)[1] == "reached"
    assert np.isnan(columns["position"][1:]).all()
    assert np.isfinite(columns["true_position"]).all()


def test_a_parameter_moves_with_the_true_derivative_alone():
    header, columns = descent(clamp, "min", at=-2.0, goal=(1.0,), lr=0.25)
    assert "it is a parameter" in header["sentence"]
    assert columns["true_position"][:3] == pytest.approx([-2.0, -0.5, 0.25], rel=1e-9)


def test_one_that_works_in_place_does_not_move_the_start():
    _, columns = down(lambda x: x.mul_(2), at=1.0, goal=(0.0,), lr=0.0625, steps=3)
    assert columns["position"].tolist() == [1.0, 0.5, 0.25, 0.125]
    assert columns["true_position"] == pytest.approx([1.0, 0.5, 0.25, 0.125], rel=1e-9)


@pytest.mark.parametrize("draw", [lambda: torch.rand(()), lambda: np.random.rand(), lambda: random.random()])
def test_chance_is_begun_anew_in_each_step_and_said(draw):
    header, columns = down(lambda x: torch.floor(x + draw()) + x - x.detach(), at=2.5, goal=(0.0,), lr=0.125)
    _, again = down(lambda x: torch.floor(x + draw()) + x - x.detach(), at=2.5, goal=(0.0,), lr=0.125)
    assert header["random"]
    assert "random numbers" in header["sentence"]
    assert {name: column.tolist() for name, column in columns.items()} == {
        name: column.tolist() for name, column in again.items()
    }


def test_of_one_draw_the_true_derivative_is_that_which_autograd_returns():
    _, columns = down(lambda x: x * torch.rand_like(x), at=1.5, goal=(0.0,), lr=0.5, steps=5)
    assert columns["gradient"][0] != 0
    assert columns["true_gradient"] == pytest.approx(columns["gradient"], rel=1e-6)


def test_what_is_too_large_is_refused_in_a_sentence():
    assert "x has 257 elements" in down(torch.exp, (257,))[0]["sentence"]
    assert down(torch.exp, (256,), steps=500, lr=1e300, goal=(0.0,))[0]["steps"] == 128


@pytest.mark.parametrize("goal", [(1.0, 2.0), (1.0, 2.0, 3.0)])
def test_a_goal_that_does_not_fit_is_refused(goal):
    assert "y has 4 elements, and goal" in down(torch.exp, (2, 2), goal=goal)[0]["failure"]["message"]


def test_a_slow_descent_ends_in_time_and_says_so(clock):
    def slow(x):
        clock.goes_on(1.0)
        return x.exp()

    header, _ = down(slow, at=1.0, lr=1e-6, goal=(0.0,), steps=500)
    assert header["returned"]["late"]
    assert header["returned"]["steps"] < 10
    assert "there was time for" in header["sentence"]


@pytest.mark.parametrize(
    "name", ["exp", "functional_linear", "softmax", "image_alpha", "abs_product", "sinh", "square"]
)
def test_what_is_chosen_leads_down_with_the_true_derivative(name):
    header, columns = descent(name)
    assert endings(header)[1] in ("falls", "reached")
    assert columns["true_loss"][-1] < 0.2 * columns["true_loss"][0]
    assert columns["loss"] == pytest.approx(columns["true_loss"], rel=1e-4, abs=1e-8)


def test_an_op_declares_its_own_descent_for_its_first_look_alone():
    assert [descent(clamp, wrt)[0]["steps"] for wrt in ("", "max")] == [12, 40]


def test_a_jump_is_left_open_in_the_landscape():
    land = descent("round_straight_through")[0]["landscape"]
    torn = [x for x, y in zip(land["x"], land["y"], strict=True) if y is None]
    assert torn == pytest.approx([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], abs=1e-9)
    assert (land["of"], land["true"][0]) == ("forward", 2.0)


def test_the_landscape_holds_a_start_that_is_far_away_and_what_is_around_one_farther_still():
    land = descent(clamp, at=100.0)[0]["landscape"]
    assert (land["x"][0], land["x"][-1]) == (-3, 100)
    assert sum(-1 < x < 1 for x in land["x"]) > 10
    around = descent("square", at=1e6, lr=1e-9, steps=2)[0]["landscape"]["x"]
    assert 0.9998e6 < around[0] < 1e6 < around[-1] < 1.0002e6
    vast = descent(clamp, at=1e300)[0]["landscape"]["x"]
    assert len(set(vast)) == len(vast)


def test_a_parameter_of_a_function_may_not_bear_these_names():
    with pytest.raises(Exception, match="'lr' is a reserved word"):
        op_of(torch.exp, parameters=(Parameter("lr", 1.0),))


@pytest.mark.parametrize("factor", [5e-324, 1e-300, 1e-160, 1e160, 1e300])
def test_a_learning_rate_is_chosen_for_slopes_whose_square_float64_does_not_hold(factor):
    assert 0 < down(lambda x: factor * x, at=1.0)[0]["lr"] < np.inf


@pytest.mark.parametrize("name", [name for name, op in OPS.items() if op.claim == "broken" and op.descent])
def test_the_descent_of_a_specimen_starts_where_its_bug_misleads(name):
    header, columns = descent(name)
    assert header["returned"]["last"] >= header["true"]["last"]
    assert columns["position"][-1] != columns["true_position"][-1]
