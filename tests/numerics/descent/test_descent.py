"""The consequence of a backward: two gradient descents side by side, to the last digit and in words."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from support.answers import answer

from gradloupe.ops import OPS, Input, Op, Parameter
from gradloupe.server.catalogue.op_description import parse_element
from gradloupe.server.numerics.descent import descent
from gradloupe.server.numerics.descent.descent import MOST_DESCENT_ELEMENTS, TooLarge, descend
from gradloupe.server.numerics.descent.loss import Loss, position_tensor
from gradloupe.server.numerics.descent.optimizer import descent_outcome, run_descent
from gradloupe.server.numerics.descent.plan import DescentRequest
from gradloupe.server.numerics.descent.text import MovingNames, descent_sentence
from gradloupe.server.numerics.descent.true_gradient import TrueForward, downhill_gradient
from gradloupe.server.protocol.question import Question
from gradloupe.server.runtime.failure import FunctionFailed
from gradloupe.server.runtime.section import Section

SLIDE = ["0.468723958333333", "0.402643048321759", "0.3471167281037", "0.300459195142693", "0.261253907029624"]


@pytest.fixture(autouse=True)
def on_a_busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits here, so that both ways are gone to their end."""
    monkeypatch.setattr(descent, "_SECONDS", 60.0)


def ask(op: str, wrt: str = "input", of: str = "y", **more: Any) -> Any:
    """The header and the columns of the view."""
    return answer(Question(op, parse_element(wrt), parse_element(of), -3.0, 3.0, view="descent", **more))


def section(function: Any, shape: tuple[int, ...] = (), **more: Any) -> Section:
    """A section of a Function that stands nowhere else; ``function`` is called as it is if it is no class."""
    value = tuple(float(each) for each in range(1, 1 + int(np.prod(shape)))) if shape else 1.0
    parameters = more.pop("parameters", ())
    call = getattr(function, "apply", function)
    op = Op(
        torch.autograd.Function, "", "", "", "", (Input("x", shape=shape, value=value),), parameters, call=call, **more
    )
    index = (0,) * len(shape)
    held = tuple((each.name, each.default) for each in parameters)
    return Section(op, op, "x", index, "y", index, (("x", op.inputs[0].values),), held)


def down(function: Any, shape: tuple[int, ...] = (), at: float | None = None, **asked: Any) -> Any:
    """Both descents through a Function, and what is said of them."""
    found = descend(section(function, shape), DescentRequest(-3.0, 3.0, at=at, **asked))
    return found, descent_sentence(found, MovingNames("x", "y"))


def test_the_story_of_the_clamp_is_told_to_the_last_digit():
    header, columns = ask("clamp_with_grad", steps=6)
    assert columns["position"].tolist() == [3, 2.5, 2, 1.5, 1, 0.5, 0.25]
    assert columns["loss"].tolist() == [1, 1, 1, 1, 1, 0.25, 0.0625]
    assert columns["true_position"].tolist() == [3] * 7
    assert columns["true_loss"].tolist() == [1] * 7
    assert columns["gradient"].tolist() == [2, 2, 2, 2, 2, 1, 0.5]
    assert (header["lr"], header["goal"], header["at"]) == (0.25, [0.0], 3.0)
    assert header["sentence"] == (
        "With this backward the loss falls from 1 to 0.0625 in 6 steps; with the true derivative input stays at 3"
        " forever: the gradient is zero there."
    )
    assert ask("clamp_with_grad", steps=7)[1]["position"][-1] == 0.125


def test_a_goal_out_of_reach_holds_the_clamp_where_its_gradient_is_blocked():
    header, columns = ask("clamp_with_grad", goal=(2.0,), at=-3.0)
    assert columns["position"].tolist()[:6] == [-3, -1.5, 0, 1, 1.5, 1.5]
    assert columns["loss"][-1] == 1
    assert header["returned"]["ending"] == "stuck"
    assert "from −3 to 1.5 in 4 steps and stays there, where backward returns 0" in header["sentence"]
    header, columns = ask("clamp_with_grad", goal=(2.0,), at=3.0)
    assert set(columns["position"]) == set(columns["true_position"]) == {3.0}
    assert header["sentence"].startswith("With this backward, as with the true derivative, input stays at 3 forever")


def test_a_clamp_that_works_and_that_of_torch_stay_in_the_dead_zone():
    header, columns = ask("clamp_with_grad_that_works")
    assert set(columns["position"]) == set(columns["true_position"]) == {3.0}
    found, said = down(lambda x: x.clamp(-1, 1), at=3.0, goal=(0.0,), lr=0.25)
    assert set(found.returned.positions.ravel()) == {3.0}
    assert header["sentence"].replace("input", "x") == said


