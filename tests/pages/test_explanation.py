"""What the page says beside the verdict's word: the explanation, and the curve that backward implies."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from support import http
from support.browser import curves, opened, value_at


def test_a_wrong_backward_is_explained_in_the_details_of_the_verdict(page: Page, server: str) -> None:
    opened(page, "/ops/incorrect_clipped_relu")
    explanation = http.get(f"{server}/ops/incorrect_clipped_relu.json").json()["verdict"]["explanation"]
    assert explanation["sentence"]
    page.locator("#details").click()
    expect(page.locator("#explanation")).to_be_visible()
    said = page.locator("#explanation").inner_text().split()
    assert said[:3] == explanation["sentence"].split()[:3]


def test_a_right_backward_needs_no_explanation(page: Page) -> None:
    opened(page, "/ops/exp")
    expect(page.locator("#explanation")).to_be_hidden()


def test_the_forward_that_backward_implies_is_drawn_beside_the_real_one(page: Page) -> None:
    opened(page, "/ops/incorrect_clipped_relu")
    implied = curves(page)["implied"]
    low, high = value_at(implied, -1), value_at(implied, 3)
    assert low is not None
    assert high is not None
    assert high - low == pytest.approx(4, rel=1e-6)
    expect(page.locator("[data-curve='implied']")).to_be_visible()


def test_a_right_backward_implies_forward_itself_so_nothing_is_added(page: Page) -> None:
    opened(page, "/ops/exp")
    assert "implied" not in curves(page)
    expect(page.locator("[data-curve='implied']")).to_be_hidden()


def test_every_verdict_has_a_mark(page: Page) -> None:
    opened(page, "/ops/exp")
    said = ("matches", "matches here", "matches its surrogate", "differs", "undecided", "no gradient", "failed")
    words = (*said, "measuring")
    drawings = [page.locator(f"#mark-{word.replace(' ', '-')}").inner_html() for word in words]
    assert len(set(drawings)) == len(words)


def test_it_is_said_beside_grad_output_what_it_does_beyond_scaling(server: str) -> None:
    says = {
        "clamp_with_grad": "its sign matters: flip it",
        "round_straight_through": "only scales the gradient",
        "weight_decay_in_backward": "gradient not in proportion to it",
        "gradient_clip?grad_output=0.3": "gradient not in proportion to it",
        "clamp_with_grad?order=2": "",
    }
    for address, words in says.items():
        name, _, query = address.partition("?")
        assert http.get(f"{server}/ops/{name}.page.json?{query}").json()["words"]["linearity"] == words
        assert f'<span id="linearity">{words}</span>' in http.get(f"{server}/ops/{address}").text
    assert 'id="linearity"' not in http.get(f"{server}/lessons/clamp_sign").text  # whose question it is
