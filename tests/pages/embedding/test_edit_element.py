"""`<grad-loupe edit>` on the page of another site: code to mend, graded, with the answer note for whoever teaches."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import FrameLocator, Page, expect
from support.browser import resized
from support.edits import edited
from support.embedding_site import Host, visiting

HEAR = """() => { for (const said of ["ready", "tried", "solved"]) document.addEventListener(said, ({target, detail}) =>
    target.setAttribute(`data-${said}`, JSON.stringify(detail)), true) }"""
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


def write(page: Page, text: str) -> None:
    expect(frame(page).locator(".cm-editor")).to_be_visible()
    frame(page).get_by_role("textbox", name="Code", exact=True).press("ControlOrMeta+a")
    page.keyboard.insert_text(text)


@pytest.mark.parametrize("place", ["inside", "attribute"])
def test_code_on_a_course_page_is_mended_and_its_note_told(window: Page, server: str, host: Host, place: str) -> None:
    html = json.dumps(WRONG)
    with visiting(window, host, script(server)) as page:
        page.evaluate(HEAR)
        resized(page, 390, 844)
        page.evaluate(
            """([code, inside]) => {
            const made = document.createElement("grad-loupe");
            made.setAttribute("edit", ""); made.setAttribute("goal", "matches");
            if (inside) made.append(Object.assign(document.createElement("pre"), { textContent: code }));
            else made.setAttribute("code", code);
            document.body.append(made); }""",
            [json.loads(html), place == "inside"],
        )
        inner = drawn(page)
        expect(inner.locator("#code, .cm-content").first).to_contain_text("-grad_output")
        inner.get_by_role("button", name="Try it").press("Enter")
        assert heard(page, "tried") == {"note": "sign", "solved": False}
        inner.get_by_role("button", name="Where?").press("Enter")
        expect(inner.locator("#hints dd")).to_have_count(1)
        write(page, edited())
        inner.get_by_role("button", name="Try it").press("Enter")
        assert heard(page, "solved") == {"note": "solved", "solved": True}


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
