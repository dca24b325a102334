"""The figure exists as a table: the same on the server as in the page, for whoever does not see the curves."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect
from support.browser import opened, shows, visitor

ADDRESSES = [
    "/ops/clamp_with_grad",
    "/ops/clamp_with_grad?start=-1.5&stop=2.25&count=38&grad_output=-0.37",
    "/ops/incorrect_clipped_relu",
    "/ops/round_straight_through",
    "/ops/abs_product?start=-1e-7&stop=3e-7",
    "/ops/heaviside_sigmoid?dtype=float16",
    "/ops/exp?start=-200&stop=200&grad_output=1000000",
]


def table(page: Page) -> list[list[str]]:
    """The cells, closed or not."""
    rows: list[list[str]] = page.evaluate(
        "() => [...document.querySelectorAll('#values tr')].map(row => [...row.cells].map(cell => cell.textContent))"
    )
    return rows


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_table_is_the_same_with_and_without_javascript(
    page: Page, browser: Browser, server: str, address: str
) -> None:
    opened(page, address)
    with visitor(browser, server, java_script_enabled=False) as still:
        still.goto(address)
        rows = still.locator("#values tr").evaluate_all(
            "rows => rows.map(row => [...row.cells].map(c => c.textContent))"
        )
    assert rows == table(page)
    assert len(rows) >= 21


def test_the_rows_are_evenly_spaced_and_every_mark_has_one(page: Page) -> None:
    opened(page, "/ops/clamp_with_grad")
    head, *rows = table(page)
    assert head == ["input", "y", "analytical", "numerical", "they"]
    assert [row[0] for row in rows[:3]] == ["−3.000", "−2.700", "−2.400"]
    assert ["−1.000", "−1", "1", "0 left, 1 right", "agree: at a kink any slope from 0 to 1 is right"] in rows
    assert len(rows) == 23


def test_the_table_follows_the_controls(page: Page) -> None:
    opened(page, "/ops/exp")
    page.locator("#values summary").click()
    expect(page.locator("#values tbody tr").last).to_contain_text("7.389")
    page.get_by_role("button", name="Set grad_output to −1").click()
    shows(page, "/ops/exp?grad_output=-1")
    expect(page.locator("#values tbody tr").last).to_contain_text("−7.389")


def test_where_nothing_was_computed_there_is_no_table(page: Page) -> None:
    opened(page, "/ops/exp")
    page.evaluate(
        """async () => {
        const {src} = document.querySelector("script[type=module]");
        const {writeValues} = await import(new URL("../figure/words.js", src));
        writeValues(document.querySelector("#values"), {columns: {x: []}, marks: [], start: 0, stop: 1}); }"""
    )
    expect(page.locator("#values")).to_be_hidden()


def test_the_keyboard_scrolls_the_table_and_its_head_stays(page: Page) -> None:
    opened(page, "/ops/clamp_with_grad")
    page.locator("#values summary").press("Enter")
    box = page.get_by_role("region", name="Values")
    box.press("End")
    expect(page.locator("#values tbody tr").last).to_be_in_viewport()
    expect(page.locator("#values thead th").first).to_be_in_viewport()


def test_on_paper_the_whole_table_stands_if_it_was_open(page: Page) -> None:
    opened(page, "/ops/clamp_with_grad")
    page.emulate_media(media="print")
    expect(page.locator("#values")).to_be_hidden()
    page.emulate_media(media="screen")
    page.locator("#values summary").click()
    page.emulate_media(media="print")
    hidden = page.locator("#values .rows").evaluate("box => box.scrollHeight - box.clientHeight")
    page.emulate_media(media="screen")
    assert hidden <= 1
