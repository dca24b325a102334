"""The gallery: every op has its card, and search finds it."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Locator, Page, expect
from support import http
from support.browser import shows
from support.sections import WORD

from gradloupe.ops import OPS
from gradloupe.server.figure.sparkline import sparkline
from gradloupe.server.html.gallery import GALLERY_GROUPS, TOUR_STOPS, available_tour, cards_by_group, search_keywords


def gallery(page: Page) -> None:
    """Opens it and waits until every Function of it is measured."""
    page.goto("/")
    expect(page.locator(".card.measuring")).to_have_count(0, timeout=60_000)


def cards(page: Page) -> Locator:
    return page.locator(".card:visible")


def test_every_op_has_a_card_with_its_curves_and_its_verdict(page: Page) -> None:
    gallery(page)
    expect(cards(page)).to_have_count(len(OPS))
    for op in OPS.values():
        card = page.locator(".card", has=page.get_by_role("link", name=op.title, exact=True))
        word = card.locator(".word").inner_text().splitlines()[0]
        assert word == WORD[op.claim] or (op.check and word in ("matches", "failed"))
        for curve in ("forward", "analytical") if word != "failed" else ("forward",):
            assert re.match(r"M[\d.]+ [\d.]+L", card.locator(f".spark .{curve}").get_attribute("d") or "")
        assert (f"specimen, {op.check}" in card.inner_text()) == (op.claim == "broken")


def test_a_card_leads_to_its_page(page: Page) -> None:
    page.goto("/")
    page.locator(".card", has_text="would pull the value back in").click()
    shows(page, "/ops/clamp_with_grad")


def test_search_narrows_as_one_types(page: Page) -> None:
    page.goto("/")
    search = page.get_by_role("searchbox")
    page.keyboard.press("/")
    expect(search).to_be_focused()
    search.type("clamp with")
    expect(page.locator("#found")).to_have_text(f"{cards(page).count()} Functions")
    titles = [title.lower() for title in cards(page).locator("h3").all_inner_texts()]
    assert "clamp with grad" in titles
    assert 0 < len(titles) < len(OPS)
    expect(page.locator("#found")).to_have_text(f"{len(titles)} Functions")
    search.press("Escape")
    expect(cards(page)).to_have_count(len(OPS))


def test_search_finds_words_of_the_prose_the_group_and_the_verdict(page: Page) -> None:
    gallery(page)
    search = page.get_by_role("searchbox")
    for words, found in [
        ("opacity sigmoid", "Image and alpha"),
        ("differs", "Incorrect clipped ReLU"),
        ("clamps mask", "Incorrect clipped ReLU"),
        ("surrogates round", "Straight-through round"),
    ]:
        search.fill(words)
        expect(cards(page).locator("h3", has_text=re.compile(f"^{found}$"))).to_be_visible()
        assert 0 < cards(page).count() < len(OPS) / 2


def test_enter_opens_the_first_find_and_back_restores_the_search(page: Page, server: str) -> None:
    page.goto("/")
    page.get_by_role("searchbox").fill("exponential")
    expect(page.locator("#found")).to_contain_text("Function")
    found = cards(page).count()
    assert 0 < found < len(OPS)
    page.get_by_role("searchbox").press("Enter")
    shows(page, "/ops/exp")
    page.go_back()
    expect(page).to_have_url(f"{server}/?search=exponential")
    expect(cards(page)).to_have_count(found)


def test_nothing_found_is_said(page: Page) -> None:
    page.goto("/")
    page.get_by_role("searchbox").fill("zebra")
    expect(page.locator("#nothing")).to_contain_text("No Function matches zebra")
    expect(page.locator(".group:visible")).to_have_count(0)


def test_groups_stand_in_their_order_and_can_be_jumped_to(page: Page) -> None:
    page.goto("/")
    titles = page.locator(".group h2").all_inner_texts()
    assert [title for title in titles if title in GALLERY_GROUPS] == [*GALLERY_GROUPS]
    for link, title in zip(page.locator(".jump a").all(), titles, strict=True):
        assert link.inner_text() == title
        link.click()
        expect(page.get_by_role("heading", name=title, exact=True)).to_be_in_viewport()
    counted = [int(text.split()[-1]) for text in page.locator(".jump li").all_inner_texts()]
    assert counted == [group.locator(".card").count() for group in page.locator(".group").all()]


def test_the_tour_leads_to_pages_that_are_there(page: Page, server: str) -> None:
    page.goto("/")
    places = [link.get_attribute("href") for link in page.locator(".tour a").all()]
    assert len(places) == len(TOUR_STOPS)
    for place in places:
        assert http.get(f"{server}{place}").status_code == 200, place


def test_whoever_searches_is_not_shown_around(page: Page) -> None:
    page.goto("/")
    guides = page.locator(".tour, .jump")
    page.get_by_role("searchbox").fill("spike")
    expect(guides.first).to_be_hidden()
    expect(guides.last).to_be_hidden()
    page.get_by_role("searchbox").press("Escape")
    expect(guides.first).to_be_visible()


def test_a_tour_of_ops_that_are_not_there_is_not_offered() -> None:
    assert [stop.address for stop in available_tour({"replace_grad": {}, "sinh": {}})] == ["/ops/replace_grad"]


def test_groups_of_the_visitors_own_come_first() -> None:
    names = ("Specimens", "Mine", "A first look")
    cards: list[Any] = [{"group": each, "title": each, "name": each, "own": False} for each in names]
    assert [group for group, _ in cards_by_group(cards)] == ["Mine", "A first look", "Specimens"]


def test_the_gallery_weighs_less_than_30_kb(server: str) -> None:
    with http.stream("GET", server, headers={"Accept-Encoding": "br"}) as response:
        assert response.headers["content-encoding"] == "br"
        assert sum(map(len, response.iter_raw())) < 30_000


def test_a_curve_keeps_its_corners_and_loses_what_lies_between() -> None:
    x = [each / 8 - 5 for each in range(81)]
    curve = {"x": x, "forward": [max(0.0, each) for each in x], "analytical": [None if each < 0 else 1.0 for each in x]}
    assert sparkline(curve, "forward") == "M4.0 68.0L80.0 68.0L156.0 4.0"
    assert sparkline(curve, "analytical") == "M80.0 55.2L156.0 55.2"


def test_a_jump_of_a_curve_is_upright() -> None:
    curve = {"x": [0.0, 1.0, 1.0, 2.0], "forward": [0.0, 0.0, 1.0, 1.0], "analytical": [0.0, None, None, 0.0]}
    assert sparkline(curve, "forward") == "M4.0 68.0L80.0 68.0L80.0 4.0L156.0 4.0"
    assert sparkline(curve, "analytical") == "M4.0 68.0M156.0 68.0"


def test_a_card_is_found_by_the_words_that_do_not_stand_on_it_said_once() -> None:
    said = search_keywords("A step", "The STEP of a neuron", "a spiking neuron’s step fires")
    assert said == "fires neuron neuron’s of spiking the"