def test_the_loop_of_the_kill_head_slide_comes_out_to_the_last_digit():
    header, columns = ask("kill_head", "x[0,3]", "y[0,3]")
    losses = columns["loss"]
    assert [f"{loss:.15g}" for loss in losses[:5]] == SLIDE
    law = 0.055 + 0.4137239583333334 * (121 / 144) ** np.arange(losses.size)
    assert losses == pytest.approx(law, abs=1e-15)
    head = [f"{row}_{column}" for row in range(3) for column in (0, 1)]
    assert all(np.ptp(columns[f"position_{each}"]) == np.ptp(columns[f"true_position_{each}"]) == 0 for each in head)
    assert np.ptp(columns["position_0_2"]) > 0.1
    assert columns["true_loss"] == pytest.approx(law, abs=1e-9)
    assert header["shape"] == [3, 8]
    assert "6 of 24 elements of x never move." in header["sentence"]


def test_the_arithmetic_is_that_of_an_optimizer():
    x = torch.tensor([1.7], dtype=torch.float64, requires_grad=True)
    optimizer, walked = torch.optim.SGD([x], lr=0.03), []
    for _ in range(20):
        walked.append(x.item())
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(OPS["exp"](x), torch.tensor([0.2], dtype=torch.float64)).backward()
        optimizer.step()
    _, columns = ask("exp", "x", steps=19, lr=0.03, goal=(0.2,), at=1.7)
    assert columns["position"].tolist() == walked
    assert columns["true_position"] == pytest.approx(walked, rel=1e-9)


@pytest.mark.parametrize(
    ("function", "asked", "ends", "words"),
    [
        (lambda x: 2 * x, {"lr": 0.0625}, ("reached", "reached"), "the goal is reached"),
        (lambda x: 2 * x, {"lr": 1.0}, ("diverges", "diverges"), "it diverges"),
        (lambda x: 2 * x, {"lr": 0.25}, ("oscillates", "oscillates"), "back and forth between −1 and 1"),
        (lambda x: 2 * x, {"lr": 1e300}, ("infinite", "infinite"), "too large for their dtype"),
        (lambda x: x * x, {"at": 0.0, "goal": (1.0,), "lr": 0.1}, ("stays", "stays"), "at 0 forever: the slope"),
        (lambda x: x * x, {"goal": (-1.0,), "lr": 0.1}, ("settles", "stuck"), "settles at"),
        (lambda x: x.detach() + 0 * x, {"lr": 0.1}, ("stays", "falls"), "stays at 1 forever: backward returns 0"),
        (lambda x: 2 * x.detach() - x, {"lr": 0.1}, ("rises", "falls"), "grows from 1 to"),
        (lambda x: x.detach(), {"lr": 0.25}, ("bare", "reached"), "does not move: no gradient arrives"),
        (lambda x: x.round().long(), {"lr": 0.25}, ("bare", "stays"), "y holds whole numbers (int64)"),
        (lambda x: x * float("nan"), {"lr": 0.25}, ("nan", "nan"), "where the loss is NaN"),
        (lambda x: x + 0 * x.abs().sqrt(), {"at": 0.0, "goal": (1.0,), "lr": 0.1}, ("nan", "falls"), "is NaN"),
        (lambda x: x, {"at": 0.5, "goal": (0.5,)}, ("there", "there"), "the loss is 0 from the start"),
        (lambda x: x + 1e20, {"lr": 1e-40}, ("small", "stays"), "too small"),
    ],
)  # fmt: skip
def test_every_ending_is_told_apart(function, asked, ends, words):
    asked = {"goal": (0.0,), "steps": 12, "at": 1.0} | asked
    if ends[0] in ("oscillates", "settles"):
        asked["steps"] = 200
    found, said = down(function, **asked)
    assert (descent_outcome(found.returned), descent_outcome(found.true)) == ends
    assert words in said


def test_at_a_kink_the_side_that_leads_downhill_counts():
    found, said = down(torch.abs, at=0.0, goal=(3.0,), lr=0.25)
    assert descent_outcome(found.returned) == "stays"  # torch takes 0 there, which is a subgradient and leads nowhere
    assert descent_outcome(found.true) == "reached"
    assert "At a kink the slope of the downhill side counts" in said
    found, _ = down(torch.abs, at=0.0, goal=(-1.0,), lr=0.25)
    assert descent_outcome(found.true) == "stays"  # the loss rises to both sides


