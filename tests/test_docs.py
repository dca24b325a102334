"""The description of the API in a real browser: complete, offline, and inside the policy."""

from __future__ import annotations

from playwright.sync_api import Page, expect


def test_the_api_can_be_read_and_tried_without_any_other_host(page: Page, server: str) -> None:
    page.goto(f"{server}/docs")
    expect(page.locator(".opblock-summary-path")).to_have_count(8)
    page.get_by_text("The numbers of a section").click()
    page.get_by_role("button", name="Try it out").click()
    page.get_by_role("button", name="Execute").click()
    answered = page.locator(".live-responses-table .response")
    expect(answered).to_contain_text("200")
    expect(answered).to_contain_text("matches its surrogate")
