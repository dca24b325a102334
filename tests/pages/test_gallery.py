import re

from playwright.sync_api import Locator, Page, expect
from support import http
from support.browser import resized, shows
from support.sections import WORD

from gradloupe.ops import OPS
from gradloupe.server.schema.verdict_words import verdict_name


def cards(page: Page) -> Locator:
    return page.locator(".card:visible")


def test_every_op_has_a_card_with_its_curves_and_its_verdict_and_a_phone_shows_them_on_a_short_page(page: Page) -> None:
    page.goto("/")
    expect(page.locator(".card.measuring")).to_have_count(0, timeout=60_000)
    expect(cards(page)).to_have_count(len(OPS))
    for op in OPS.values():
        card = page.locator(".card", has=page.get_by_role("link", name=op.title, exact=True))
        word = card.locator(".word").inner_text().splitlines()[0]
        assert word == verdict_name(WORD[op.claim]) or (op.check and word in ("curves match", "failed"))
        for curve in ("forward", "analytical") if word != "failed" else ("forward",):
            assert re.match(r"M[\d.]+ [\d.]+L", card.locator(f".spark .{curve}").get_attribute("d") or "")
        assert (f"specimen: {op.check}" in card.inner_text()) == (op.claim == "broken")
    resized(page, 390, 844)
    assert page.evaluate("document.documentElement.scrollHeight") <= 8000
    expect(page.locator(".hero .figure")).to_be_in_viewport(ratio=1)
    for way in page.locator(".doors a").all():
        expect(way).to_be_in_viewport(ratio=1)
    page.locator("#card-exp a").first.click()
    shows(page, "/ops/exp")


def test_a_search_shows_what_the_server_finds_best_first(page: Page, server: str) -> None:
    page.goto("/")
    shows(page, "/ops/clamp_with_grad")
    search = page.get_by_role("searchbox")
    page.keyboard.press("/")
    expect(search).to_be_focused()
    search.fill("clamp with")
    expect(page).to_have_url(f"{server}/?q=clamp%20with")
    titles = cards(page).locator("h3")
    expect(titles.first).to_have_text("Clamp with grad")
    expect(page.locator("#found")).to_have_text(f"{titles.count()} Functions")
    search.press("Escape")
    expect(cards(page)).to_have_count(len(OPS))
    search.fill("zebra")
    expect(page.locator(".nothing")).to_contain_text("“zebra”")
    page.locator(".nothing a", has_text="dead zone").click()
    expect(titles.first).to_have_text("Clamp with grad")
    expect(search).to_have_value("dead zone")
    search.fill("exponential")
    search.press("Enter")
    shows(page, "/ops/exp")
    page.go_back()
    expect(page).to_have_url(f"{server}/?q=exponential")
    expect(titles.first).to_have_text("Exponential")


def test_the_first_screen_has_a_figure_that_can_be_touched_and_three_ways_on(page: Page, server: str) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto("/")
    shows(page, "/ops/clamp_with_grad")
    page.get_by_role("slider", name="max").press("End")
    shows(page, "/ops/clamp_with_grad?max=3")
    page.get_by_role("button", name="Flip sign").click()
    shows(page, "/ops/clamp_with_grad?max=3&grad_output=-1")
    expect(page.locator(".hero .headline")).to_contain_text("negative")
    expect(page).to_have_url(f"{server}/")
    for way in page.locator(".doors a").all():
        expect(way).to_be_in_viewport(ratio=1)
        address = page.evaluate("(link) => link.href", way.element_handle())
        assert http.get(address).status_code == 200, address
    expect(cards(page).first).to_be_in_viewport()
    titles = page.locator(".group h2").all_inner_texts()
    assert titles[:3] == ["A first look", "Clamps and ReLUs", "Straight-through and surrogates"]
    for link, title in zip(page.locator(".jump a").all(), titles, strict=True):
        assert link.inner_text() == title
    link.click()
    expect(page.get_by_role("heading", name="Specimens", exact=True)).to_be_in_viewport()
    counted = [int(text.split()[-1]) for text in page.locator(".jump li").all_inner_texts()]
    assert counted == [group.locator(".card").count() for group in page.locator(".group").all()]


def test_a_search_is_a_page_without_javascript_and_the_gallery_weighs_less_than_30_kb(server: str) -> None:
    with http.stream("GET", server, headers={"Accept-Encoding": "br"}) as response:
        assert response.headers["content-encoding"] == "br"
        assert sum(map(len, response.iter_raw())) < 30_000
    found = http.get(f"{server}/?q=STE").text
    assert found.index("/ops/round_straight_through") < found.index("/ops/sign_straight_through")
    assert "/ops/exp" not in found
    assert http.get(f"{server}/?q=%3Cb%3E").text.count("<b>") == 0
