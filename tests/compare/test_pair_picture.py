"""The picture of a comparison: both figures on the same axes, each with its own setting, and where they differ."""

from io import BytesIO
from xml.etree import ElementTree

from pypdf import PdfReader
from support import http

PAIR = "?left=clamp_with_grad&right=clamp_with_grad_that_works&right.min=-2"
STRIPE = "bfloat16"
TITLES = "Clamp with grad", "Clamp with grad that works"


def test_a_comparison_is_drawn_with_its_settings_and_with_stripes_where_the_two_differ(server: str) -> None:
    picture = ElementTree.fromstring(http.get(f"{server}/compare.svg{PAIR}").content)  # noqa: S314
    words = [text for text in picture.itertext() if text.strip()]
    assert {*TITLES, "the two differ", "input"} <= set(words)
    assert any(text.startswith("min = −2") for text in words)
    stripes = [
        each for each in picture.iter() if each.get("class") == f"f-{STRIPE}" and float(each.get("height", 0)) > 50
    ]
    assert len(stripes) == 2 * 3  # forward in one stretch, backward in two, on both sides


def test_what_is_the_same_in_both_has_no_stripe(server: str) -> None:
    text = http.get(f"{server}/compare.svg?left=exp&right=exp").text
    assert "the two differ" not in text


def test_a_comparison_is_made_of_pixels_and_for_print(server: str) -> None:
    assert http.get(f"{server}/compare.png{PAIR}").content.startswith(b"\x89PNG")
    (page,) = PdfReader(BytesIO(http.get(f"{server}/compare.pdf{PAIR}").content)).pages
    assert TITLES[1] in page.extract_text()


def test_a_picture_of_no_pair_is_refused_by_name(server: str) -> None:
    answer = http.get(f"{server}/compare.svg?left=exp")
    assert (answer.status_code, answer.json()["parameter"]) == (422, "right")
    unknown = http.get(f"{server}/compare.png{PAIR}&view=area")
    assert (unknown.status_code, unknown.json()["parameter"]) == (422, "view")
