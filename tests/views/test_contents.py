"""What each view says of an op: its numbers, its marks, and what could not be measured."""

import json
import re
from collections import Counter
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from functions.seeds import SEEDS
from support.answers import document
from support.sections import op_of, written

from gradloupe.ops import OPS, Input
from gradloupe.server.catalogue.op_description import op_descriptions, parse_element
from gradloupe.server.protocol.errors import BadQuestion
from gradloupe.server.protocol.question import Element, Question
from gradloupe.server.protocol.views import VIEW_NAMES
from gradloupe.server.runtime.devices import Device
from gradloupe.server.worker.answer import choose_device, device_summary


def test_the_catalogue_is_plain_data() -> None:
    described = {each["name"]: each for each in json.loads(json.dumps(op_descriptions(), allow_nan=False))}
    assert [*described] == list(OPS)
    assert described["functional_linear"]["outputs"] == [{"name": "y", "shape": [2, 2]}]
    assert "weight[1,2]" in described["functional_linear"]["elements"]["wrt"]
    assert described["clamp_with_grad"]["elements"]["wrt"] == ["input", "min", "max"]


@pytest.mark.parametrize("text", ["x", "x[0]", "weight[10,2]", "t[0,1,2]"])
def test_an_element_reads_as_it_is_written(text: str) -> None:
    assert str(parse_element(text)) == text


@pytest.mark.parametrize("name", SEEDS)
def test_an_answer_is_plain_data_with_equally_long_columns(name: str) -> None:
    header, columns = document(name, "curves")
    json.dumps(header, allow_nan=False)
    assert len({len(column) for column in columns.values()}) == 1
    assert columns["status"].dtype == np.uint8
    assert all(column.dtype == np.float64 for key, column in columns.items() if key != "status")


@pytest.mark.parametrize("name", ["cube", "clamp_with_grad", "heaviside_sigmoid", "kill_head"])
def test_at_the_ends_of_the_representable_range_there_is_still_an_answer(name: str, subtests: pytest.Subtests) -> None:
    for stop, grad_output in product((1e-300, 1e12, 1e300), (0.0, 1e300, -1e-300)):
        with subtests.test(stop=stop, grad_output=grad_output):
            header, _ = document(name, "curves", -stop, stop, count=101, grad_output=grad_output)
            json.dumps(header, allow_nan=False)
            assert header["verdict"]["sentence"]


def test_every_number_that_is_missing_has_a_reason() -> None:
    header, columns = document("round_straight_through", "curves")
    for name in columns.keys() - {"x", "status"}:
        missing = set(np.flatnonzero(~np.isfinite(columns[name])).tolist())
        assert missing == {row for rows in header["gaps"].get(name, {}).values() for row in rows}
    assert header["gaps"]["forward"]["jump"]
    assert np.isfinite(columns["surrogate"]).all()
    assert set(document("exp", "curves", 700.0, 720.0)[0]["gaps"]["forward"]) == {"+inf"}


def test_the_numerical_slope_at_a_kink_is_left_out_and_its_two_sides_are_marked() -> None:
    header, columns = document("clipped_relu", "curves", -1.0)
    (row,) = np.flatnonzero(columns["x"] == 0)
    assert np.isnan(columns["numerical"][row])
    assert int(row) in header["gaps"]["numerical"]["kink"]
    mark = header["marks"][0]
    assert (mark["kind"], mark["x"], mark["analytical"]) == ("kink", 0.0, 0.0)
    assert (mark["left"], mark["right"]) == pytest.approx((0.0, 1.0))


def test_a_surrogate_that_jumps_has_no_value_there_either() -> None:
    header, columns = document("clamp_with_grad", "curves", order=2)
    jumps = header["gaps"]["forward"]["jump"]
    assert jumps
    assert header["gaps"]["surrogate"]["jump"] == jumps
    assert np.isnan(columns["surrogate"][jumps]).all()


def test_a_surrogate_has_no_slope_at_a_kink_of_its_own() -> None:
    header, columns = document("clamp_with_grad", "curves", min=2.0)
    slopes = columns["surrogate_numerical"]
    (row,) = np.flatnonzero(columns["x"] == 1)
    assert row in header["gaps"]["surrogate_numerical"]["kink"]
    assert set(slopes[~np.isnan(slopes)].round(9)) == {0.0, 1.0}


def test_gradients_are_scaled_by_grad_output_so_that_they_overlay() -> None:
    _, columns = document("exp", "curves", grad_output=-3.0)
    assert columns["numerical"] == pytest.approx(columns["analytical"], rel=1e-9)
    assert columns["error"].min() >= 0


def test_a_none_from_backward_is_noted() -> None:
    (note,) = document("replace_grad", "curves", wrt="x_forward")[0]["notes"]
    assert "None for x_forward" in note


def test_a_gradient_that_is_no_number_is_a_result_in_plain_data() -> None:
    header, columns = document(written(torch.square, lambda x: torch.where(x == 0, torch.nan, 2 * x)), "curves")
    json.dumps(header, allow_nan=False)
    assert header["verdict"]["word"] == "differs"
    assert "NaN" in header["verdict"]["sentence"]
    assert header["verdict"]["worst"]["analytical"] is None
    assert np.isnan(columns["analytical"]).sum() == 1