@pytest.mark.parametrize("x", [1e-3, 4.5e-8, 1e-12])
def test_a_kink_beside_the_place_is_not_taken_for_one_of_it(x):
    truth = TrueForward.of(section(torch.relu), -3.0, 3.0)
    slopes = truth.slopes(np.array([x]), np.array([x]))
    assert downhill_gradient(slopes, np.array([1.0]))[0] == pytest.approx([1.0], rel=1e-6)
    slopes = truth.slopes(np.array([-x]), np.array([0.0]))
    assert downhill_gradient(slopes, np.array([1.0]))[0].tolist() == [0.0]


@pytest.mark.parametrize("function", [torch.sinh, torch.nn.functional.gelu, torch.sigmoid])
@pytest.mark.parametrize("shape", [(4,), (2, 3)])
def test_the_lanes_of_a_processor_are_no_kinks(function, shape):
    found, said = down(function, shape)
    assert found.true.positions == pytest.approx(found.returned.positions, rel=0, abs=1e-9)
    assert not found.bent
    assert said.startswith("With this backward, as with the true derivative, the loss falls")


def test_a_function_that_computes_in_float32_has_a_true_derivative_too():
    found, said = down(lambda x: (x.float() ** 2).to(x.dtype), (4,))
    assert found.true.positions == pytest.approx(found.returned.positions, abs=1e-4)
    assert "slope is 0" not in said


def test_an_element_that_stands_on_its_goal_is_not_said_to_be_stuck():
    assert "never move" not in down(torch.exp, (3,))[1]  # the middle one of a goal that is the start reversed
    assert "1 of 3 elements of x never move." in down(lambda x: torch.stack((x[0], x[0] * 0, x[2])), (3,))[1]


