"""A visitor's own Function edited in the page: its whole file is there, and the page has the token."""

from playwright.sync_api import Page, expect
from support.browser import curves, opened, value_at
from support.own_server import MY_OPS, Own


def test_an_own_function_is_edited_in_its_whole_file_and_the_file_stays_as_it_is(mine: Page, my_ops: Own) -> None:
    page = mine
    page.goto(f"/own#token={my_ops.token}")
    page.locator("html[data-ready]").wait_for()
    opened(page, "/ops/Cube")
    page.get_by_role("link", name="Edit code").click()
    expect(page.locator(".cm-editor")).to_be_visible()
    page.get_by_role("textbox", name="Code", exact=True).press("ControlOrMeta+a")
    page.keyboard.insert_text(MY_OPS.replace("2 * x**2 * grad_output", "3 * x**2 * grad_output"))
    expect(page.locator("#verdict")).to_have_attribute("data-word", "matches")
    expect(page.get_by_role("combobox", name="Function")).to_have_value("Cube")
    page.locator("html[data-ready='/ops/Cube']").wait_for()
    drawn = curves(page)
    assert value_at(drawn["analytical"], -3.0) == 27.0
    assert value_at(drawn["original analytical"], -3.0) == 18.0
    opened(page, "/ops/Cube")
    expect(page.locator("#verdict")).to_have_attribute("data-word", "differs")
