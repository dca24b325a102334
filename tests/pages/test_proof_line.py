"""The line beside the verdict that says what is proved."""

import re

from playwright.sync_api import Page, expect
from support.browser import enter, opened, resized, settles, visited

LINE = "#proof summary"
TOP = "() => document.querySelector('.parameters').getBoundingClientRect().top"
STRIPES = (
    "() => document.querySelector('#plot').layout.shapes.filter(({line}) => line.dash).map(({x0, x1}) => [x0, x1])"
)


def test_what_is_proved_comes_by_itself_and_moves_nothing(page: Page) -> None:
    opened(page, "/ops/clamp_with_grad")
    before = page.evaluate(TOP)
    line = page.locator(LINE)
    expect(line).to_have_text(
        "Proved for every real input: backward is the derivative of the surrogate, but at −1 and 1."
    )
    assert page.evaluate(TOP) == before
    expect(page.locator("#proof")).not_to_contain_text("NaN")
    line.click()
    expect(page.get_by_text("It is about the Python text over the real numbers")).to_be_visible()
    enter(page.locator("#field-max"), "2")  # what is open stays open, and says what holds now
    expect(line).to_contain_text("but at −1 and 2.")
    expect(page.get_by_text("It holds for every positive grad_output.")).to_be_visible()


def test_who_stays_is_told_more_and_what_is_not_decided_is_striped(page: Page) -> None:
    opened(page, "/ops/norm_with_a_hole")
    proof = page.locator("#proof")
    expect(proof).to_contain_text("Proved for 99.9")
    assert all(start < 0 < stop for start, stop in page.evaluate(STRIPES))
    expect(proof).to_have_attribute("data-of", "/ops/norm_with_a_hole.page.json?view=proof&boxes=8000")
    expect(proof).to_contain_text(re.compile(r"^Proved for all x\[0,0\] from −3 to 3: .*, but at 0"))
    assert all(start < 0 < stop for start, stop in page.evaluate(STRIPES))


def test_where_nothing_is_proved_nothing_is_striped_and_what_a_stripe_means_is_told(page: Page) -> None:
    opened(page, "/ops/noisy_backward")
    expect(page.locator(LINE)).to_contain_text("Nothing is proved")
    entry = page.locator("[data-curve='unproved']")
    expect(entry).to_be_hidden()
    assert page.evaluate(STRIPES) == []
    opened(page, "/ops/norm_with_a_hole")
    expect(page.locator(LINE)).to_contain_text("Proved for")
    expect(entry).to_have_text("not proved")
    entry.get_by_role("button").press("Enter")
    settles(lambda: page.evaluate(STRIPES), [])


def test_on_a_narrow_page_what_is_proved_and_what_is_read_lie_apart(page: Page) -> None:
    resized(page, 390, 844)
    opened(page, "/ops/clamp_with_grad")
    line = page.locator(LINE)
    expect(line).to_contain_text("but at −1 and 1.")
    assert line.evaluate("line => line.getBoundingClientRect().bottom") <= page.locator("#reading").evaluate(
        "reading => reading.getBoundingClientRect().top"
    )


def test_another_number_is_held_in_a_range(page: Page) -> None:
    opened(page, "/ops/swish?view=proof")
    expect(page.locator("#companion-sentence")).to_contain_text("Proved for all x from −5 to 5: backward")
    page.locator("#field-wrt2").select_option("beta")
    expect(page.locator("#companion-sentence")).to_contain_text("from −5 to 5 and all beta from 0.9 to 1.1")
    enter(page.locator("#field-stop2"), "1.2")
    expect(page.locator("#companion-sentence")).to_contain_text("and all beta from 0.9 to 1.2")
    page.locator("#field-wrt2").select_option("nothing")
    expect(page.locator("#companion-sentence")).not_to_contain_text("beta")


def test_of_the_second_derivative_nothing_is_said(page: Page) -> None:
    opened(page, "/ops/cube?order=2")
    expect(page.locator("#proof")).to_be_empty()


def test_a_frame_says_it_too_unless_it_is_to_be_left_out(page: Page) -> None:
    visited(page, "/embed/incorrect_clipped_relu")
    expect(page.locator(LINE)).to_contain_text("Refuted from −1 to 0 and from 2 to 3: at input = ")
    visited(page, "/embed/incorrect_clipped_relu?hide=proof")
    expect(page.locator("#proof")).to_have_count(0)


def test_without_scripts_the_page_links_to_what_is_proved_and_shows_it(plain: Page, server: str) -> None:
    plain.goto(f"{server}/ops/clamp_with_grad?max=2")
    plain.get_by_role("link", name="What is proved").click()
    expect(plain.locator("#companion-sentence")).to_contain_text("Proved for every real input")
    rows = plain.locator("#companion .ledger tbody tr")
    expect(rows).to_have_count(5)
    expect(rows.first).to_contain_text("proved")


def test_what_holds_for_other_grad_outputs_is_not_asked_again(page: Page) -> None:
    opened(page, "/ops/clamp_with_grad")
    line = page.locator(LINE)
    expect(line).to_contain_text("but at −1 and 1.")
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "view=proof" in request.url else None)
    enter(page.locator("#field-grad_output"), "2.5")
    expect(page).to_have_url(re.compile("grad_output=2.5"))
    expect(line).to_contain_text("but at −1 and 1.")
    enter(page.locator("#field-grad_output"), "-2")  # of which another surrogate is the derivative's
    expect(page.locator("#proof")).to_contain_text("It holds for every negative grad_output.")
    assert [re.findall("grad_output=([^&]*)", each) for each in asked] == [["-2"]]
