"""The view ``proof`` by its address: what is said, stretch by stretch, and why nothing is where nothing can be."""

import csv
import io
import itertools
import json
import math

import pytest
from support import event_loop, http
from support.edits import edited, engine_of_text, first_answer

from gradloupe.server.protocol.views import AnswerRecord


def test_it_is_said_what_is_proved_where_it_is_not_and_what_that_means(server: str) -> None:
    found = http.get(f"{server}/ops/clipped_relu.json?view=proof").json()
    assert found["line"] == "Proved for every real input: backward is the derivative of forward, but at 0 and 2."
    assert found["sentence"] == f"{found['line']} It holds for every grad_output."
    assert [each["known"] for each in found["stretches"]] == ["proved", "bends", "proved", "bends", "proved"]
    exact, bends, limits = found["meaning"]
    assert "are equal, exactly" in exact  # 0 and grad_output are numbers without an error
    assert "2 points are enclosed" in bends
    assert "not about rounding" in limits
    kink = found["stretches"][1]
    assert kink["start"] <= 0 <= kink["stop"] < kink["start"] + 1e-11


def test_balls_never_say_equal_but_how_near(server: str) -> None:
    found = http.get(f"{server}/ops/exp.json?view=proof").json()
    assert (found["word"], found["share"], found["epsilon"]) == ("proved", 1, 1e-12)
    assert "differ by less than 1e-12 of the slope at its place" in found["meaning"][0]
    assert "That they are equal no interval of numbers can say" in found["meaning"][0]


def test_a_number_that_is_held_in_a_range_is_in_all_that_is_said(server: str) -> None:
    found = http.get(f"{server}/ops/swish.json?view=proof&wrt2=beta&start2=0.9&stop2=1.1").json()
    assert found["line"].startswith("Proved for all x from −5 to 5 and all beta from 0.9 to 1.1: backward is")
    assert "and all beta from 0.9 to 1.1, not for some of them" in found["meaning"][0]
    assert (found["wrt2"], found["start2"], found["stop2"]) == ("beta", 0.9, 1.1)
    assert json.loads(found["certificate"])["proof"]["held"] == {"name": "beta", "index": [], "low": 0.9, "high": 1.1}
    wrong = http.get(f"{server}/ops/incorrect_clipped_relu.json?view=proof&wrt2=clip").json()
    assert wrong["line"].startswith("Refuted from −1 to 0 and from 2.2 to 3: at input = 2.75 and clip = 2 backward")
    assert wrong["witness"]["at"] == 2
    part = http.get(f"{server}/ops/clipped_relu.json?view=proof&wrt2=clip").json()
    assert part["line"].startswith("Proved for 90 % of input from −1 to 3 and all clip from 1.8 to 2.2: backward is")
    assert part["sentence"].endswith("Not decided from 1.8 to 2.2.")
    assert "whose place moves with clip" in part["meaning"][1]


def test_in_float32_it_is_said_that_what_is_rounded_off_is_not_in_it(server: str) -> None:
    found = http.get(f"{server}/ops/exp.json?view=proof&dtype=float32").json()
    assert (found["word"], found["epsilon"]) == ("proved", 1e-12)
    assert found["meaning"][-1] == "What float32 rounds off is left out: that is measured."


def test_a_refutation_has_numbers_that_are_true_in_all_of_its_box(server: str) -> None:
    found = http.get(f"{server}/ops/weight_decay_in_backward.json?view=proof").json()
    box = found["witness"]
    assert box["slope_high"] == 1 < box["backward_low"]
    assert math.isclose(box["backward_low"], 1 + 0.05 * box["start"], rel_tol=1e-9)
    assert "backward is at least 1.1, and the slope 1" in found["line"]
    assert box["backward_low"] > 1.1
    assert found["sentence"].startswith("Refuted from −3 to 3, but at 0: ")


def test_its_table_has_a_row_for_each_stretch(server: str) -> None:
    rows = list(csv.DictReader(io.StringIO(http.get(f"{server}/ops/relu.csv?view=proof").text)))
    assert [row["known"] for row in rows] == ["proved", "bends", "proved"]
    assert (rows[0]["start"], rows[-1]["stop"]) == ("-3.0", "3.0")
    assert all(one["stop"] == other["start"] for one, other in itertools.pairwise(rows))


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("noisy_backward", "draws random numbers"),
        ("exp?grad_output=0", "with grad_output 0 every gradient is 0"),
        ("clamp_with_grad?wrt=min", "one element of an input"),
        ("exp?dtype=float16", "float64 or float32"),
        ("norm_with_a_hole?boxes=1&start=-1e-3&stop=1e-3", "not decided from −0.001 to 0.001 by 1 box"),
    ],
)
def test_where_nothing_can_be_proved_it_is_said_why(server: str, address: str, why: str) -> None:
    op, _, query = address.partition("?")
    found = http.get(f"{server}/ops/{op}.json?view=proof&{query}").json()
    assert found["line"].startswith("Nothing is proved: ")
    assert why in found["line"]
    assert (found["share"], found["meaning"], found["failure"]) == (0, [], None)


def test_more_boxes_than_the_bound_are_refused(server: str) -> None:
    refused = http.get(f"{server}/ops/exp.json?view=proof&boxes=8001")
    assert refused.status_code == 422
    assert "boxes=8001" in refused.json()["detail"]
    assert "8000" in refused.json()["detail"]


def test_code_that_runs_in_a_process_of_its_own_is_not_followed_and_that_is_said() -> None:
    async def asked() -> AnswerRecord:
        async with engine_of_text(edited()) as engine:
            return (await first_answer(engine, view="proof")).header

    found = event_loop.run(asked())
    assert found["view"] == "proof"
    assert found["word"] == "nothing"
    assert found["sentence"].startswith("Nothing is proved: ")
