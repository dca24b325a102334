"""What comes out of the door for a question: plain data that can be drawn and read."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from functions.seeds import SEEDS
from support.answers import answer
from support.sections import written

from gradloupe.ops import OPS
from gradloupe.server.catalogue.op_description import op_descriptions, parse_element
from gradloupe.server.protocol.errors import BadQuestion
from gradloupe.server.protocol.question import Element, Question
from gradloupe.server.runtime.devices import Device
from gradloupe.server.worker.answer import choose_device, device_summary


def ask(op, wrt, of="y", start=-3.0, stop=3.0, **more):
    return answer(Question(op, parse_element(wrt), parse_element(of), start, stop, **more))


def test_the_catalogue_is_plain_data():
    described = json.loads(json.dumps(op_descriptions(), allow_nan=False))
    assert [each["name"] for each in described] == list(OPS)
    linear = next(each for each in described if each["name"] == "functional_linear")
    assert linear["outputs"] == [{"name": "y", "shape": [2, 2]}]
    assert "weight[1,2]" in linear["elements"]["wrt"]
    clamp = next(each for each in described if each["name"] == "clamp_with_grad")
    assert clamp["elements"]["wrt"] == ["input", "min", "max"]


@pytest.mark.parametrize("text", ["x", "x[0]", "weight[10,2]", "t[0,1,2]"])
def test_an_element_reads_as_it_is_written(text):
    assert str(parse_element(text)) == text


@pytest.mark.parametrize("name", SEEDS)
def test_an_answer_is_plain_data_with_equally_long_columns(name):
    described = next(each for each in op_descriptions() if each["name"] == name)
    wrt, of = (Element(each["name"], tuple(each["index"])) for each in (described["wrt"], described["of"]))
    header, columns = answer(Question(name, wrt, of, -3.0, 3.0))
    json.dumps(header, allow_nan=False)
    assert len({len(column) for column in columns.values()}) == 1
    assert columns["status"].dtype == np.uint8
    assert all(column.dtype == np.float64 for key, column in columns.items() if key != "status")


def test_every_number_that_is_missing_has_a_reason():
    header, columns = ask("round_straight_through", "x")
    for name in columns.keys() - {"x", "status"}:
        missing = set(np.flatnonzero(~np.isfinite(columns[name])).tolist())
        assert missing == {row for rows in header["gaps"].get(name, {}).values() for row in rows}


def test_an_overflow_is_told_from_what_is_no_number():
    header, _ = ask("exp", "x", start=700.0, stop=720.0)
    assert set(header["gaps"]["forward"]) == {"+inf"}


def test_the_numerical_slope_at_a_kink_is_left_out_and_its_two_sides_are_marked():
    header, columns = ask("clipped_relu", "input", start=-1.0)
    (row,) = np.flatnonzero(columns["x"] == 0)
    assert np.isnan(columns["numerical"][row])
    assert int(row) in header["gaps"]["numerical"]["kink"]
    mark = header["marks"][0]
    assert (mark["kind"], mark["x"], mark["analytical"]) == ("kink", 0.0, 0.0)
    assert (mark["left"], mark["right"]) == pytest.approx((0.0, 1.0))


def test_a_jump_is_marked_with_both_ends_and_the_value_in_between():
    header, _ = ask("heaviside_sigmoid", "x")
    (mark,) = header["marks"]
    assert (mark["kind"], mark["x"], mark["below"], mark["above"], mark["forward"]) == ("jump", 0.0, 0.0, 1.0, 1.0)


def test_gradients_are_scaled_by_grad_output_so_that_they_overlay():
    _, columns = ask("exp", "x", grad_output=-3.0)
    assert columns["numerical"] == pytest.approx(columns["analytical"], rel=1e-9)
    assert columns["error"].min() >= 0


def test_a_none_from_backward_is_noted():
    header, _ = ask("replace_grad", "x_forward")
    assert header["notes"] == ["backward returns None for x_forward; autograd treats that as 0."]


def test_a_device_that_is_not_there_is_refused_with_what_is():
    absent = next(
        kind for kind in ("mps", "cuda") if kind not in {each["kind"] for each in device_summary()["devices"]}
    )
    with pytest.raises(BadQuestion, match=f"there is no {absent} on this machine; choose auto or one of .*cpu"):
        ask("exp", "x", device=absent)


def test_a_dtype_the_device_lacks_is_refused_or_taken_elsewhere():
    found = (Device("mps", "a GPU", ("float32",)), Device("cpu", "a CPU", ("float64", "float32")))
    question = Question("exp", Element("x"), Element("y"), -3.0, 3.0)
    with pytest.raises(BadQuestion, match="a GPU \\(mps\\) has no float64; choose one of float32, or device=cpu"):
        choose_device(replace(question, device="mps"), found)
    assert choose_device(question, found) == (found[1], ["a GPU has no float64, so a CPU was used instead."])
    assert choose_device(replace(question, dtype="float32"), found) == (found[0], [])


def test_a_grad_output_that_the_dtype_cannot_hold_is_refused():
    with pytest.raises(BadQuestion, match=r"float16 holds numbers up to 6.55e\+04, and 1e\+06 is more"):
        ask("exp", "x", dtype="float16", grad_output=1e6)


@pytest.mark.parametrize(("start", "stop"), [(1.0, 1.0001), (-1e-30, 1e-30)])
def test_a_range_that_the_dtype_cannot_tell_from_a_point_is_refused(start, stop):
    with pytest.raises(BadQuestion, match=r"start: float16 cannot tell .* widen the range, or choose dtype=float64\."):
        ask("exp", "x", start=start, stop=stop, dtype="float16")
    header, _ = ask("exp", "x", start=start, stop=stop, dtype="float64")
    assert header["failure"] is None


@pytest.mark.parametrize("name", ["cube", "clamp_with_grad", "clipped_relu", "sinh", "heaviside_sigmoid", "kill_head"])
def test_at_the_ends_of_the_representable_range_there_is_still_an_answer(name, subtests):
    described = next(each for each in op_descriptions() if each["name"] == name)
    wrt, of = (Element(each["name"], tuple(each["index"])) for each in (described["wrt"], described["of"]))
    for stop, grad_output in product((1e-300, 1e12, 1e300), (0.0, 1e300, -1e-300)):
        with subtests.test(stop=stop, grad_output=grad_output):
            header, _ = answer(Question(name, wrt, of, -stop, stop, 101, grad_output))
            json.dumps(header, allow_nan=False)
            assert header["verdict"]["sentence"]


def test_one_thread_is_enough():
    assert torch.get_num_threads() == 1


def test_a_gradient_that_is_no_number_is_a_result_in_plain_data(monkeypatch):
    op = written(torch.square, lambda x: torch.where(x == 0, torch.nan, 2 * x))
    monkeypatch.setitem(OPS, "a_hole", op)
    header, columns = ask("a_hole", "x")
    json.dumps(header, allow_nan=False)
    assert header["verdict"]["word"] == "differs"
    assert "at x = 0: it returns NaN, where forward has slope 0" in header["verdict"]["sentence"]
    assert header["verdict"]["worst"]["analytical"] is None
    assert np.isnan(columns["analytical"]).sum() == 1
