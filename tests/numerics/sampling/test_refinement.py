"""Between the rows there are as many points as the eye needs, and no more; and round numbers are met."""

import numpy as np
import pytest
import torch
from support.answers import document
from support.sections import Grid, look, op_of, written

F = torch.nn.functional
PIXELS = 1000


class Drawn:
    """What is drawn of an op: its columns, its marks, and by how many pixels its lines miss a curve."""

    def __init__(self, op, **asked):
        self.header, self.columns = document(
            op if not callable(op) or hasattr(op, "inputs") else op_of(op), "curves", **asked
        )
        self.x, self.marks = self.columns["x"], self.header["marks"]

    def off(self, values, column, hidden=()):
        """By how many pixels the lines through the rows miss the curve, allowing a tenth of a pixel sideways."""
        special = [each["x"] for each in self.marks]
        span = self.x[-1] - self.x[0]
        x = np.linspace(self.x[0], self.x[-1], 30011)[1:-1]
        wide = 0.11 * span / PIXELS
        with np.errstate(all="ignore"):
            lines = np.interp(x, self.x, self.columns[column])
            near = [values(x + share * wide) for share in np.linspace(-1, 1, 11)]
            near += [values(np.where(np.abs(x - each) < wide, each, x)) for each in special]
            near = np.array([np.where(np.isfinite(each), each, near[5]) for each in near])
            missed = np.maximum(lines - near.max(axis=0), near.min(axis=0) - lines)
            shown = np.isfinite(lines) & np.isfinite(near).all(axis=0)
            for each in self.marks:
                if each["kind"] in hidden:
                    shown &= np.abs(x - each["x"]) > 1.01 * span / 400
            return max(missed[shown].max(), 0) / (np.ptp(lines[shown]) or 1) * PIXELS


def on_numbers(function):
    """A function of tensors, and autograd's gradient of it, as functions of arrays."""

    def slope(t):
        x = torch.from_numpy(t).requires_grad_()
        y = function(x)
        return torch.autograd.grad(y.sum(), x)[0].numpy() if y.requires_grad else np.zeros_like(t)

    return lambda t: function(torch.from_numpy(t)).numpy(), slope


STEEP = {
    "clamp": lambda x: x.clamp(0, 1.37),
    "floor": torch.floor,
    "tanh(100x)": lambda x: torch.tanh(100 * (x - 0.0123)),
    "gelu": F.gelu,
    "sigmoid(200x)": lambda x: torch.sigmoid(200 * x),
    "a narrow bump": lambda x: torch.exp(-1e4 * (x - 0.1) ** 2),
    "softplus of 50": lambda x: F.softplus(x, beta=50),
    "hardswish": F.hardswish,
    "staircase": lambda x: torch.floor(7 * x) / 7,
}


@pytest.mark.parametrize("name", STEEP)
def test_curve_and_gradient_are_drawn_to_half_a_pixel_with_a_thousand_points(name):
    seen, (forward, slope) = Drawn(STEEP[name]), on_numbers(STEEP[name])
    assert seen.x.size <= 1000
    assert seen.off(forward, "forward") <= 0.5
    assert seen.off(slope, "analytical") <= 0.5


@pytest.mark.parametrize(
    ("kind", "function"),
    [
        ("cusp", torch.sqrt),
        ("cusp", lambda x: (x - 0.1234).abs().sqrt()),
        ("cusp", torch.special.entr),
        ("pole", lambda x: 1 / (x - 0.3075)),
        ("pole", torch.log),
        ("pole", lambda x: x.abs().log()),
    ],
)
def test_forward_is_drawn_right_up_to_a_cusp_and_beside_a_pole(kind, function):
    seen = Drawn(function)
    assert [each["kind"] for each in seen.marks] == [kind]
    assert seen.off(on_numbers(function)[0], "forward", hidden=("pole",)) <= 0.5


SMOOTH = [torch.tanh, torch.exp, torch.sigmoid, F.gelu, F.silu, F.mish, F.elu, lambda x: x**3, lambda x: 0 * x + 1]
STRAIGHT = [lambda x, slope=slope: slope * x + 3.3 for slope in (2.0, 0.1, 1e-3, 3e4)]


@pytest.mark.parametrize("function", SMOOTH + STRAIGHT)
def test_a_smooth_curve_needs_no_points_nor_has_its_rounding_any(function):
    assert Drawn(function).x.size == 401


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_the_rounding_of_a_short_dtype_is_not_chased(dtype):
    given = np.unique(torch.linspace(-3, 3, 401, dtype=torch.float64).to(getattr(torch, dtype)).double().numpy())
    assert Drawn(F.gelu, dtype=dtype).x.size == given.size


def test_beside_a_kink_stand_two_points_between_which_the_gradient_leaps():
    seen = Drawn(torch.relu)
    assert [each["x"] for each in seen.marks] == [0.0]
    assert np.setdiff1d(seen.x, Grid(-3.0, 3.0, 401).points()) == pytest.approx([-6e-4, 6e-4])


def test_a_gradient_is_drawn_right_where_forward_is_smooth_and_a_slope_where_backward_is_constant():
    bell = Drawn(written(torch.tanh, lambda x: torch.exp(-3e3 * (x - 1) ** 2)))
    assert bell.off(lambda t: np.exp(-3e3 * (t - 1) ** 2), "analytical") <= 0.5
    steep = Drawn(written(lambda x: torch.tanh(100 * (x - 0.0123)), torch.ones_like))
    assert steep.off(lambda t: 100 / np.cosh(100 * (t - 0.0123)) ** 2, "numerical") <= 0.5


def test_points_are_numbers_of_the_dtype_and_none_twice():
    x = Drawn(STEEP["tanh(100x)"], dtype="float32").x
    assert x.size > 401
    assert (x.astype(np.float32) == x).all()
    assert (np.diff(x) > 0).all()


@pytest.mark.parametrize("function", [lambda x: torch.sin(500 * x), torch.rand_like, lambda x: torch.sin(1 / x)])
def test_what_no_points_can_show_costs_no_more_than_some_hundred(function):
    assert Drawn(function).x.size <= 1001


@pytest.mark.parametrize("count", [2, 3, 5, 9])
def test_few_rows_are_refined_without_failing(count):
    assert Drawn(torch.relu, count=count).x.size >= count


@pytest.mark.parametrize("place", [-1.0, 0.0, 0.3, 2.0])
def test_round_numbers_are_met_exactly(place):
    assert place in Grid(-3.0, 3.0, 601).points()


@pytest.mark.parametrize(("start", "stop"), [(-1e300, 1e300), (1e-300, 2e-300), (1e6, 1e6 + 1e-6)])
def test_extreme_ranges_still_have_increasing_points(start, stop):
    x = Grid(start, stop, 101).points()
    assert (x.size, np.isfinite(x).all(), (np.diff(x) > 0).all()) == (101, True, True)


def test_a_kink_is_one_row_and_a_pole_a_gap():
    bent = look(op_of(lambda x: (x - 0.05).abs()), 0.0, 2.0, 21)[0].rows
    assert 0.05 in bent.x
    assert not (bent.gap | bent.below | bent.above).any()
    pole = look(op_of(lambda x: 1 / (x - 0.05)), 0.0, 2.0, 21)[0].rows
    assert pole.x[pole.gap] == pytest.approx([0.05])
    assert not (pole.below | pole.above).any()


def test_a_special_point_on_a_grid_point_takes_its_place():
    rows = look(op_of(torch.relu), -1.0, 1.0, 21)[0].rows
    assert (rows.x == 0).sum() == 1
