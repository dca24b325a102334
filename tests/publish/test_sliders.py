"""The sliders of a figure that needs no server: which values they have, and how many are too many."""

import pytest
from support.exports import got, stored


def test_a_slider_has_tidy_values_and_the_present_one(server: str) -> None:
    page = got(server, "/ops/clamp_with_grad.html?min=-0.123&sliders=min:7,max:2").text
    low, high = stored(page)["axes"]
    assert low["values"] == ["-3", "-2", "-1", "-0.123", "1", "2", "3"]
    assert low["values"][low["at"]] == "-0.123"
    assert high["values"] == ["-3", "1", "3"]  # beside the ends
    assert len(stored(page)["sections"]) == 7 * 3
    (three,) = stored(got(server, "/ops/exp.html?sliders=grad_output:3").text)["axes"]
    assert three["values"] == ["-1", "1", "3"]  # both signs of the present one
    (beyond,) = stored(got(server, "/ops/exp.html?grad_output=7&sliders=grad_output:3").text)["axes"]
    assert beyond["values"] == ["-7", "0", "7"]
    (two,) = stored(got(server, "/ops/exp.html?sliders=grad_output:2").text)["axes"]
    assert two["values"] == ["-1", "1"]


def test_a_whole_number_has_whole_values(server: str) -> None:
    (axis,) = stored(got(server, "/ops/kill_head.html?sliders=n:41").text)["axes"]
    assert axis["values"] == [str(each) for each in range(9)]


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        (
            "sliders=min:20,max:20,grad_output:2",
            "make 800 sections, and at most 400 are allowed; min:14,max:14,grad_output:2 would fit",
        ),
        ("sliders=min:5&wrt=min", "the curves are drawn along min, so it cannot be a slider too; leave it out."),
        ("sliders=min:5&hide=zoom", "leave the sliders out"),
        ("sliders=mni:3", "names 'mni', no control; did you mean min?"),
        ("sliders=min:99", "from 2 to 41"),
    ],
)
def test_what_would_be_too_much_is_refused_in_a_sentence(server: str, query: str, sentence: str) -> None:
    response = got(server, f"/ops/clamp_with_grad.html?{query}", accept="application/json")
    assert response.status_code == 422
    assert sentence in response.text.replace("&#39;", "'")