TANGLE = op_of(lambda x: (x > 0.3) * (1 + x) + x.abs() + (x + 1.3).abs().sqrt() + 0.01 / (x - 2))
# By what is drawn: what stands at each of its special points, from left to right.
MARKED = [
    (op_of(lambda x: 2 * torch.relu(x - 0.3075)), {"kind": "kink", "x": 0.3075, "left": 0, "right": 2, "forward": 0}),
    (op_of(torch.sqrt), {"kind": "cusp", "x": 0, "right": None, "forward": 0}),
    (op_of(lambda x: (x - 0.1234).abs().sqrt()), {"kind": "cusp", "x": 0.1234, "right": None, "forward": 0}),
    (OPS["heaviside_sigmoid"], {"kind": "jump", "x": 0, "below": 0, "forward": 1, "above": 1}),
    (op_of(torch.reciprocal), {"kind": "pole", "x": 0, "below": None, "above": None}),
    (op_of(lambda x: 1 / (x - 0.3075) ** 2), {"kind": "pole", "x": 0.3075, "below": None, "above": None}),
    (
        TANGLE,
        {"kind": "cusp", "x": -1.3},
        {"kind": "kink", "x": 0},
        {"kind": "jump", "x": 0.3},
        {"kind": "pole", "x": 2},
    ),
]


@pytest.mark.parametrize(("op", "points"), [(op, points) for op, *points in MARKED])
def test_at_each_special_point_stands_what_there_is_on_its_sides(op: Any, points: list[dict[str, Any]]) -> None:
    marks = document(op, "curves")[0]["marks"]
    assert len(marks) == len(points)
    for mark, point in zip(marks, points, strict=True):
        assert {name: mark[name] for name in point} == pytest.approx(point)


@pytest.mark.parametrize("asked", [{"grad_output": -3.0}, {"dtype": "float32"}, {"dtype": "float16"}])
def test_marks_are_the_same_in_a_shorter_dtype_and_scaled_by_grad_output(asked: dict[str, Any]) -> None:
    (mark,) = document(op_of(torch.relu), "curves", **asked)[0]["marks"]
    assert (mark["kind"], mark["x"]) == ("kink", 0.0)
    assert (mark["left"], mark["right"]) == pytest.approx((0.0, asked.get("grad_output", 1.0)))


