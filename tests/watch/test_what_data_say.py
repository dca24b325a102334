"""What a step has seen lies under the curves, and is said in sentences."""

import json
from dataclasses import replace
from html import unescape

import pytest
import torch
from support import http
from support.seen_step import functions_of, seen_step
from support.servers import serving_in_thread
from support.written_functions import function_of

import gradloupe
from gradloupe.server.capture.record import read_capture
from gradloupe.server.documents.csv_table import csv_table
from gradloupe.server.figure.scene import build_scene, scene_document
from gradloupe.server.notebook.arguments import CheckArguments
from gradloupe.server.notebook.subject import make_subject
from gradloupe.server.protocol.answer import curves_of
from gradloupe.server.url.address import default_address
from gradloupe.server.user_code.captured_calls import data_of_function
from gradloupe.server.watch.seen import _call_seen


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("seen")
    seen = seen_step(where)
    seen.save(where / "step.gradloupe")
    seen.save(where / "lent.gradloupe", values=False)
    return where


def answer(folder, name, file="step", **asked):
    function, capture = getattr(functions_of(folder), name), read_capture(folder / f"{file}.gradloupe")
    subject = make_subject(function, _call_seen(function, capture))
    return curves_of(subject.frame(default_address(subject.told).question))


@pytest.fixture(scope="module")
def clamp(folder):
    return answer(folder, "ClampWithGrad")


def test_the_share_that_differs_is_that_of_the_grad_output_that_each_number_got(clamp):
    seen = clamp.header["seen"]
    assert (seen["sampled"], seen["passed"]) == (40, 40)
    # 8 of 40 lie beyond either bound, and of these every second one gets a gradient that goes on outside.
    assert (seen["differs"], seen["negative"], seen["stopped"]) == (8 / 40, 4 / 8, 8 / 40)
    assert [(round(at, 9), share) for at, share in seen["kinks"]] == [(1.0, 4 / 40)]
    assert seen["sentences"] == [
        "20 % of the inputs of `ClampWithGrad` at `clip` lie where backward differs; grad_output is negative for 50 % "
        "of them.",
        "Exactly on a kink lie 10 % at input = 1.",
        "20 % are saturated: forward is flat there, and nothing comes back.",
        "That is of 40 numbers, of 40 that have passed.",
    ]


def test_what_differs_where_no_number_lies_is_named(folder):
    seen = answer(folder, "WrongFarOut").header["seen"]
    assert seen["differs"] == 0.0
    assert seen["sentences"][0] == "None of the inputs of `WrongFarOut` at `square` lies where backward differs."
    assert "No input lies for x > 2, where backward differs, as they go from −1 to 1." in seen["sentences"]


def test_the_histogram_holds_every_number_in_sight(clamp):
    seen = clamp.header["seen"]
    on_kinks = sum(share for _, share in seen["kinks"])
    assert sum(share for *_, share in seen["inputs"]) == pytest.approx(1 - on_kinks)
    assert sum(share for *_, share in seen["grad_outputs"]) == pytest.approx(1)
    bars = scene_document(build_scene(clamp, "stacked"))["seen"]
    assert len(bars) == len([share for *_, share in seen["inputs"] if share]) + len(seen["kinks"])
    assert 0 < max(height for *_, height in bars) <= 0.5


def test_the_table_has_a_column_of_shares(clamp):
    head, *rows = csv_table(clamp).decode().split("\r\n")[:-1]
    assert head.endswith(",seen")
    assert sum(float(row.split(",")[-1]) > 0 for row in rows) > 100


def test_quantiles_alone_say_nearly_the_same(folder):
    seen = answer(folder, "WrongFarOut", "lent").header["seen"]
    assert (seen["differs"], seen["sampled"]) == (0.0, 101)
    assert sum(share for *_, share in seen["inputs"]) == pytest.approx(1, abs=0.01)


def test_without_data_there_is_none(folder):
    subject = make_subject(functions_of(folder).WrongFarOut, CheckArguments())
    found = curves_of(subject.frame(default_address(subject.told).question))
    assert found.header["seen"] is None
    assert "seen" not in found.columns


def test_the_domain_reaches_over_the_numbers(folder):
    function, capture = functions_of(folder).ClampWithGrad, read_capture(folder / "step.gradloupe")
    data = data_of_function(capture, function)
    told = make_subject(function, CheckArguments(data=data)).told
    assert told["inputs"][0]["domain"] == [-3.28, 3.28]


def test_page_json_frame_and_picture_tell_of_the_data(folder):
    with serving_in_thread("my_ops.py", "--data", "step.gradloupe", cwd=folder) as server:
        assert server.get("/own?wait=1").status_code == 303
        found = json.loads(server.get("/ops/ClampWithGrad.json").content)["seen"]
        assert found["differs"] == 0.2
        assert "Exactly on a kink lie" in unescape(server.get("/ops/ClampWithGrad").text)
        assert "Exactly on a kink lie" in unescape(server.get("/embed/ClampWithGrad").text)
        assert "your data" in server.get("/ops/ClampWithGrad.svg").text
        assert "Your data" not in server.get("/ops/NeverCalled").text


def test_the_table_of_all_functions_begins_with_the_most_harm(folder):
    lines = repr(seen_step(folder)).splitlines()
    assert [line.split()[0] for line in lines[2:5]] == ["ClampWithGrad", "WrongFarOut", "Rows"]
    assert "20 %" in lines[2]
    assert lines[6].startswith("20 % of the inputs of ClampWithGrad at clip lie where backward differs")


def test_an_op_of_the_gallery_is_seen_in_a_small_net(server):
    seen = http.get(f"{server}/ops/incorrect_clipped_relu.json?start=-9&stop=9&data=net").json()["seen"]
    inside = sum(share for low, high, share in seen["inputs"] if low >= 0 and high <= 2)
    assert (seen["sampled"], seen["outside"], seen["missing"]) == (2048, 0.0, 0.0)
    assert seen["differs"] == pytest.approx(1 - inside, abs=0.05)
    assert http.get(f"{server}/ops/relu.json?data=net").json()["seen"]["differs"] == 0.0
    assert "In a small net" in http.get(f"{server}/lessons/data", headers={"accept": "text/html"}).text
    for refused in ("softmax?data=net", "relu?data=mine"):
        problem = http.get(f"{server}/ops/{refused.replace('?', '.json?')}")
        assert (problem.status_code, problem.json()["parameter"]) == (422, "data")


@pytest.mark.parametrize("number", [2.0, float("nan")])
def test_numbers_that_all_lie_on_a_kink_or_nowhere_are_told(folder, number):
    function = functions_of(folder).WrongFarOut
    with gradloupe.watch() as seen:
        function.apply(torch.full((6,), number, requires_grad=True)).sum().backward()
    seen.save(folder / "alike.gradloupe")
    found = answer(folder, "WrongFarOut", "alike").header["seen"]
    assert found["sampled"] == 6
    assert found["missing"] == float(number != number)


def test_an_op_that_fails_in_the_small_net_is_shown_without_it():
    broken = function_of("""
        def forward(ctx, x):
            return x * 2
        def backward(ctx, g):
            raise ValueError("not yet")
    """)
    told = make_subject(broken, CheckArguments())
    question = replace(default_address(told.told).question, data="net")
    header = told.frame(question).header
    assert header["seen"] is None
    assert "not yet" in header["failure"]["sentence"]
