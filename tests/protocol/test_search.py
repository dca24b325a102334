"""Search: what is found, and in which order."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from gradloupe.ops import OPS
from gradloupe.server.html.search import LONGEST, ranked, suggestions
from gradloupe.server.html.search_concepts import CONCEPTS, EXAMPLES


@dataclass(frozen=True)
class Card:
    name: str
    title: str = ""
    keywords: str = ""
    text: str = ""


GALLERY = [
    Card(name, op.title, f"{op.group} {name.replace('_', ' ')} {op.claim}", f"{op.function.__doc__} {op.reference}")
    for name, op in OPS.items()
]


def test_a_word_of_the_title_counts_most_then_its_beginning_then_a_keyword_then_the_text() -> None:
    cards = [
        Card("text", "A", "", "the fold of a map"),
        Card("keyword", "B", "fold"),
        Card("beginning", "Folded once"),
        Card("word", "A fold"),
        Card("exactly", "Fold"),
        Card("inside", "Tenfold", "manifold", "blindfolded"),
    ]
    assert ranked("fold", cards) == ["exactly", "word", "beginning", "keyword", "text"]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("STE", "round_straight_through"),
        ("straight-through", "round_straight_through"),
        ("quantization", "fake_quantize"),
        ("quantisation", "fake_quantize"),
        ("dead zone", "clamp_with_grad"),
        ("clipping", "gradient_clip"),
        ("SNN", "heaviside_sigmoid"),
        ("softmax", "softmax"),
        ("relu", "relu"),
        ("exponential", "exp"),
        ("domain adaptation", "gradient_reversal"),
        ("focal loss", "cross_entropy"),
        ("binarize", "sign_straight_through_clipped"),
        ("dropout", "bernoulli_straight_through"),
        ("opacity sigmoid", "image_alpha"),
        ("KILL", "kill_head"),
    ],
)
def test_what_is_meant_stands_first(query: str, first: str) -> None:
    found = ranked(query, GALLERY)
    assert found[0] == first or OPS[found[0]].title.startswith(OPS[first].title)
    assert len(found) < len(OPS) / 2


def test_a_search_is_not_for_parts_of_words() -> None:
    assert "exp" not in ranked("STE", GALLERY)
    assert len(ranked("STE", GALLERY)) < 12


def test_every_quantiser_is_found_by_either_spelling() -> None:
    assert {"dorefa", "fake_quantize", "learned_step_size", "pact", "ternary"} <= set(ranked("quantization", GALLERY))
    assert ranked("quantization", GALLERY) == ranked("quantisation", GALLERY)


def test_every_word_has_to_be_found() -> None:
    assert ranked("softmax zebra", GALLERY) == []
    assert ranked("  !? ", GALLERY) == []
    assert ranked("e" * 10 * LONGEST, GALLERY) == []


def test_the_parts_of_a_class_name_are_words() -> None:
    assert ranked("clamp", [Card("mine", "MyClampFunction")]) == ["mine"]


def test_where_nothing_is_found_something_alike_is_offered() -> None:
    assert "softmax" in [each.lower() for each in suggestions("sofmax", GALLERY)]
    assert suggestions("zebra", GALLERY) == EXAMPLES
    assert all(ranked(each, GALLERY) for each in EXAMPLES)


def test_a_concept_shows_functions_that_there_are() -> None:
    assert {op for concept in CONCEPTS for op in concept.ops} <= set(OPS)