ABSENT = next(kind for kind in ("mps", "cuda") if kind not in {each["kind"] for each in device_summary()["devices"]})


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"device": ABSENT}, f"there is no {ABSENT} on this machine; choose auto or one of .*cpu"),
        ({"dtype": "float16", "grad_output": 1e6}, r"float16 holds numbers up to 6.55e\+04, and 1e\+06 is more"),
        ({"dtype": "float16", "start": 1.0, "stop": 1.0001}, "start: float16 cannot tell .* widen the range"),
        ({"dtype": "float16", "start": -1e-30, "stop": 1e-30}, "start: float16 cannot tell .* widen the range"),
    ],
)
def test_what_this_machine_or_the_dtype_cannot_is_refused_with_what_can(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(BadQuestion, match=said):
        document("exp", "curves", **asked)
    possible = asked | {"dtype": "float64", "device": "auto"}
    assert document("exp", "curves", **possible)[0]["failure"] is None


def test_a_dtype_the_device_lacks_is_refused_or_taken_elsewhere() -> None:
    found = (Device("mps", "a GPU", ("float32",)), Device("cpu", "a CPU", ("float64", "float32")))
    question = Question("exp", Element("x"), Element("y"), -3.0, 3.0)
    with pytest.raises(BadQuestion, match=r"a GPU \(mps\) has no float64; choose one of float32, or device=cpu"):
        choose_device(replace(question, device="mps"), found)
    chosen, (note,) = choose_device(question, found)
    assert chosen == found[1]
    assert "a GPU has no float64" in note
    assert choose_device(replace(question, dtype="float32"), found) == (found[0], [])


def test_one_thread_is_enough() -> None:
    assert torch.get_num_threads() == 1


def test_the_areas_of_a_right_backward_add_up_to_what_forward_rises_by() -> None:
    header, columns = document("exp", "area", -1.0, 2.0)
    assert (columns["left"][0], columns["right"][-1]) == (-1, 2)
    assert columns["area"].sum() == pytest.approx(np.exp(2) - np.exp(-1), rel=1e-12)
    assert (np.abs(columns["residual"]) <= columns["allowed"]).all()
    assert header["intervals"] == []
    assert "the integral of" in header["sentence"]


def test_an_area_that_is_another_is_named_with_both_numbers_and_counted_beside_the_curves() -> None:
    header, columns = document("incorrect_clipped_relu", "area", -1.0)
    assert header["intervals"] == [(-1, 0), (2, 3)]
    assert re.search("input = −1 to 0 .* 0, .* 1", header["sentence"])
    words = np.array(header["statuses"])[columns["status"]]
    assert set(words[columns["right"] <= 0]) == {"differs"}
    assert set(words[(columns["left"] >= 0) & (columns["right"] <= 2)]) == {"agrees"}
    told = document("incorrect_clipped_relu", "curves", -1.0)[0]["area"]
    assert (told["cells"], told["differs"]) == (columns["left"].size, (words == "differs").sum())
    assert told["intervals"] == header["intervals"]
    assert abs(told["worst"]["rise"] - told["worst"]["area"]) == pytest.approx(np.nanmax(np.abs(columns["residual"])))


def test_where_a_surrogate_is_meant_the_areas_are_compared_with_what_that_rises_by() -> None:
    header, columns = document("heaviside_sigmoid", "area", -1.0, 2.0)
    assert (header["intervals"], "its surrogate changes by" in header["sentence"]) == ([], True)
    assert np.nansum(columns["rise"]) == pytest.approx(np.ptp(1 / (1 + np.exp([4.0, -8.0]))), rel=1e-9)


def test_a_backward_that_looks_at_the_sign_of_grad_output_shows_it_in_its_map() -> None:
    header, columns = document("clamp_with_grad", "map")
    ratio, beyond = columns["ratio"].reshape(header["shape"]), columns["x"] > 1.1
    assert (ratio[columns["grad_output"] > 0][:, beyond] == 1).all()
    assert (ratio[columns["grad_output"] < 0][:, beyond] == 0).all()
    assert any("sign" in finding["sentence"] for finding in header["findings"])
    header, columns = document("exp", "map")  # which is linear: the same from top to bottom
    assert header["findings"] == []
    assert np.nanmax(np.abs(columns["ratio"].reshape(header["shape"]) / np.exp(columns["x"]) - 1)) < 1e-12


def test_a_wide_look_finds_what_differs_beyond_the_range_and_the_curves_say_so() -> None:
    header, columns = document("exp", "wide")
    assert 700 < header["finite"][1] < 720
    assert columns["x"].size <= 400
    far, _ = document("incorrect_clipped_relu", "wide", 0.5, 1.5)
    curves, _ = document("incorrect_clipped_relu", "curves", 0.5, 1.5)
    assert far["intervals"]
    assert curves["verdict"]["word"] == "matches here"
    assert curves["wide"]["intervals"] == far["intervals"]


def test_a_function_whose_domain_ends_nearby_can_be_looked_at() -> None:
    def picky(x: torch.Tensor) -> torch.Tensor:
        if (x < 0).any():
            raise ValueError("negative")
        return x.sqrt()

    op = op_of(picky, Input("x", domain=(0.0, 1.0)))
    for view in VIEW_NAMES[1:]:
        header, columns = document(op, view, 0.0, 1.0)
        assert header["failure"] is None
        assert columns or view in ("contract", "proof", "node", "surface")  # words, and what wants two elements
    assert document(op, "step", 0.0, 1.0, at=0.25)[0]["best"]["value"] == pytest.approx(1, rel=1e-9)
    header, columns = document(op, "step", 0.0, 1.0, at=-0.25)
    assert (header["failure"]["kind"], columns) == ("ValueError", {})


@pytest.mark.parametrize("name", ["exp", "late_read"])
def test_the_sentence_of_a_contract_counts_its_rows_and_begins_with_the_gravest(name: str) -> None:
    header, _ = document(name, "contract")
    levels = Counter(check["level"] for check in header["checks"])
    counts = [f"{levels[level]} {level}{'s' * (levels[level] > 1)}" for level in ("error", "warning") if levels[level]]
    assert header["sentence"].startswith(", ".join(counts))
    assert f"{levels['fine']} checks passed." in header["sentence"]


@pytest.mark.parametrize(
    ("raises", "part"),
    [
        (lambda x: x < 0.3, (0.3, 5.0)),
        (lambda x: x.abs() >= 2, (-1.975, 1.975)),
        (lambda x: (x > 1) & (x < 2), (-5, 1)),
    ],
)
def test_where_forward_raises_on_one_side_the_other_is_judged(raises: Any, part: tuple[float, float]) -> None:
    def sine(x: torch.Tensor) -> torch.Tensor:
        if raises(x).any():
            raise ValueError("not here")
        return torch.sin(x)

    header, columns = document(op_of(sine, Input("x", domain=part)), "curves", -5.0, 5.0, count=401)
    assert (header["verdict"]["word"], header["start"], header["stop"]) == ("matches", -5, 5)
    assert (columns["x"].min(), columns["x"].max()) == part
    assert header["notes"][0].startswith("Of this range only ")
    assert header["notes"][0].endswith(" was looked at, as elsewhere forward raises ValueError: not here.")


def test_a_backward_that_raises_leaves_what_forward_shows() -> None:
    def raising(x: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("no derivative today")

    op = written(lambda x: x**2, raising)
    for view in ("area", "map", "wide", "step"):
        header, columns = document(op, view, at=1.0)
        json.dumps(header, allow_nan=False)
        assert (header["failure"]["phase"], header["failure"]["message"]) == ("backward", "no derivative today")
    assert header["best"]["value"] == pytest.approx(2)
    assert header["analytical"] is None
    assert columns["central"].size
