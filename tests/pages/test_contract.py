"""The contract X-ray on the page: the gravest first and in full, the rest folded, every line of the source in reach."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect
from support.browser import alone, drag, here, opened, shows, withheld

WRITES = "/ops/gradient_changed_in_place?view=contract"


def test_an_error_is_open_with_what_was_seen_what_torch_made_of_it_and_advice(page: Page) -> None:
    opened(page, WRITES)
    expect(page.locator("#companion-sentence")).to_contain_text("1 error")
    error = page.locator(".finding[data-level='error']")
    expect(error).to_have_count(1)
    seen, torch, advice = error.locator("dt").all_inner_texts()
    assert (seen, "torch" in torch, advice) == ("seen", True, "advice")
    assert min(map(len, error.locator("dd").all_inner_texts())) > 15
    expect(error.locator(".level")).to_have_text("error")
    expect(error.locator(".refer")).to_contain_text("GRADOUT-INPLACE")
    expect(error.locator(".refer")).to_contain_text("torch’s documentation: ")


def test_what_is_right_is_folded_beside_an_error_whose_line_is_brought_into_sight(page: Page) -> None:
    opened(page, WRITES)
    fine = page.locator("details.fine")
    expect(fine).not_to_have_attribute("open", "")
    fine.locator("summary").press("Enter")
    expect(fine).to_have_attribute("open", "")
    assert fine.locator("dd").count() > 20
    link = page.locator(".finding[data-level='error'] .refer a")
    number = link.inner_text().removeprefix("line ")
    link.press("Enter")
    line = page.locator(f"#L{number}")
    expect(line).to_have_class("line pointed")
    expect(line).to_be_focused()
    expect(line).to_be_in_viewport()
    assert "grad_output" in line.inner_text()
    assert here(page) == WRITES
    page.locator(".looks label", has_text="Curves only").click()
    expect(page.locator(".pointed")).to_have_count(0)
    opened(page, "/ops/clamp_with_grad?view=contract")
    expect(fine).to_have_attribute("open", "")
    expect(fine.locator("dd").first).to_be_visible()
    expect(page.locator(".finding").first).to_be_hidden()


@pytest.mark.nightly
def test_what_somebody_has_folded_stays_folded(page: Page) -> None:
    opened(page, "/ops/clamp_with_grad?view=contract")
    page.locator("details.fine summary").click()
    page.locator("details.noted summary").click()
    drag(page, page.get_by_role("slider", name="min"), 0.4)
    shows(page, here(page))
    expect(page.locator("details.fine")).not_to_have_attribute("open", "")
    expect(page.locator("details.noted")).to_have_attribute("open", "")


def test_the_badges_say_why_and_compile_is_tried_when_asked(page: Page) -> None:
    opened(page, "/ops/exp?view=contract")
    badges = page.locator("details.badges")
    assert badges.locator(".badge").all_inner_texts()[:4] == ["vmap no", "jvp no", "func.grad no", "compile unknown"]
    badges.locator("summary").click()
    expect(badges.locator("dl")).to_contain_text("Write jvp as a staticmethod.")
    address = "**/exp.page.json?view=contract&compile=true"
    with page.expect_response(address, timeout=120_000) as answered, withheld(page, address):
        page.get_by_label("try torch.compile").check()
        expect(badges.locator(".badge", has_text="compile")).to_have_text("compile compiling…")
    shows(page, "/ops/exp?view=contract&compile=true")
    (state,) = re.findall('data-name="compile" data-state="([a-z]+)"', answered.value.json()["html"])
    said = {"yes": "works", "unknown": "unknown"}[state]  # time may be up before torch has loaded its compiler
    expect(badges.locator(".badge", has_text="compile")).to_have_text(f"compile {said}")
    expect(badges).to_have_attribute("open", "")


def test_what_the_engine_changed_is_marked(page: Page) -> None:
    opened(page, "/ops/functional_linear?view=contract")
    rows = page.get_by_role("table", name="What backward returned").get_by_role("row").all_inner_texts()
    assert ["changed" in row for row in rows] == [False, False, True, True]


@pytest.mark.parametrize(("view", "said"), [("contract", "SAVED-UNUSED"), ("node", "The graph as a table")])
def test_without_javascript_a_link_opens_it(browser: Browser, server: str, view: str, said: str) -> None:
    with alone(browser, server, java_script_enabled=False) as page:
        page.goto("/ops/incorrect_clipped_relu?clip=1.5")
        page.get_by_role("link", name=view.capitalize(), exact=True).click()
        expect(page.locator("#companion-panel")).to_contain_text(said)
        expect(page.locator("#companion-sentence")).not_to_be_empty()
        expect(page.locator("#companion-plot")).to_be_hidden()
        assert page.url.endswith(f"/ops/incorrect_clipped_relu?clip=1.5&view={view}")
