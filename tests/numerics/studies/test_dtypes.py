"""The dtype and device lens: support, last places, where numbers end, and what computes in less than it is given."""

import pytest
import torch
from functions.basics import with_backward
from functions.seeds import SEEDS
from support.answers import document
from support.sampling import sampled
from support.sections import Counted, op_of, section, written

from gradloupe.ops import Input
from gradloupe.server.numerics.curve.evaluate import Grid
from gradloupe.server.numerics.studies.dtypes import study_dtypes, ulp_size
from gradloupe.server.runtime.devices import TORCH_DTYPES, Device, devices


def naive_sigmoid(x):
    return 1 / (1 + torch.exp(-x))


def naive_slope(x):
    return torch.exp(-x) / (1 + torch.exp(-x)) ** 2


FLOATED = op_of(with_backward(torch.tanh, lambda g, x: (g * (1 - x.tanh() ** 2)).float()).apply)


def through(op, *range_, **asked):
    return document(op, "precision", *range_, **asked)


def rows_of(op, *range_, **asked):
    return {row["dtype"]: row for row in through(op, *range_, **asked)[0]["rows"] if row["device"] == "cpu"}


def said_of(op, *range_, **asked):
    return through(op, *range_, **asked)[0]["sentence"]


def test_every_dtype_of_every_device_is_a_row():
    header, columns = through("exp", -2, 2)
    assert [(row["device"], row["dtype"]) for row in header["rows"]] == [
        (each.kind, name) for each in devices() for name in TORCH_DTYPES
    ]
    assert {
        columns[f"{curve}_{name}"].size for curve in ("forward", "gradient") for name in list(TORCH_DTYPES)[1:]
    } == {401}


def test_double_precision_on_the_cpu_is_the_yardstick_and_has_no_error_of_its_own():
    rows = rows_of("exp", -2, 2)
    assert [name for name, row in rows.items() if row["yardstick"]] == ["float64"]
    assert rows["float64"]["forward_ulp"] is None


@pytest.mark.parametrize(
    ("dtype", "stop", "end"),
    [
        ("float64", 800, 709.782712893384),  # ln(2^1024)
        ("float32", 800, 88.722839355468750),
        ("bfloat16", 800, 89.0),
        ("float16", 800, 11.09375),
        ("float16", 20, 11.09375),
    ],
)
def test_the_exponential_ends_at_the_number_where_it_is_first_infinite(dtype, stop, end):
    left, right = rows_of("exp", 0, stop)[dtype]["overflow"]
    assert (left, right) == (None, pytest.approx(end, rel=1e-15))
    ends = torch.tensor(right, dtype=TORCH_DTYPES[dtype])
    assert ends.exp().isinf()
    assert torch.nextafter(ends, torch.zeros_like(ends)).exp().isfinite()


def test_an_overflow_on_the_left_and_one_of_an_intermediate_are_found_too():
    left = written(lambda x: torch.exp(-x), lambda x: -torch.exp(-x))
    assert rows_of(left, -20, 3)["float16"]["overflow"] == (-11.09375, None)
    early = op_of(lambda x: torch.log(1 + torch.exp(x)))
    assert rows_of(early, -5, 20)["float16"]["overflow"] == (None, 11.09375)


@pytest.mark.parametrize("function", [torch.log, torch.sqrt, torch.asin, torch.tanh, torch.reciprocal])
def test_where_a_domain_ends_nothing_overflows(function):
    assert all(row["overflow"] == (None, None) for row in rows_of(op_of(function)).values())


def test_a_sigmoid_by_exp_returns_nan_in_float32_at_minus_100():
    header, _ = through(written(naive_sigmoid, naive_slope), -110, 10)
    row = header["rows"][1]
    assert (row["dtype"], row["overflow"], row["nan_gradients"]) == ("float32", (None, None), 71)
    assert "71 points from x = −110 to −89" in header["sentence"]
    root = written(lambda x: x.abs().sqrt(), lambda x: x.sign() / (2 * x.abs().sqrt()))
    assert "returns NaN at x = 0" in said_of(root)


def test_the_gradient_of_a_reciprocal_is_infinite_in_float16_near_0():
    rows = rows_of(written(lambda x: 1 / x, lambda x: -1 / x**2), -0.02, 0.02)
    assert rows["float16"]["infinite_gradients"] == 78  # |x| < 2^-8 = 0.0039, but for 0 where forward is infinite
    assert (rows["float32"]["infinite_gradients"], rows["float16"]["nan_gradients"]) == (0, 0)


def test_a_rounded_function_is_half_a_unit_off_at_most():
    for row in rows_of("square").values():
        if not row["yardstick"]:
            assert 0.1 < row["forward_ulp"]["median"] < row["forward_ulp"]["max"] <= 0.5
            assert row["gradient_ulp"]["max"] == 0
    assert "is exact in float32" in said_of("square")


def test_what_cancels_loses_places_and_the_lens_says_where():
    lost = rows_of("heaviside_sigmoid")["float32"]["gradient_ulp"]
    assert (lost["max"] > 1e4, lost["x"], lost["median"] < 2) == (True, pytest.approx(3, abs=0.1), True)


