"""The pages of somebody's own lessons follow their files and the Function that they are about."""

from pathlib import Path

from playwright.sync_api import Page, expect
from support.browser import shows
from support.saved_files import THRICE

LESSON = """
title = "{title}"
address = "/ops/Twice"
control = "grad_output"
text = "What does it return?"
reveal = "Twice what comes in."
"""


def test_the_pages_of_a_course_follow_every_save(page: Page, file: Path) -> None:
    lesson = file.with_name("01_twice.toml")
    page.goto("/lessons")
    expect(page.get_by_role("heading", name="Lessons")).to_be_visible()
    lesson.write_text(LESSON.format(title="Once or twice?"))
    page.get_by_role("link", name="Once or twice?").click()
    shows(page, "/ops/Twice")
    page.get_by_role("slider", name="grad_output").press("End")
    lesson.write_text("title = 1" + LESSON)
    expect(page.locator(".why")).to_contain_text("01_twice.toml, line 2: Cannot overwrite a value.")
    lesson.write_text(LESSON.format(title="Twice or thrice?"))
    expect(page.locator("h1")).to_have_text("Twice or thrice?")
    shows(page, "/ops/Twice?grad_output=3")
    file.write_text(THRICE)
    expect(page.locator("#canvas")).to_be_visible()
    lesson.unlink()
    expect(page.locator("h1")).to_have_text("There is no such page")
