"""`<grad-loupe edit>` on the page of another site: code to mend, graded, with the answer note for whoever teaches."""

import json
import re
from html import escape
from typing import Any

import pytest
from playwright.sync_api import FrameLocator, Page, expect
from support.browser import resized
from support.edits import edited
from support.embedding_site import Host, visiting

from gradloupe.server.html.play_page import source_text

HEAR = """() => { for (const said of ["ready", "tried", "solved"]) document.addEventListener(said, ({target, detail}) =>
    target.setAttribute(`data-${said}`, JSON.stringify(detail)), true) }"""
FORGOTTEN = "grad_output.clone(), None"
WRONG = edited(backward="return -grad_output * ctx.k * x ** (ctx.k - 1), None")


def script(server: str) -> str:
    return f'<script type="module" src="{server}/grad-loupe.js"></script>'


def frame(page: Page) -> FrameLocator:
    return page.frame_locator("grad-loupe iframe")


def drawn(page: Page) -> FrameLocator:
    expect(frame(page).locator("html[data-ready]")).to_be_attached(timeout=60_000)
    return frame(page)


def heard(page: Page, kind: str) -> dict[str, Any]:
    expect(page.locator("grad-loupe")).to_have_attribute(f"data-{kind}", re.compile("note"), timeout=60_000)
    detail: dict[str, Any] = json.loads(page.locator("grad-loupe").get_attribute(f"data-{kind}") or "")
    return detail


def tabbed(page: Page, name: str) -> None:
    """Press Tab until what is called so has the focus."""
    for _ in range(40):
        page.keyboard.press("Tab")
        held = frame(page).locator(":focus")
        if held.count() and held.evaluate("each => each.ariaLabel ?? each.textContent.trim()") == name:
            return
    raise AssertionError(f"{name} is not reached")


def test_a_student_repairs_a_backward_on_a_narrow_course_page_with_the_keyboard_alone(
    window: Page, server: str, host: Host
) -> None:
    code = source_text({"own": False, "file": "ops/incorrect_clipped_relu.py", "source": ""})
    lines = code.splitlines()
    asked = f'<grad-loupe edit goal="matches"><pre>{escape(code)}</pre></grad-loupe>'
    with visiting(window, host, script(server) + asked) as page:
        page.evaluate(HEAR)
        resized(page, 390, 844)
        inner = drawn(page)
        sandbox = page.locator("grad-loupe").evaluate("each => each.shadowRoot.querySelector('iframe').sandbox.value")
        assert "allow-scripts" in sandbox
        tabbed(page, "Code")
        page.keyboard.press("ControlOrMeta+Home")
        for _ in range(next(row for row, line in enumerate(lines) if FORGOTTEN in line)):
            page.keyboard.press("ArrowDown")
        page.keyboard.press("End")
        tabbed(page, "Try it")
        page.keyboard.press("Enter")
        assert heard(page, "tried") == {"note": "mask-forgotten", "solved": False}
        tabbed(page, "Where?")
        page.keyboard.press("Enter")
        expect(inner.locator("#hints dd")).to_contain_text("input < 0 or input > 2")
        for _ in range(4):
            page.keyboard.press("Shift+Tab")
            if inner.locator(".cm-content:focus").count():
                break
        page.keyboard.press("Shift+Home")
        page.keyboard.type("return grad_output * ((ctx.saved_tensors[0] > 0) & (ctx.saved_tensors[0] < 2)), None")
        tabbed(page, "Try it")
        page.keyboard.press("Enter")
        assert heard(page, "solved") == {"note": "solved", "solved": True}
        assert inner.locator("html").evaluate("root => root.scrollWidth - root.clientWidth") == 0


def test_code_is_given_in_an_attribute_as_well(window: Page, server: str, host: Host) -> None:
    asked = f'<grad-loupe edit code="{escape(WRONG)}"></grad-loupe>'
    with visiting(window, host, script(server) + asked) as page:
        expect(drawn(page).locator("#code, .cm-content").first).to_contain_text("-grad_output")


def test_an_exercise_goes_into_a_course_page_without_what_would_tell(window: Page, server: str, host: Host) -> None:
    words = 'edit exercise="mask" hide="numerical,implied,shading,hint,open"'
    with visiting(window, host, f"{script(server)}<grad-loupe {words}></grad-loupe>") as page:
        inner = drawn(page)
        expect(inner.get_by_role("heading", name="Repair the mask")).to_be_visible()
        shown = inner.locator("[data-curve]:not([hidden])").evaluate_all("all => all.map(({dataset}) => dataset.curve)")
        assert shown == ["forward", "kinks", "analytical"]
        for gone in ("#hint", "#solution", "text=Open in Gradloupe"):
            expect(inner.locator(gone)).to_have_count(0)


@pytest.mark.parametrize(
    ("place", "status"),
    [
        ("/embed/play/edit?goal=matches&hide=hint&theme=dark&height=500", 200),
        ("/embed/play/edit?goal=check", 422),
        ("/embed/play/edit?hide=hints", 422),
        ("/embed/play/edit?height=1", 422),
        ("/embed/exercises/mask?theme=light", 200),
        ("/embed/exercises/mask?order=2", 422),
        ("/embed/exercises/masks", 404),
    ],
)
def test_a_frame_refuses_what_it_cannot_be(running: Any, place: str, status: int) -> None:
    assert running.get(place).status_code == status
