"""The contract X-ray on the page: the gravest first and in full, the rest folded, every line of the source in reach."""

import re

import pytest
from playwright.sync_api import Page, expect
from support import http
from support.browser import here, opened, shows, withheld

WRITES = "/ops/gradient_changed_in_place?view=contract"


def test_an_error_is_open_with_what_was_seen_and_advice_and_its_line_is_brought_into_sight(page: Page) -> None:
    opened(page, WRITES)
    expect(page.locator("#companion-sentence")).to_contain_text("1 error")
    error = page.locator(".finding[data-level='error']")
    expect(error).to_have_count(1)
    seen, torch, advice = error.locator("dt").all_inner_texts()
    assert (seen, "torch" in torch, advice) == ("seen", True, "advice")
    assert min(map(len, error.locator("dd").all_inner_texts())) > 15
    expect(error.locator(".refer")).to_contain_text("GRADOUT-INPLACE")
    fine = page.locator("details.fine")
    expect(fine).not_to_have_attribute("open", "")
    fine.locator("summary").press("Enter")
    expect(fine).to_have_attribute("open", "")
    assert fine.locator("dd").count() > 20
    link = error.locator(".refer a", has_text="line ")
    link.press("Enter")
    line = page.locator(f"#L{link.inner_text().removeprefix('line ')}")
    expect(line).to_have_class("line pointed")
    expect(line).to_be_focused()
    expect(line).to_be_in_viewport()
    assert "grad_output" in line.inner_text()
    assert here(page) == WRITES
    page.locator(".looks label", has_text="Curves only").click()
    expect(page.locator(".pointed")).to_have_count(0)


def test_without_an_error_what_is_right_is_open_and_the_badges_say_why(page: Page) -> None:
    opened(page, "/ops/exp?view=contract")
    expect(page.locator("details.fine")).to_have_attribute("open", "")
    expect(page.locator(".finding").first).to_be_hidden()
    badges = page.locator("details.badges")
    assert badges.locator(".badge").all_inner_texts()[:4] == ["vmap no", "jvp no", "func.grad no", "compile unknown"]
    badges.locator("summary").click()
    expect(badges.locator("dl")).to_contain_text("Write jvp as a staticmethod.")


@pytest.mark.nightly
def test_compile_is_tried_when_asked(page: Page) -> None:
    opened(page, "/ops/exp?view=contract")
    address = "**/exp.page.json?view=contract&compile=true"
    badge = page.locator("details.badges .badge", has_text="compile")
    with page.expect_response(address, timeout=120_000) as answered, withheld(page, address):
        page.get_by_label("try torch.compile").check()
        expect(badge).to_have_text("compile compiling…")
    shows(page, "/ops/exp?view=contract&compile=true")
    (state,) = re.findall('data-name="compile" data-state="([a-z]+)"', answered.value.json()["html"])
    said = {"yes": "works", "unknown": "unknown"}[state]  # time may be up before torch has loaded its compiler
    expect(badge).to_have_text(f"compile {said}")


@pytest.mark.parametrize(
    ("view", "said"),
    [
        ("contract", "SAVED-UNUSED"),
        ("node", "The graph as a table"),
        ("area", "rise − area per cell"),
        ("descent", "with the true derivative"),
    ],
)
def test_without_javascript_a_link_opens_it(plain: Page, view: str, said: str) -> None:
    plain.goto("/ops/incorrect_clipped_relu?clip=1.5")
    plain.get_by_role("link", name=view.capitalize(), exact=True).click()
    expect(plain.locator("#companion-panel")).to_contain_text(said)
    expect(plain.locator("#companion-sentence")).not_to_be_empty()
    assert plain.url.endswith(f"/ops/incorrect_clipped_relu?clip=1.5&view={view}")


def test_what_the_engine_changed_is_marked(server: str) -> None:
    panel = http.get(f"{server}/ops/functional_linear.page.json?view=contract").json()["html"]
    returned = panel.partition("What backward returned")[2].partition("</table>")[0]
    assert ["changed" in row for row in returned.split("<tr")[1:]] == [False, False, True, True]
