"""The gallery: every op has its card, and search finds it."""

from __future__ import annotations

import re

from browsing import shows
from playwright.sync_api import Locator, Page, expect

from gradloupe.ops import OPS


def cards(page: Page) -> Locator:
    return page.locator(".card:visible")


def test_every_op_has_a_card_with_its_curves_and_its_verdict(page: Page) -> None:
    page.goto("/")
    assert cards(page).count() == len(OPS)
    for op in OPS.values():
        card = page.locator(".card", has=page.get_by_role("link", name=op.title, exact=True))
        for curve in ("forward", "analytical"):
            assert re.match(r"M[\d.]+ [\d.]+L", card.locator(f".spark .{curve}").get_attribute("d") or "")
        expected = {"exact": "matches", "surrogate": "matches its surrogate", "broken": "differs"}[op.claim]
        expect(card.locator(".word")).to_have_text(expected)


def test_a_card_leads_to_its_page(page: Page) -> None:
    page.goto("/")
    page.locator(".card", has_text="A clamp that lets gradient back in").click()
    shows(page, "/ops/clamp_with_grad")


def test_search_narrows_as_one_types(page: Page) -> None:
    page.goto("/")
    search = page.get_by_role("searchbox")
    page.keyboard.press("/")
    expect(search).to_be_focused()
    search.type("clamp with")
    titles = [title.lower() for title in cards(page).locator("h3").all_inner_texts()]
    assert "clamp with grad" in titles
    assert 0 < len(titles) < len(OPS)
    expect(page.locator("#found")).to_have_text(f"{len(titles)} Functions")
    search.press("Escape")
    assert cards(page).count() == len(OPS)


def test_search_finds_words_of_the_prose_the_group_and_the_verdict(page: Page) -> None:
    page.goto("/")
    search = page.get_by_role("searchbox")
    for words, found in [
        ("opacity sigmoid", "Image and alpha"),
        ("differs", "Incorrect clipped ReLU"),
        ("clamps mask", "Incorrect clipped ReLU"),
        ("surrogates round", "Straight-through round"),
    ]:
        search.fill(words)
        assert found in cards(page).locator("h3").all_inner_texts(), words
        assert 0 < cards(page).count() < len(OPS) / 2


def test_enter_opens_the_first_find_and_back_restores_the_search(page: Page, server: str) -> None:
    page.goto("/")
    page.get_by_role("searchbox").fill("exponential")
    found = cards(page).count()
    assert 0 < found < len(OPS)
    page.get_by_role("searchbox").press("Enter")
    shows(page, "/ops/exp")
    page.go_back()
    assert page.url == f"{server}/?search=exponential"
    expect(cards(page)).to_have_count(found)


def test_nothing_found_is_said(page: Page) -> None:
    page.goto("/")
    page.get_by_role("searchbox").fill("zebra")
    expect(page.locator("#nothing")).to_contain_text("No Function speaks of zebra")
    assert page.locator(".group:visible").count() == 0