def test_held_inputs_are_rounded_for_the_yardstick_as_well():
    product = op_of(lambda x, factor: x * factor, Input("x"), Input("factor", value=0.1))
    for row in rows_of(product).values():
        assert row["yardstick"] or row["forward_ulp"]["max"] <= 0.5
        assert row["yardstick"] or row["gradient_ulp"]["max"] == 0


@pytest.mark.parametrize("dtype", TORCH_DTYPES.values())
def test_a_last_place_is_the_distance_to_the_next_number(dtype):
    values = torch.tensor([1.0, 1.5, 0.3, 3.0, 1e-3, 0.0, torch.finfo(dtype).smallest_normal / 8], dtype=dtype)
    following = torch.nextafter(values, torch.full_like(values, torch.inf))
    assert ulp_size(values.double().numpy(), dtype) == pytest.approx((following.double() - values.double()).numpy())


def refusing(dtype, function):
    def picky(x):
        if x.dtype == TORCH_DTYPES[dtype]:
            raise ValueError("no")
        return function(x)

    return picky


def test_a_dtype_the_function_refuses_is_a_row_with_the_sentence_of_the_error():
    rows = rows_of(op_of(refusing("float16", torch.sin)))
    assert (rows["float16"]["supported"], rows["float32"]["supported"]) == (False, True)
    assert rows["float16"]["message"] == "forward raised ValueError: no"
    assert rows["float32"]["forward_ulp"]["max"] < 1


def test_a_backward_that_refuses_a_dtype_leaves_the_forward_to_be_seen():
    row = rows_of(written(torch.sin, refusing("bfloat16", torch.cos)))["bfloat16"]
    assert row["message"] == "backward raised ValueError: no"
    assert row["forward_ulp"]["max"] < 1
    assert row["gradient_ulp"] is None


def test_without_double_precision_there_is_nothing_to_hold_the_others_against():
    rows = rows_of(op_of(refusing("float64", torch.exp)), 0, 100, dtype="float32")
    assert rows["float64"]["message"] == "forward raised ValueError: no"
    assert (rows["float32"]["supported"], rows["float32"]["forward_ulp"]) == (True, None)
    assert rows["float32"]["overflow"][1] == pytest.approx(88.7228, abs=1e-4)


def test_a_device_without_a_dtype_says_so():
    metal = Device("cpu", "Apple GPU (Metal)", ("float32", "bfloat16", "float16"))
    (row, *_) = study_dtypes(section("exp"), Grid(-2, 2, 401), 1.0, (metal,)).rows
    assert "has no float64" in row.message


def test_numbers_a_dtype_cannot_hold_are_told_and_not_asked():
    assert "65504" in rows_of(op_of(torch.tanh), 1e5, 2e5)["float16"]["message"]
    assert "grad_output 100000" in rows_of(op_of(torch.tanh), grad_output=1e5)["float16"]["message"]


@pytest.mark.parametrize("narrow", ["float32", "float16", "bfloat16"])
def test_a_forward_that_computes_in_less_than_it_is_given_is_recognised(narrow):
    op = written(lambda x: torch.tanh(x.to(TORCH_DTYPES[narrow])).to(x.dtype), lambda x: 1 - torch.tanh(x) ** 2)
    header, _ = through(op)
    assert header["rows"][0]["computes_in"] == narrow
    assert header["sentence"].startswith("Given float64, forward")


@pytest.mark.parametrize("grad_output", [1.0, 0.1, -3.0])
def test_a_gradient_cut_down_to_float32_is_recognised(grad_output):
    header, _ = through(FLOATED, grad_output=grad_output)
    assert header["rows"][0]["computes_in"] == "float32"
    assert header["sentence"].startswith("Given float64, backward")


@pytest.mark.parametrize("name", sampled(SEEDS))
def test_no_op_of_the_gallery_computes_in_less_than_it_is_given(name):
    assert all(row["computes_in"] is None for row in rows_of(name).values())


@pytest.mark.parametrize("function", [torch.floor, torch.sign, torch.relu, lambda x: x * x / 2, lambda x: 2 * x])
def test_short_numbers_are_not_taken_for_low_precision(function):
    for stop in (3.0, 400.0):
        assert rows_of(op_of(function), 0.0, stop)["float64"]["computes_in"] is None


def test_a_parameter_has_no_gradient_and_no_complex_numbers():
    header, columns = through("clipped_relu", 0.5, 3, wrt="clip", count=51)
    assert (header["complex"], any(name.startswith("gradient") for name in columns)) == (None, False)
    assert all(row["supported"] for row in header["rows"])


def test_points_that_need_a_call_each_are_fewer():
    assert through(op_of(lambda x: x.cumsum(0)))[1]["x"].size == 17


def test_the_lens_costs_few_calls():
    exp = Counted(torch.exp)
    rows = rows_of(op_of(exp))
    assert exp.calls <= 8 * len(rows) + 1


def test_the_sentence_tells_where_each_dtype_ends_and_what_it_loses():
    said = said_of("exp", 0, 800)
    assert "overflows above x = 709.8 in float64, x = 88.72 in float32, x = 89 in bfloat16" in said
    assert "at most 0.49 in float32" in said
