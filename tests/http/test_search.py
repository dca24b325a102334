import re
from dataclasses import dataclass
from urllib.parse import quote

import pytest
from support import http

from gradloupe.ops import OPS
from gradloupe.server.html.search import ranked


@dataclass(frozen=True)
class Card:
    """The words of a card, whose title is its name."""

    name: str
    text: str = ""
    keywords: str = ""

    @property
    def title(self) -> str:
        return self.name


def test_a_word_of_the_title_counts_most_then_its_beginning_then_the_text() -> None:
    texts = {"Map": "The fold of a map.", "FoldedOnce": "", "OneFold": "", "Tenfold": "Blindfolded.", "Fold": ""}
    assert ranked("fold", [Card(*each) for each in texts.items()]) == ["Fold", "OneFold", "FoldedOnce", "Map"]
    assert ranked("clamp", [Card("MyClampFunction")]) == ["MyClampFunction"]


def page(server: str, query: str) -> str:
    response = http.get(f"{server}/?q={quote(query)}")
    assert response.status_code == 200
    return response.text


def found(server: str, query: str) -> list[str]:
    """The ops that are shown for these words, in their order."""
    cards = page(server, query).split('<li class="card')[1:]
    return [match[1] for card in cards if (match := re.search(r'href="/ops/(\w+)"', card))]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("STE", "round_straight_through"),
        ("quantization", "fake_quantize"),
        ("dead zone", "clamp_with_grad"),
        ("SNN", "heaviside_sigmoid"),
        ("softmax", "softmax"),
        ("exponential", "exp"),
        ("domain adaptation", "gradient_reversal"),
        ("binarize", "sign_straight_through_clipped"),
        ("dropout", "bernoulli_straight_through"),
        ("KILL", "kill_head"),
    ],
)
def test_what_is_meant_stands_first(server: str, query: str, first: str) -> None:
    shown = found(server, query)
    assert shown[0] == first or OPS[shown[0]].title.startswith(OPS[first].title)
    assert len(shown) < len(OPS) / 2


def test_a_search_is_not_for_parts_of_words(server: str) -> None:
    shown = found(server, "STE")
    assert "exp" not in shown
    assert len(shown) < 12


def test_every_quantiser_is_found_by_either_spelling(server: str) -> None:
    shown = found(server, "quantization")
    assert {"dorefa", "fake_quantize", "learned_step_size", "pact", "ternary"} <= set(shown)
    assert shown == found(server, "quantisation")


@pytest.mark.parametrize("query", ["softmax zebra", "sofmax", "zebra", "e" * 2000])
def test_every_word_has_to_be_found_and_something_else_is_offered(server: str, query: str) -> None:
    assert found(server, query) == []
    offered = re.findall(r'<a href="/\?q=([^"]+)"', page(server, query))
    assert offered
    for each in offered:
        assert http.get(f"{server}/?q={each}").text.count('<li class="card')
    assert query != "sofmax" or "softmax" in [each.lower() for each in offered]


def test_who_looks_for_bugs_is_shown_specimens(server: str) -> None:
    shown = found(server, "backward bug")
    assert "incorrect_clipped_relu" in shown
    assert all(OPS[each].broken for each in shown)