def test_what_rounding_leaves_of_a_gradient_does_not_shorten_the_steps():
    class Normalised(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output / (grad_output.norm() + 1e-30)

    found, _ = down(Normalised, (3,))
    assert found.plan.lr > 1e-3


def test_the_true_derivative_of_a_matrix_is_that_of_autograd():
    cut = section(lambda x: (x @ x.T).tanh(), (3, 2))
    truth, start = TrueForward.of(cut, -3.0, 3.0), np.linspace(-0.4, 0.6, 6)
    y = truth.outputs(start[None])[0]
    loss = Loss(cut, (0.3,))
    pulled = loss.pull(position_tensor(cut, start))
    assert pulled.gradient is not None
    found, bent = downhill_gradient(truth.slopes(start, y), loss.residual(y))
    assert found == pytest.approx(pulled.gradient.numpy().ravel(), rel=1e-8)
    assert not bent


def test_a_function_that_fails_on_the_way_keeps_the_steps_before():
    class Fussy(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            if x.min() < 0.5:
                raise ValueError("too low")
            return 2 * x

        @staticmethod
        def backward(ctx, grad_output):
            return 2 * grad_output

    found, said = down(Fussy, at=1.0, goal=(0.0,), lr=0.0625)
    assert found.returned.positions.ravel().tolist() == [1.0, 0.5, 0.25]
    assert found.returned.losses[:2].tolist() == [4.0, 1.0]
    assert "the descent ends after 2 steps, where forward raises ValueError (too low)" in said
    with pytest.raises(FunctionFailed):
        down(Fussy, at=0.0)


def test_a_backward_that_fails_is_said_and_the_true_one_goes_on():
    header, columns = ask("one_gradient_too_few", "x")
    assert header["failure"]["phase"] == "backward"
    assert "in step 1, where backward raises RuntimeError" in header["sentence"]
    assert header["true"]["ending"] == "reached"
    assert np.isnan(columns["position"][1:]).all()
    assert np.isfinite(columns["true_position"]).all()


def test_a_parameter_moves_with_the_true_derivative_alone():
    header, columns = ask("clamp_with_grad", "min", at=-2.0, goal=(1.0,), lr=0.25)
    assert "min does not move: it is a parameter, for which backward returns no gradient" in header["sentence"]
    assert columns["true_position"][:3] == pytest.approx([-2.0, -0.5, 0.25], rel=1e-9)


def test_one_that_works_in_place_does_not_move_the_start():
    def doubled(x):
        return x.mul_(2)

    found, _ = down(doubled, at=1.0, goal=(0.0,), lr=0.0625, steps=3)
    assert found.returned.positions.ravel().tolist() == [1.0, 0.5, 0.25, 0.125]
    assert found.true.positions.ravel() == pytest.approx([1.0, 0.5, 0.25, 0.125], rel=1e-9)


@pytest.mark.parametrize("draw", [lambda: torch.rand(()), lambda: np.random.rand(), lambda: random.random()])
def test_chance_is_begun_anew_in_each_step_and_said(draw):
    def noisy(x):
        return torch.floor(x + draw()) + x - x.detach()

    runs = [down(noisy, at=2.5, goal=(0.0,), lr=0.125) for _ in range(2)]
    assert runs[0][0].random
    assert "forward draws random numbers, in each step the same for both runs." in runs[0][1]
    assert np.array_equal(runs[0][0].returned.positions, runs[1][0].returned.positions)
    assert np.array_equal(runs[0][0].true.losses, runs[1][0].true.losses)


def test_what_is_too_large_is_refused_in_a_sentence():
    with pytest.raises(TooLarge, match=f"x has {MOST_DESCENT_ELEMENTS + 1} elements"):
        down(torch.exp, (MOST_DESCENT_ELEMENTS + 1,))
    found, _ = down(torch.exp, (MOST_DESCENT_ELEMENTS,), steps=500, lr=1e300, goal=(0.0,))
    assert found.plan.steps == 128


def test_a_slow_descent_ends_in_time_and_says_so():
    cut = section(torch.exp)
    start, loss = position_tensor(cut, np.array([1.0])), Loss(cut, (0.0,))
    run = run_descent(start, 1e-6, 500, lambda position, _: loss.pull(position), seconds=0.0)
    assert (run.steps, run.late) == (0, True)
    found, _ = down(torch.exp, at=1.0, lr=1e-6, goal=(0.0,), steps=1)
    assert "there was time for 0 steps only" in descent_sentence(replace(found, returned=run), MovingNames("x", "y"))


@pytest.mark.parametrize("goal", [(1.0, 2.0), (1.0, 2.0, 3.0)])
def test_a_goal_that_does_not_fit_is_refused(goal):
    with pytest.raises(FunctionFailed, match="y has 4 elements, and goal"):
        down(torch.exp, (2, 2), goal=goal)


@pytest.mark.parametrize(
    "name", ["exp", "functional_linear", "softmax", "image_alpha", "abs_product", "sinh", "square"]
)
def test_what_is_chosen_leads_down_with_the_true_derivative(name):
    op = OPS[name]
    wrt, of = op.wrt or op.inputs[0].name, op.of or op.outputs[0]
    header, columns = ask(name, wrt, of)
    assert header["true"]["ending"] in ("falls", "reached")
    assert columns["true_loss"][-1] < 0.2 * columns["true_loss"][0]
    assert columns["loss"] == pytest.approx(columns["true_loss"], rel=1e-4, abs=1e-8)


def test_an_op_declares_its_own_descent_for_its_first_look_alone():
    assert ask("clamp_with_grad")[0]["steps"] == 12
    assert ask("clamp_with_grad", "max")[0]["steps"] == 40


def test_a_jump_is_left_open_in_the_landscape():
    header, _ = ask("round_straight_through", "x")
    land = header["landscape"]
    torn = [x for x, y in zip(land["x"], land["y"], strict=True) if y is None]
    assert torn == pytest.approx([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], abs=1e-9)
    assert land["of"] == "forward"
    assert land["true"][0] == 2.0


def test_the_landscape_holds_a_start_that_is_far_away_and_what_is_around_one_farther_still():
    land = ask("clamp_with_grad", at=100.0)[0]["landscape"]
    assert (land["x"][0], land["x"][-1]) == (-3, 100)
    assert sum(-1 < x < 1 for x in land["x"]) > 10
    around = ask("square", "x", at=1e6, lr=1e-9, steps=2)[0]["landscape"]["x"]
    assert 0.9998e6 < around[0] < 1e6 < around[-1] < 1.0002e6
    vast = ask("clamp_with_grad", at=1e300)[0]["landscape"]["x"]
    assert len(set(vast)) == len(vast)


def test_float32_moves_in_float32():
    _, columns = ask("exp", "x", dtype="float32", steps=5, lr=0.03, goal=(0.2,), at=1.7)
    assert columns["position"].tolist() == columns["position"].astype(np.float32).tolist()


def test_a_parameter_of_a_function_may_not_bear_these_names():
    with pytest.raises(Exception, match="'lr' is a reserved word"):
        section(torch.exp, parameters=(Parameter("lr", 1.0),))


@pytest.mark.parametrize("factor", [5e-324, 1e-300, 1e-160, 1e160, 1e300])
def test_a_learning_rate_is_chosen_for_slopes_whose_square_float64_does_not_hold(factor):
    found, _ = down(lambda x: factor * x, at=1.0)
    assert 0 < found.plan.lr < np.inf


@pytest.mark.parametrize("name", [name for name, op in OPS.items() if op.claim == "broken" and op.descent])
def test_the_descent_of_a_specimen_starts_where_its_bug_misleads(name: str) -> None:
    header, columns = ask(name, OPS[name].inputs[0].name)
    assert header["returned"]["last"] >= header["true"]["last"]
    assert columns["position"][-1] != columns["true_position"][-1]
