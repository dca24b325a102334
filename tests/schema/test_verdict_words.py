from typing import get_args

import pytest
from support import http

from gradloupe.server.schema.section import VerdictWord
from gradloupe.server.schema.verdict_words import VERDICTS


def test_every_word_of_an_answer_and_of_a_report_has_a_row() -> None:
    assert set(VERDICTS) == {*get_args(VerdictWord), "lost", "unsolved"}


@pytest.mark.parametrize(
    ("op", "word", "name"),
    [
        ("clamp_with_grad", "matches its surrogate", "differs by design"),
        ("wrong_jvp", "matches", "curves match"),
        ("exp", "matches", "matches"),
        ("incorrect_clipped_relu", "differs", "differs"),
    ],
)
def test_gallery_headline_details_and_pictures_have_one_name_for_a_verdict(
    server: str, op: str, word: str, name: str
) -> None:
    found = http.get(f"{server}/ops/{op}.json").json()["verdict"]
    assert found["word"] == word
    assert name in found["headline"].lower()
    said = http.get(f"{server}/ops/{op}.page.json").json()["words"]["verdict"]
    assert f'<strong class="word">{name}</strong>' in said
    assert f">{name[:1].upper()}{name[1:]}.<" in http.get(f"{server}/ops/{op}.svg").text
    assert f"</svg>{name}<" in card(server, op)


def card(server: str, op: str) -> str:
    """The card of an op as soon as it is measured."""
    while True:
        gallery = http.get(server).text
        _, _, found = gallery.partition(f'id="card-{op}"')
        if "#mark-measuring" not in (text := found.partition("</li>")[0]):
            return text.replace(" <span", "<span")
