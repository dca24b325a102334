"""The step microscope: the V of the error, its two asymptotes, what is seen at special points, Taylor's line."""

import math

import numpy as np
import pytest
import torch
from support.answers import document
from support.sections import Counted, op_of, written


def at(function, x, slope=None, span=6.0, **asked):
    """The header and the columns of the view in the middle of a range, beside a backward of its own if there is one."""
    op = written(function, slope) if slope else op_of(function)
    return document(op, "step", x - span / 2, x + span / 2, at=x, **asked)


# The function, where, its slope and its third derivative there.
SMOOTH = {
    "exp": (torch.exp, 1.0, math.e, math.e),
    "sin": (torch.sin, 0.5, math.cos(0.5), -math.cos(0.5)),
    "cube": (lambda x: x**3, 2.0, 12.0, 6.0),
    "1/x": (lambda x: 1 / x, 0.5, -4.0, -96.0),
    "tanh": (torch.tanh, 0.3, 1 - math.tanh(0.3) ** 2, None),
    "sin 50x": (lambda x: torch.sin(50 * x), 1.0, 50 * math.cos(50), -(50**3) * math.cos(50)),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_the_error_of_central_differences_is_a_v_between_its_two_asymptotes(name):
    function, x, slope, third = SMOOTH[name]
    header, columns = at(function, x)
    step, central, best = columns["step"], columns["central"], header["best"]
    assert header["kind"] == "smooth"
    assert abs(best["value"] - slope) <= best["error"]
    assert header["central_order"] == pytest.approx(2, abs=0.03)
    if third is not None:
        near = np.abs(np.log(step / math.sqrt(1e-6 * abs(6 * slope / third)))).argmin()
        assert columns["truncation"][near] == pytest.approx(abs(third) / 6 * step[near] ** 2, rel=0.05)
    crossing = step[np.abs(np.log(columns["truncation"] / columns["rounding"])).argmin()]
    assert 0.05 < header["least"]["step"] / crossing < 20
    assert header["least"]["error"] < 1e-9 * abs(slope)
    asymptotes = columns["truncation"] + columns["rounding"]
    assert (central <= 8 * asymptotes + best["error"])[step < 0.01].all()
    assert all(np.nanmin(columns[side]) >= best["error"] > 0 for side in ("central", "left", "right"))


def test_the_rounding_line_is_the_last_place_of_the_value_over_the_step():
    _, columns = at(torch.exp, 1.0)
    fine = columns["step"] < 1e-3
    assert columns["rounding"][fine] == pytest.approx(2.0**-53 * math.e / columns["step"][fine], rel=0.01)


def test_one_sided_differences_lose_a_whole_order():
    _, columns = at(torch.exp, 1.0)
    clear = (columns["step"] > 1e-5) & (columns["step"] < 1e-2)
    assert columns["right"][clear] == pytest.approx(math.e / 2 * columns["step"][clear], rel=0.05)


def test_the_steps_shown_as_chosen_are_those_of_the_ladder():
    assert at(torch.exp, 1.0)[0]["chosen"] == pytest.approx([0.012, 0.004, 0.012 / 9, 0.012 / 27])
    assert at(torch.exp, 1.0, step=0.3)[0]["chosen"][0] == 0.3
    assert len(at(torch.relu, 0.0)[0]["chosen"]) == 4 + 7


@pytest.mark.parametrize("function", [lambda x: 2 * x + 1, lambda x: x * x, lambda x: 0 * x + 3])
def test_without_a_third_derivative_there_is_no_truncation(function):
    header, columns = at(function, 0.7)
    assert header["central_order"] is None
    assert np.isnan(columns["truncation"]).all()
    assert header["least"]["step"] > 1  # the wider the better


@pytest.mark.parametrize(
    ("function", "x", "kind", "left", "right"),
    [
        (torch.relu, 0.0, "kink", 0.0, 1.0),
        (lambda x: torch.maximum(x, x * x), 1.0, "kink", 1.0, 2.0),
        (lambda x: x.abs().sqrt(), 0.0, "cusp", None, None),
        (lambda x: (x >= 0).double(), 0.0, "jump", None, 0.0),
        (torch.round, 0.5, "jump", 0.0, None),
        (lambda x: 1 / x, 0.0, "pole", None, None),
        (lambda x: x.abs().log(), 0.0, "pole", None, None),
        (torch.sqrt, 0.0, "edge", None, None),
        (lambda x: torch.where(x >= 0, x.sin(), torch.nan), 0.0, "edge", None, 1.0),
        (torch.log, -1.0, "no value", None, None),
    ],
)
def test_a_special_point_is_named_and_has_what_slopes_it_has(function, x, kind, left, right):
    header, columns = at(function, x, torch.ones_like)
    assert header["kind"] == kind
    assert [header["left"], header["right"]] == [
        side if side is None else pytest.approx(side, abs=1e-9) for side in (left, right)
    ]
    if kind != "edge":
        assert header["best"]["value"] is None
        assert np.isnan(columns["central"]).all()
        assert header["least"] is None
    assert header["taylor_order"] is None


def test_an_infinite_slope_is_told_from_none():
    assert "−∞ on the left" in at(lambda x: x.abs().sqrt(), 0.0)[0]["sentence"]
    assert "unknown on the left" in at(torch.sqrt, 0.0)[0]["sentence"]


def test_at_a_kink_each_side_is_held_to_its_own_slope():
    header, columns = at(lambda x: torch.where(x > 0, x.exp(), 1 + 0 * x), 0.0)
    assert (header["kind"], header["left"], header["right"]) == ("kink", pytest.approx(0), pytest.approx(1))
    clear = (columns["step"] > 1e-5) & (columns["step"] < 1e-2)
    assert columns["right"][clear] == pytest.approx(columns["step"][clear] / 2, rel=0.05)


def test_at_the_edge_of_a_domain_the_side_there_is_has_its_v():
    header, columns = at(lambda x: torch.where(x >= 0, x.exp(), torch.nan), 0.0)
    assert header["kind"] == "edge"
    assert np.isnan(columns["left"]).all()
    assert np.nanmin(columns["right"]) < 1e-6


def test_where_only_the_curvature_jumps_central_differences_lose_an_order():
    header, _ = at(torch.nn.functional.elu, 0.0)
    assert (header["kind"], header["central_order"]) == ("smooth", pytest.approx(1, abs=0.05))
    assert header["taylor_order"] == pytest.approx(2, abs=0.05)


@pytest.mark.parametrize("name", SMOOTH)
def test_the_remainder_falls_with_the_square_only_where_the_slope_is_right(name):
    function, x, slope, _ = SMOOTH[name]
    for factor, order in ((1, 2), (1.0009, 1), (0.9, 1), (0, 1), (-1, 1)):
        header, _ = at(function, x, lambda t, factor=factor: torch.full_like(t, factor * slope))
        assert header["taylor_order"] == pytest.approx(order, abs=0.05), factor


def test_a_line_leaves_no_remainder_but_rounding():
    header, columns = at(lambda x: 3 * x, 0.7)
    assert header["taylor_order"] is None
    assert columns["taylor"].max() < 1e-14
    assert at(lambda x: 3 * x, 0.7, lambda x: 2 + 0 * x)[0]["taylor_order"] == pytest.approx(1, abs=1e-3)


def test_without_a_derivative_there_is_no_remainder():
    for slope in (math.nan, math.inf):
        assert at(torch.exp, 1.0, lambda x, slope=slope: torch.full_like(x, slope))[0]["taylor_order"] is None
    header, columns = document("clamp_with_grad", "step", wrt="min", at=0.0)
    assert (header["analytical"], np.isfinite(columns["taylor"]).any()) == (None, False)


def test_a_slope_found_by_widening_is_not_believed_where_a_finer_ladder_contradicts_it():
    header, _ = at(lambda x: x.clamp(min=0) ** 1.5, 0.0)
    assert abs(header["best"]["value"]) <= header["best"]["error"] < 1e-4
    assert header["taylor_order"] == pytest.approx(1.5, abs=0.05)


def test_in_float32_the_v_is_short_and_the_ladder_keeps_to_wide_steps():
    header, _ = at(lambda x: torch.tanh(x.float()).double(), 0.5)
    assert (header["kind"], header["rounding"]) == ("smooth", 2.0**-24)
    assert 1e-3 < header["least"]["step"] < 1e-1
    assert 1e-7 < header["least"]["error"] < 1e-4
    assert min(header["chosen"]) > 1e-3
    assert header["central_order"] == pytest.approx(2, abs=0.1)


def test_noise_is_not_called_a_jump():
    header, _ = at(lambda x: torch.sin(x) + 1e-6 * torch.randn_like(x), 0.5)
    assert header["kind"] == "unresolved"


def test_far_from_0_steps_that_do_not_move_x_are_no_steps():
    header, columns = at(torch.sin, 1e6)
    assert (header["kind"], header["central_order"]) == ("smooth", pytest.approx(2, abs=0.03))
    assert abs(header["best"]["value"] - math.cos(1e6)) <= header["best"]["error"]
    assert np.isnan(columns["central"][-5:]).all()


@pytest.mark.parametrize("span", [1e-6, 1.0, 1e6])
def test_the_picture_keeps_its_shape_at_every_scale(span):
    header, _ = at(lambda t: torch.exp(t / span), 0.1 * span, span=span)
    assert header["kind"] == "smooth"
    assert [header["central_order"], header["taylor_order"]] == pytest.approx([2, 2], abs=0.03)
    assert header["least"]["step"] / span == pytest.approx(1e-5, rel=0.9)


def test_the_microscope_costs_few_calls():
    exp = Counted(torch.exp)
    at(exp, 1.0)
    assert exp.calls <= 12
