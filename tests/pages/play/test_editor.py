"""The page with the editor: what is typed is drawn, what cannot run is told at its line, and a link holds the code."""

import ast
from collections.abc import Iterator
from html import escape
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from support.axe import violations
from support.browser import HIDDEN, alone, curves, resized, settles, value_at, withheld
from support.edits import edited

from gradloupe.ops import OPS
from gradloupe.server.html.play_page import SKELETON, source_text

WRONG = edited(backward="return grad_output * ctx.k, None")
CONTROLS = "() => [...document.querySelector('#controls').elements].map(each => each.name).filter(Boolean)"


def code(page: Page) -> Locator:
    """The field with the code, once the editor is there."""
    expect(page.locator(".cm-editor")).to_be_visible()
    return page.get_by_role("textbox", name="Code", exact=True)


def paste(page: Page, text: str) -> None:
    """Put a text in the place of all that is written."""
    code(page).press("ControlOrMeta+a")
    page.keyboard.insert_text(text)


def judged(page: Page, word: str) -> None:
    """Wait until what is written is drawn, and the verdict on it is this one."""
    page.locator("html[data-ready]").wait_for()
    expect(page.locator("#verdict")).to_have_attribute("data-word", word)
    expect(page.locator(".stale")).to_have_count(0)


def slope_at(page: Page, x: float) -> float | None:
    return value_at(curves(page)["analytical"], x)


@pytest.fixture
def visit(browser: Browser, server: str) -> Iterator[Page]:
    with alone(browser, server, permissions=["clipboard-read", "clipboard-write"]) as page:
        yield page


def test_what_cannot_run_leaves_the_curves_and_stands_at_its_line(visit: Page) -> None:
    page = visit
    resized(page, 390, 844)
    page.goto("/play")
    judged(page, "matches")
    drawn = curves(page)
    expect(page.get_by_role("button", name="Undo")).to_be_disabled()
    for line, text in (
        (3, SKELETON.replace("import torch\n\n", "import torch\n\nx = (\n")),
        (15, SKELETON.replace("3 * x**2", "three * x**2")),
    ):
        paste(page, text)
        told = page.locator("#problems").get_by_role("button", name=f"Line {line}")
        expect(told).to_be_visible()
        expect(page.locator(".cm-lint-marker-error")).to_have_count(1)
        expect(page.locator(".result.stale")).to_be_visible()
        assert curves(page) == drawn
        told.click()
        expect(code(page)).to_be_focused()
    assert violations(page) == []
    assert page.evaluate(HIDDEN)[0] <= 0
    page.get_by_role("button", name="Back to the original").click()
    judged(page, "matches")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".result.stale")).to_be_visible()


def test_until_the_answer_comes_the_last_verdict_is_seen_and_told_to_be_old(visit: Page) -> None:
    page = visit
    page.goto("/play?from=square")
    judged(page, "matches")
    with withheld(page, "**/play.page.json"):
        paste(page, WRONG)
        for old, part in (("#verdict", "#verdict"), (".figure", "#plot")):
            expect(page.locator(old)).to_have_attribute("aria-busy", "true")
            expect(page.locator(part)).to_have_css("opacity", "0.4")
    judged(page, "differs")
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    expect(page.locator("#verdict")).to_have_css("opacity", "1")


def test_the_controls_are_those_of_the_function_that_is_written(visit: Page) -> None:
    page = visit
    page.goto("/play")
    judged(page, "matches")
    assert "k" not in page.evaluate(CONTROLS)
    paste(page, edited() + edited(backward="return grad_output, None").replace("Edited", "Other").partition("\n")[2])
    expect(page.locator("#field-k")).to_have_value("2")
    page.locator("#field-k").fill("3")
    expect(page.locator("html[data-ready='/ops/Edited?k=3']")).to_be_attached()
    assert slope_at(page, 1.0) == pytest.approx(3, rel=0.1)
    page.get_by_role("combobox", name="Function").select_option("Other")
    judged(page, "differs")
    expect(page.locator("html[data-ready='/ops/Other?k=3']")).to_be_attached()
    paste(page, SKELETON)
    judged(page, "matches")
    settles(lambda: "k" in page.evaluate(CONTROLS), False)


def test_a_link_holds_the_code_and_its_test_fails_where_the_verdict_does(visit: Page, tmp_path: Path) -> None:
    page = visit
    page.goto("/play?from=square")
    judged(page, "matches")
    paste(page, WRONG)
    judged(page, "differs")
    assert (slope_at(page, 1.5), value_at(curves(page)["original analytical"], 1.5)) == (2.0, 3.0)
    page.get_by_role("button", name="Diff", exact=True).click()
    assert "grad_output * ctx.k, None" in page.locator("#diff ins").all_inner_texts()[-1]
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    assert len(link) < 600
    page.get_by_role("button", name="Copy as pytest").click()
    area = page.get_by_role("textbox", name="The test")
    expect(area).to_have_value(
        WRONG.rstrip() + "\n\n\n" + area.input_value().partition("\n\n\n")[2].partition("\n\n\n")[2]
    )
    assert "gradloupe.check(Edited" in area.input_value()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Embed").press("Enter")
    page.get_by_role("radio", name="backward matches forward").check()
    page.get_by_role("checkbox", name="numerical curve").uncheck()
    element = page.get_by_role("textbox", name="What to paste").input_value()
    assert '<grad-loupe edit goal="matches" hide="numerical"' in element
    assert f"<pre>\n{escape(WRONG.strip(), quote=False)}\n</pre>" in element
    page.keyboard.press("Escape")
    with page.expect_download() as saved:
        page.get_by_role("link", name="Download .py").click()
    assert saved.value.path().read_text() == WRONG
    page.goto("about:blank")
    page.goto(link)
    judged(page, "differs")
    assert code(page).inner_text().count("grad_output * ctx.k, None") == 1
    page.goto("about:blank")
    page.goto(link[:-9])
    expect(page.locator("#link-trouble")).to_contain_text("cannot be read")
    judged(page, "matches")


def test_without_the_editor_a_plain_field_does_the_same(visit: Page) -> None:
    page = visit
    page.route("**/editor.min.js", lambda route: route.abort())
    page.goto("/play")
    judged(page, "matches")
    field = page.get_by_role("textbox", name="Code", exact=True)
    field.press("ControlOrMeta+End")
    page.keyboard.type("if (\nx", delay=5)
    expect(page.locator("#problems")).to_contain_text("Line ")
    expect(field).to_have_attribute("aria-invalid", "")
    page.get_by_role("button", name="Back to the original").click()
    judged(page, "matches")
    assert field.input_value() == SKELETON
    assert violations(page) == []
    page.keyboard.press("Tab")
    expect(field).not_to_be_focused()


@pytest.mark.parametrize("name", OPS)
def test_the_code_of_every_op_stands_by_itself_and_claims_no_bug(name: str) -> None:
    text = source_text({"own": False, "file": f"ops/{name}.py", "source": ""})
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    assert not {"broken", "check"} & {each.arg for call in calls for each in call.keywords}
    assert "from ." not in text
