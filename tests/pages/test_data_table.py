"""The figure exists as a table, for whoever does not see the curves."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page, expect
from support.browser import opened, shows


def table(page: Page) -> list[list[str]]:
    """The cells, closed or not."""
    rows: list[list[str]] = page.evaluate(
        "() => [...document.querySelectorAll('#values tr')].map(row => [...row.cells].map(cell => cell.textContent))"
    )
    return rows


def test_the_rows_are_evenly_spaced_and_every_mark_has_one(page: Page) -> None:
    opened(page, "/ops/clamp_with_grad")
    head, *rows = table(page)
    assert head == ["input", "y", "analytical", "numerical", "agreement"]
    assert [row[0] for row in rows[:3]] == ["−3.000", "−2.700", "−2.400"]
    assert ["−1.000", "−1", "1", "0 left, 1 right", "agree: at a kink any gradient from 0 to 1 is right"] in rows
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
    page.route("**/exp.page.json*", lambda route: route.fulfill(json=emptied(route.fetch().json())))
    page.get_by_role("button", name="Set grad_output to −1").click()
    expect(page.locator("#values")).to_be_hidden()


def emptied(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer of a Function that failed."""
    columns = {name: [] if column is not None else None for name, column in answer["columns"].items()}
    return {**answer, "columns": columns}


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
