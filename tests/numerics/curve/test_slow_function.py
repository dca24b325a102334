"""Functions that take long, or never return for some inputs: few points, and a sentence that says so."""

import threading

import pytest
import torch
from functions.random_sums import Differentiated
from support.answers import document
from support.sections import op_of

SO_FEW = "A call takes about 0.5 s, so few points were looked at, and only their slopes."


def slow(curve, clock, factor=1.0):
    """A Function that takes half a second whenever it is called."""

    def call(x):
        clock.goes_on(0.5)
        return Differentiated.apply(x, curve, lambda t: factor + 0 * t)

    return op_of(call)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("factor", "word"), [(1.0, "matches"), (1.01, "differs")])
def test_a_slow_function_is_judged_by_a_few_points_and_that_is_said(factor, word, dtype, clock):
    began = clock.elapsed()
    header, columns = document(slow(torch.sin, clock, factor), "curves", dtype=dtype)
    assert clock.elapsed() - began < 9
    assert (header["verdict"]["word"], columns["x"].size) == (word, 2)
    assert header["verdict"]["sentence"].endswith(f"2 of 401 points could be checked. {SO_FEW}")


@pytest.mark.parametrize("curve", [torch.abs, torch.floor, lambda x: torch.sin(3e3 * x), lambda x: 1e6 + torch.tanh(x)])
def test_a_right_slow_function_with_kinks_waves_or_rounding_is_not_accused(curve, clock):
    header, _ = document(slow(curve, clock), "curves", -1.0, 1.44)
    assert header["verdict"]["word"] in ("matches", "undecided")


@pytest.mark.parametrize("view", ["area", "wide"])
def test_what_a_slow_function_has_no_time_for_is_said_in_its_view(view, clock):
    header, _ = document(slow(torch.sin, clock), view)
    assert header["sentence"].startswith("A call takes about 0.5 s, so ")


def test_a_loop_that_never_ends_for_some_inputs_is_left_there_and_the_rest_is_judged():
    def call(x):
        while (x > 1.5).any():
            threading.Event().wait(0.01)
        return Differentiated.apply(x, torch.sin, lambda t: 1.01 + 0 * t)

    header, columns = document(op_of(call), "curves")
    assert header["verdict"]["word"] == "differs"
    assert columns["x"].max() <= 1.5
    assert header["notes"][0].startswith("The Function did not return within 0.25 s at x = ")
