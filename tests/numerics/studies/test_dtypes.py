"""The dtype and device lens: support, last places, where numbers end, and what computes in less than it is given."""

import numpy as np
import pytest
import torch
from functions.seeds import SEEDS
from support.sampling import sampled
from support.sections import Counted, op_of, section, written

from gradloupe.ops import Input
from gradloupe.server.numerics.sampling.grid import Grid
from gradloupe.server.numerics.studies.dtypes import study_dtypes, ulp_errors, ulp_size
from gradloupe.server.numerics.studies.dtypes_text import dtypes_sentence
from gradloupe.server.runtime.devices import TORCH_DTYPES, Device, devices


def naive_sigmoid(x):
    return 1 / (1 + torch.exp(-x))


def naive_slope(x):
    return torch.exp(-x) / (1 + torch.exp(-x)) ** 2


class FloatedGradient(torch.autograd.Function):
    """The tanh of any dtype, with a gradient cut down to float32."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.tanh()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return (grad_output * (1 - x.tanh() ** 2)).float()


def through(op, start=-3.0, stop=3.0, grad_output=1.0, count=401, **asked):
    return study_dtypes(
        section(op, **asked), Grid(start, stop, count), grad_output, (Device("cpu", "a CPU", tuple(TORCH_DTYPES)),)
    )


def rows_of(*given, **asked):
    return {row.dtype: row for row in through(*given, **asked).rows}


def test_every_dtype_of_every_device_is_a_row():
    seen = study_dtypes(section("exp"), Grid(-2, 2, 401))
    assert [(row.device, row.dtype) for row in seen.rows] == [
        (each.kind, name) for each in devices() for name in TORCH_DTYPES
    ]
    assert seen.x.size == 401
    assert all(row.forward.each.size == row.gradient.each.size == 401 for row in seen.rows)


def test_double_precision_on_the_cpu_is_the_yardstick_and_has_no_error_of_its_own():
    rows = rows_of("exp", -2, 2)
    assert [name for name, row in rows.items() if row.yardstick] == ["float64"]
    assert np.isnan(rows["float64"].forward.largest)


@pytest.mark.parametrize(
    ("dtype", "start", "stop", "end"),
    [
        ("float64", 0, 800, 709.782712893384),  # ln(2^1024)
        ("float32", 0, 800, 88.722839355468750),
        ("bfloat16", 0, 800, 89.0),
        ("float16", 0, 800, 11.09375),
        ("float16", 0, 20, 11.09375),
    ],
)
def test_the_exponential_ends_at_the_number_where_it_is_first_infinite(dtype, start, stop, end):
    left, right = rows_of("exp", start, stop)[dtype].overflow
    assert left is None
    assert right == pytest.approx(end, rel=1e-15)
    ends = torch.tensor(right, dtype=TORCH_DTYPES[dtype])
    assert ends.exp().isinf()
    assert torch.nextafter(ends, torch.zeros_like(ends)).exp().isfinite()


def test_an_overflow_on_the_left_is_found_too():
    row = rows_of(written(lambda x: torch.exp(-x), lambda x: -torch.exp(-x)), -20, 3)["float16"]
    assert row.overflow == (-11.09375, None)


def test_an_intermediate_that_overflows_ends_forward_before_its_value_would():
    row = rows_of(op_of(lambda x: torch.log(1 + torch.exp(x))), -5, 20)["float16"]
    assert row.overflow == (None, 11.09375)


@pytest.mark.parametrize("function", [torch.log, torch.sqrt, torch.asin, torch.tanh, torch.reciprocal])
def test_where_a_domain_ends_nothing_overflows(function):
    assert all(row.overflow == (None, None) for row in rows_of(op_of(function), -3, 3).values())


def test_a_sigmoid_by_exp_returns_nan_in_float32_at_minus_100():
    row = rows_of(written(naive_sigmoid, naive_slope), -110, 10)["float32"]
    assert row.overflow == (None, None)
    assert row.nan_between is not None
    assert row.nan_between[0] == -110
    assert row.nan_between[1] == pytest.approx(-88.73, abs=0.3)
    assert row.nan_gradients == 71


def test_the_gradient_of_a_reciprocal_is_infinite_in_float16_near_0():
    rows = rows_of(written(lambda x: 1 / x, lambda x: -1 / x**2), -0.02, 0.02)
    assert rows["float16"].infinite_gradients == 78  # |x| < 2^-8 = 0.0039, but for 0 where forward is infinite
    assert rows["float32"].infinite_gradients == 0
    assert rows["float16"].nan_gradients == 0


def test_a_rounded_function_is_half_a_unit_off_at_most():
    for row in rows_of("square").values():
        if not row.yardstick:
            assert 0.1 < row.forward.median < row.forward.largest <= 0.5
            assert row.gradient.largest == 0


def test_what_cancels_loses_places_and_the_lens_says_where():
    row = rows_of("heaviside_sigmoid")["float32"]
    assert row.gradient.largest > 1e4
    assert row.gradient.x == pytest.approx(3, abs=0.1)
    assert row.gradient.median < 2


def test_held_inputs_are_rounded_for_the_yardstick_as_well():
    product = op_of(lambda x, factor: x * factor, Input("x"), Input("factor", value=0.1))
    for row in rows_of(product).values():
        assert row.yardstick or row.forward.largest <= 0.5
        assert row.yardstick or row.gradient.largest == 0


@pytest.mark.parametrize("dtype", TORCH_DTYPES.values())
def test_a_last_place_is_the_distance_to_the_next_number(dtype):
    values = torch.tensor([1.0, 1.5, 0.3, 3.0, 1e-3, 0.0, torch.finfo(dtype).smallest_normal / 8], dtype=dtype)
    following = torch.nextafter(values, torch.full_like(values, torch.inf))
    assert ulp_size(values.double().numpy(), dtype) == pytest.approx((following.double() - values.double()).numpy())


def test_values_that_are_not_finite_have_no_error():
    found = ulp_errors(np.array([1.0, np.inf, np.nan]), np.array([1.0, 2.0, 3.0]), np.arange(3.0), torch.float32)
    assert np.isnan(found.each[1:]).all()
    assert (found.median, found.largest, found.x) == (0, 0, 0)


def test_a_dtype_the_function_refuses_is_a_row_with_the_sentence_of_the_error():
    def picky(x):
        if x.dtype == torch.float16:
            raise ValueError("half is not enough")
        return x.sin()

    rows = rows_of(op_of(picky))
    assert not rows["float16"].supported
    assert rows["float16"].message == "forward raised ValueError: half is not enough"
    assert rows["float32"].supported
    assert rows["float32"].forward.largest < 1


def test_a_backward_that_refuses_a_dtype_leaves_the_forward_to_be_seen():
    def slope(x):
        if x.dtype == torch.bfloat16:
            raise ValueError("no brain here")
        return x.cos()

    row = rows_of(written(torch.sin, slope))["bfloat16"]
    assert row.message == "backward raised ValueError: no brain here"
    assert row.forward.largest < 1
    assert np.isnan(row.gradient.each).all()


def test_without_double_precision_there_is_nothing_to_hold_the_others_against():
    def single(x):
        if x.dtype == torch.float64:
            raise TypeError("no double here")
        return x.exp()

    rows = rows_of(op_of(single), 0, 100, dtype=torch.float32)
    assert rows["float64"].message == "forward raised TypeError: no double here"
    assert rows["float32"].supported
    assert np.isnan(rows["float32"].forward.largest)
    assert rows["float32"].overflow[1] == pytest.approx(88.7228, abs=1e-4)


def test_a_device_without_a_dtype_says_so():
    metal = Device("cpu", "Apple GPU (Metal)", ("float32", "bfloat16", "float16"))
    (row, *_) = study_dtypes(section("exp"), Grid(-2, 2, 401), 1.0, (metal,)).rows
    assert row.message == "Apple GPU (Metal) has no float64"


def test_numbers_a_dtype_cannot_hold_are_told_and_not_asked():
    assert "65504" in rows_of(op_of(torch.tanh), 1e5, 2e5)["float16"].message
    assert "grad_output 100000" in rows_of(op_of(torch.tanh), grad_output=1e5)["float16"].message


@pytest.mark.parametrize("narrow", ["float32", "float16", "bfloat16"])
def test_a_forward_that_computes_in_less_than_it_is_given_is_recognised(narrow):
    op = written(lambda x: torch.tanh(x.to(TORCH_DTYPES[narrow])).to(x.dtype), lambda x: 1 - torch.tanh(x) ** 2)
    row = rows_of(op)["float64"]
    assert (row.forward_in, row.backward_in, row.computes_in) == (narrow, None, narrow)


@pytest.mark.parametrize("grad_output", [1.0, 0.1, -3.0])
def test_a_gradient_cut_down_to_float32_is_recognised(grad_output):
    row = rows_of(op_of(FloatedGradient.apply), grad_output=grad_output)["float64"]
    assert (row.forward_in, row.backward_in, row.computes_in) == (None, "float32", "float32")


@pytest.mark.parametrize("name", sampled(SEEDS))
def test_no_op_of_the_gallery_computes_in_less_than_it_is_given(name):
    assert all(row.computes_in is None for row in rows_of(name).values())


@pytest.mark.parametrize("function", [torch.floor, torch.sign, torch.relu, lambda x: x * x / 2, lambda x: 2 * x])
@pytest.mark.parametrize("stop", [3.0, 400.0])
def test_short_numbers_are_not_taken_for_low_precision(function, stop):
    assert rows_of(op_of(function), 0.0, stop)["float64"].computes_in is None


def test_a_parameter_has_no_gradient_and_no_complex_numbers():
    seen = through("clipped_relu", 0.5, 3, wrt="clip", count=51)
    assert seen.complex is None
    assert all(np.isnan(row.gradient.each).all() and row.supported for row in seen.rows)


def test_points_that_need_a_call_each_are_fewer():
    assert through(op_of(lambda x: x.cumsum(0))).x.size == 17


def test_the_lens_costs_few_calls():
    exp = Counted(torch.exp)
    rows = through(op_of(exp)).rows
    assert exp.calls <= 8 * len(rows)


def test_the_sentence_tells_where_each_dtype_ends_and_what_it_loses():
    said = dtypes_sentence(through("exp", 0, 800), "x")
    assert "forward overflows above x = 709.8 in float64, x = 88.72 in float32, x = 89 in bfloat16" in said
    assert "The gradient is off by at most 0.49 in float32, 0.5 in bfloat16" in said
    assert "a conjugate is missing" in said
    said = dtypes_sentence(through(written(naive_sigmoid, naive_slope), -110, 10), "x")
    assert "In float32 and bfloat16 backward returns NaN for 71 points from x = −110 to −89, where forward is" in said
    said = dtypes_sentence(through(op_of(FloatedGradient.apply)), "x")
    assert said.startswith("Given float64, backward computes in float32 inside, so its numbers have no more digits")
    assert "The gradient is exact in float32, bfloat16 and float16: " in dtypes_sentence(through("square"), "x")
    said = dtypes_sentence(through(written(lambda x: x.abs().sqrt(), lambda x: x.sign() / (2 * x.abs().sqrt()))), "x")
    assert "In every dtype backward returns NaN at x = 0, where forward is finite. The" in said
