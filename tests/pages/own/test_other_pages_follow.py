"""The other pages of a visitor's Functions follow the file as the page of one does: a pair, and a figure in a frame."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support.browser import here, shows
from support.saved_files import BROKEN, MINE, THRICE, follows

FRAMES = """count => document.body.replaceChildren(...Array.from({length: count}, (_, place) =>
  Object.assign(document.createElement("iframe"), {src: `/embed/Twice?grad_output=${place + 1}`})))"""
PAIR = "/compare?left=Leaky&right=Twice&grad_output=-1"


def test_a_pair_follows_and_keeps_its_address(page: Page, file: Path) -> None:
    page.goto(PAIR)
    shows(page, PAIR)
    follows(page)
    number = MINE.splitlines().index("class Twice(Function):") + 1
    expect(page.locator("#right-L1")).to_have_attribute("data-line", str(number))  # as in the file
    aside = page.locator("#following")
    for text, said in (
        (BROKEN, "return 2 *"),
        (MINE.replace("return 2 * x", "return 2 * y"), "'y' is not defined"),
    ):
        file.write_text(text)
        expect(aside).to_contain_text(said)
        expect(aside.locator(".stays")).to_contain_text("last good save")
        expect(page.locator("html[data-ready]")).to_be_attached()  # the last curves stay
    file.write_text(THRICE)
    expect(page.locator(".sources")).to_contain_text("return 3 * x")
    shows(page, PAIR)
    follows(page)


def test_a_figure_in_a_frame_follows_and_keeps_its_address(page: Page, file: Path) -> None:
    page.goto("/embed/Twice?grad_output=-1&hide=title")
    shows(page, "/ops/Twice?grad_output=-1")
    file.write_text(BROKEN)
    file.write_text(THRICE)
    expect(page.locator(".source")).to_contain_text("return 3 * x")
    shows(page, "/ops/Twice?grad_output=-1")
    assert here(page) == "/embed/Twice?grad_output=-1&hide=title"


@pytest.mark.nightly
def test_more_frames_than_a_browser_has_connections_follow(page: Page, file: Path) -> None:
    page.goto("/lessons")
    page.evaluate(FRAMES, 8)
    frames = [page.locator("iframe").nth(place).content_frame for place in range(8)]
    for frame in frames:
        expect(frame.locator(".source")).to_contain_text("return 2 * x")
    file.write_text(THRICE)
    for frame in frames:
        expect(frame.locator(".source")).to_contain_text("return 3 * x")
