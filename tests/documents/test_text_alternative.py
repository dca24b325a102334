"""The figure in words: gradients are called gradients, and where nothing was asked nothing is claimed."""

import re

import pytest
from support import http
from support.scenes import document

from gradloupe.server.documents.text_alternative import data_table, kink_table, method_paragraph, summary_sentences


@pytest.mark.parametrize(
    ("address", "rows"),
    [
        ("/ops/clipped_relu.json?grad_output=-1", [["0", "kink", "0", "−1", "0"], ["2", "kink", "−1", "0", "0"]]),
        (
            "/ops/clamp_with_grad.json?min=-0.3&max=0.7&grad_output=-3",
            [["−0.3", "kink", "0", "−3", "−3"], ["0.7", "kink", "−3", "0", "−3"]],
        ),
    ],
)
def test_beside_a_kink_stand_gradients_and_are_called_so(server: str, address: str, rows: list[list[str]]) -> None:
    table = kink_table(document(server, address))  # type: ignore[arg-type]
    assert table
    assert table.head[2:] == ["grad left", "grad right", "backward"]
    assert table.rows == rows


def test_of_no_grad_output_the_words_claim_nothing_beside_a_kink(server: str) -> None:
    found = document(server, "/ops/clamp_with_grad.json?grad_output=0")
    table = kink_table(found)  # type: ignore[arg-type]
    assert table
    assert (table.head, table.rows) == (["input", "", "backward"], [["−1", "kink", "0"], ["1", "kink", "0"]])
    rows = {row[0]: row[2:] for row in data_table(found).rows}  # type: ignore[arg-type]
    assert rows["−1.000"] == rows["1.000"] == ["0", "0", "agree"]
    assert "kink" not in found["verdict"]["sentence"]
    assert "derivative" not in found["verdict"]["headline"]


# By the address: what y, or a gradient, is said to lie between.
EXTREMES = {
    "snake": "a gradient that lies between 0 and 2.",  # 1 + sin 2ax, which has them between the points
    "heaviside_sigmoid": "y lies between 0 and 1",  # no parabola through a leap
}


@pytest.mark.parametrize("name", EXTREMES)
def test_a_curve_reaches_its_extremes_between_the_points_too(server: str, name: str) -> None:
    assert EXTREMES[name] in " ".join(summary_sentences(document(server, f"/ops/{name}.json")))  # type: ignore[arg-type]


def test_where_all_differ_equally_that_is_said(server: str) -> None:
    same, unlike = (
        " ".join(summary_sentences(document(server, f"/ops/{name}.json")))  # type: ignore[arg-type]
        for name in ("incorrect_clipped_relu", "weight_decay_in_backward")
    )
    assert "by 1 wherever they do" in same
    assert "analytical 1, numerical 0." in same
    assert "differ most at" in unlike


def test_the_points_that_nobody_asked_for_are_accounted_for(server: str) -> None:
    found = document(server, "/ops/clamp_with_grad.json")
    more = len(found["columns"]["x"]) - found["count"]
    assert more > 0
    assert f"; {more} of them were added" in method_paragraph(found)  # type: ignore[arg-type]
    assert "added" not in method_paragraph(document(server, "/ops/exp.json"))  # type: ignore[arg-type]


def test_nothing_is_written_as_minus_zero(server: str) -> None:
    rows = data_table(document(server, "/ops/cube.json?start=-1.000000001&stop=0.999999999")).rows  # type: ignore[arg-type]
    assert "0.000" in [row[0] for row in rows]
    assert [cell for row in rows for cell in row if re.fullmatch(r"−[0.]+", cell)] == []
    picture = http.get(f"{server}/ops/clamp_with_grad.svg?wrt=min&input=-0").text
    assert "input = 0" in picture
