"""The sliders of a file: which values they have, how large the file will be, and how many are too many."""

import pytest
from support.exports import got, stored
from support.sampling import sampled

ESTIMATED = (
    *("clamp_with_grad?sliders=min:4,grad_output:3", "kill_head?sliders=n:9,grad_output:3", "sinh?"),
    *(
        "incorrect_clipped_relu?sliders=clip:9,grad_output:9&count=1001",
        "sinh?sliders=grad_output:21",
    ),
)


def test_a_slider_has_tidy_values_and_the_present_one(server: str) -> None:
    page = got(server, "/ops/clamp_with_grad.html?min=-0.123&sliders=min:7,max:2").text
    low, high = stored(page)["axes"]
    assert low["values"] == ["-3", "-2", "-1", "-0.123", "1", "2", "3"]
    assert low["values"][low["at"]] == "-0.123"
    assert high["values"] == ["-3", "1", "3"]  # beside the ends
    assert len(stored(page)["documents"]) == 7 * 3
    (three,) = stored(got(server, "/ops/exp.html?sliders=grad_output:3").text)["axes"]
    assert three["values"] == ["-1", "1", "3"]  # both signs of the present one
    (beyond,) = stored(got(server, "/ops/exp.html?grad_output=7&sliders=grad_output:3").text)["axes"]
    assert beyond["values"] == ["-7", "0", "7"]
    (two,) = stored(got(server, "/ops/exp.html?sliders=grad_output:2").text)["axes"]
    assert two["values"] == ["-1", "1"]


def test_a_whole_number_has_whole_values(server: str) -> None:
    (axis,) = stored(got(server, "/ops/kill_head.html?sliders=n:41").text)["axes"]
    assert axis["values"] == [str(each) for each in range(9)]


@pytest.mark.parametrize("asked", sampled(ESTIMATED, ESTIMATED[:3]))
def test_the_size_told_beforehand_is_that_of_the_file(server: str, asked: str) -> None:
    op, _, query = asked.partition("?")
    told = got(server, f"/ops/{op}.size.json?{query}").json()
    file = got(server, f"/ops/{op}.html?{query}").content
    assert told["bytes"] == pytest.approx(len(file), rel=0.1)
    assert told["sections"] == len(stored(file.decode())["documents"])


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("sliders=min:20,max:20,grad_output:2", "make 800 sections; at most 400 are allowed, so give fewer."),
        ("sliders=min:5&wrt=min", "the curves are drawn along min, so it cannot be a slider too; leave it out."),
        ("sliders=beta:20,grad_output:20&count=5001", "MB are allowed, so give fewer values, or lower count."),
        ("sliders=mni:3", "names 'mni', no control; did you mean min?"),
        ("sliders=min:99", "from 2 to 41"),
    ],
)
def test_what_would_be_too_much_is_refused_in_a_sentence(server: str, query: str, sentence: str) -> None:
    for ending in ("size.json", "html")[: 1 if "beta" in query else 2]:
        op = "swish" if "beta" in query else "clamp_with_grad"
        response = got(server, f"/ops/{op}.{ending}?{query}", accept="application/json")
        assert response.status_code == 422
        assert sentence in response.text.replace("&#39;", "'")
