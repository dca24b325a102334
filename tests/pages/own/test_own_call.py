"""The page of a visitor's own Function: how it is called, corrected there, written down, and taken along as a test."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from support.axe import violations
from support.browser import alone, curves, enter, opened, shows, visited, watched
from support.own_server import MY_OPS, Own, showing
from support.written_functions import class_source

from gradloupe.server.inference.recipe import parse_recipe

RECIPE = "x: float64[5]; low = -0.5; high = 2.0"
SAID = "x:%20float64[5];%20low%20%3D%20-0.5;%20high%20%3D%202.0"
ROUTED = """import torch


class Router:
    def sent(self, x):
        return 3 * x

    def returned(self, grad):
        return 3 * grad


""" + class_source(
    """
    def forward(ctx, x, router):
        ctx.router = router
        return router.sent(x)
    def backward(ctx, grad_output):
        return ctx.router.returned(grad_output), None
    """,
    "Routed",
)
WINDOW = class_source(
    """
    def forward(ctx, x, width=2.0, mode="same", flat=False):
        ctx.slope = (1.0 if flat else width) * {"same": 1.0, "half; -1": 0.5}[mode]
        return x * ctx.slope
    def backward(ctx, grad_output):
        return grad_output * ctx.slope, None, None, None
    """,
    "Window",
)
UNFINISHED = (
    "class Unfinished" + ROUTED.partition("    @staticmethod\n    def backward")[0].partition("class Routed")[2]
)
TAKES = "() => navigator.clipboard.readText()"
CLOSED = "navigator.clipboard.writeText = () => Promise.reject(new Error('closed')); document.execCommand = () => false"


def called(page: Page, recipe: str) -> None:
    """Correct the recipe, by keys alone."""
    page.locator("html[data-ready]").wait_for()
    page.get_by_text("Edit", exact=True).press("Enter")
    expect(page.get_by_label("Recipe")).to_be_focused()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(recipe)
    page.keyboard.press("Enter")


@pytest.fixture
def called_by_hand(tmp_path: Path, browser: Browser) -> Iterator[Page]:
    """A page of Functions whose calls are more than numbers; their file is that of the test."""
    text = f"{ROUTED}\n\n{UNFINISHED}\n\n{WINDOW}"
    with showing(tmp_path, text=text) as server, alone(browser, server.url) as page:
        yield page


def test_the_call_that_is_told_is_that_of_the_parameters_shown(called_by_hand: Page) -> None:
    page = called_by_hand
    opened(page, "/ops/Window?width_=3")
    call, field = page.locator(".called code"), page.locator("#call-recipe")
    expect(call).to_have_text("x: float64[7]; width = 3.0; mode = 'same'; flat = False")
    label = page.locator("[data-control=width_] label")
    expect(label).to_have_text(re.compile("width_ the argument width;"))  # whose name the address has taken
    page.locator("#field-mode").select_option("half; -1")
    page.locator("[data-switch=flat]").check()
    enter(page.locator("#field-width_"), "0.25")
    told = "x: float64[7]; width = 0.25; mode = 'half; -1'; flat = True"
    expect(call).to_have_text(told)
    expect(field).to_have_value(told)
    assert parse_recipe(told).text() == told
    assert page.locator("#docstring").input_value() == f"Gradloupe: like {told}"
    page.locator("#export > summary").click()
    page.get_by_role("button", name="Copy as pytest").click()
    expect(page.get_by_label("The test")).to_have_value(re.compile(re.escape(f'"like {told}"')))
    assert page.content().count("width = 3.0") == 0


def test_lines_bear_the_numbers_of_their_file_where_one_raises_and_where_findings_name_them(mine: Page) -> None:
    opened(mine, "/ops/Cube?view=contract")
    lines = MY_OPS.splitlines()
    first = lines.index("class Cube(Function):") + 1
    line = mine.locator(".source .line", has_text="class Cube")
    assert line.get_attribute("data-line") == str(first)
    assert line.evaluate("e => getComputedStyle(e, '::before').content") == f'"{first}"'
    expect(mine.locator(".where")).to_contain_text(f"from line {first}")
    pointing = mine.locator("#companion a[href^='#L']").first
    number = int((pointing.text_content() or "").removeprefix("line "))
    assert first < number < first + 12
    pointing.click()
    expect(mine.locator(".source .pointed")).to_have_attribute("data-line", str(number))
    visited(mine, "/ops/Fused?grad_output=1e15")
    number = lines.index('            raise ArithmeticError("it went off")') + 1
    expect(mine.locator(".source .failed")).to_have_attribute("data-line", str(number))
    expect(mine.locator("#verdict")).to_contain_text("backward raised ArithmeticError")
    assert curves(mine).keys() & {"forward", "analytical"} == {"forward"}


def test_a_recipe_is_corrected_on_the_page_and_stays_in_the_address_with_what_still_holds(mine: Page) -> None:
    opened(mine, "/ops/Clamp?grad_output=-1")
    guessed = mine.locator(".called code").inner_text()
    called(mine, RECIPE)
    shows(mine, f"/ops/Clamp?grad_output=-1&recipe={SAID}")
    expect(mine.locator(".called code")).to_have_text(RECIPE)
    expect(mine.locator("#field-low")).to_have_value("−0.5")
    enter(mine.locator("#field-high"), "3")
    shows(mine, f"/ops/Clamp?high=3&grad_output=-1&recipe={SAID}")
    expect(mine).to_have_url(re.compile("recipe="))
    expect(mine.locator("#svg")).to_have_attribute("href", re.compile("recipe="))
    expect(mine.locator("#compare")).to_have_attribute("href", re.compile("^(?!.*recipe)"))
    mine.reload()
    shows(mine, f"/ops/Clamp?high=3&grad_output=-1&recipe={SAID}")
    mine.get_by_role("link", name="Undo my edit").click()
    shows(mine, "/ops/Clamp")
    expect(mine.locator(".called code")).to_have_text(guessed)
    expect(mine.get_by_role("link", name="Undo my edit")).to_have_count(0)
    opened(mine, "/ops/Clamp?low=-1.5&wrt=high&start=0&stop=2&grad_output=-1")
    called(mine, RECIPE)
    shows(mine, f"/ops/Clamp?wrt=high&start=0&stop=2&grad_output=-1&recipe={SAID}")
    called(mine, "x: float64[2]")
    shows(mine, "/ops/Clamp?grad_output=-1&recipe=x:%20float64[2]")


REFUSED = {
    "x: float65[7]": "float65",
    "x: float64[7]; loww = 2": "loww",
    "x: float64[7]; low = open('f')": "open",
    "low = 1": "no floating tensor",
    "<img src=x onerror=alert(1)>": "<img",
}


def test_a_recipe_that_cannot_be_is_refused_beside_the_field_and_nothing_is_lost(mine: Page) -> None:
    opened(mine, "/ops/Clamp?grad_output=-1")
    before, trouble, field = mine.url, mine.locator("#call-trouble"), mine.get_by_label("Recipe")
    for recipe, named in REFUSED.items():
        called(mine, recipe)
        expect(trouble).to_contain_text(named)
        expect(field).to_have_value(recipe)
        expect(field).to_have_attribute("aria-invalid", "true")
        expect(mine).to_have_url(before)
        field.press("End")
        field.type(" ")
        expect(trouble).to_be_empty()
        field.press("Escape")
        expect(field).to_be_hidden()
        expect(mine.locator(".edit summary")).to_be_focused()


def test_what_is_typed_outlives_a_save(called_by_hand: Page, tmp_path: Path) -> None:
    page, file = called_by_hand, tmp_path / "my_ops.py"
    opened(page, "/ops/Window")
    page.get_by_text("Edit", exact=True).click()
    page.get_by_label("Recipe").fill("x: float64[")
    for old, new, place in (
        ("return x * ctx.slope", "return 2 * x * ctx.slope", ".source"),
        ("width=2.0", "width=2.5", ".called"),  # another call: the page is loaded anew
    ):
        file.write_text(file.read_text().replace(old, new))
        expect(page.locator(place)).to_contain_text("2 * x" if place == ".source" else "2.5", timeout=60_000)
        expect(page.get_by_label("Recipe")).to_be_visible()
        expect(page.get_by_label("Recipe")).to_have_value("x: float64[")


def test_without_javascript_it_is_a_form_and_the_test_a_file(my_ops: Own, unscripted: Page) -> None:
    with watched(unscripted, my_ops.url) as page:
        page.goto(f"{my_ops.url}/ops/Clamp?grad_output=-1")
        page.get_by_text("Edit", exact=True).click()
        page.get_by_label("Recipe").fill(RECIPE)
        page.get_by_role("button", name="Use this call").click()
        expect(page.locator(".called code")).to_have_text(RECIPE)
        expect(page.locator("#field-grad_output")).to_have_value("−1")
        page.locator("#field-high").fill("3")
        page.get_by_role("button", name="Draw").click()
        told = RECIPE.replace("high = 2.0", "high = 3.0")
        expect(page.locator(".called code")).to_have_text(told)
        page.locator("#export > summary").click()
        with page.expect_download() as loaded:
            page.get_by_role("link", name="Copy as pytest").click()
        assert told in loaded.value.path().read_text()
        page.goto(f"{my_ops.url}/ops/Clamp?recipe=x:%20float65[7]")
        expect(page.locator(".lede")).to_contain_text("float65")


def test_the_page_says_what_is_known_and_assumed_and_the_call_can_be_taken_along(mine: Page) -> None:
    opened(mine, "/ops/Clamp")
    expect(mine.locator(".eyebrow")).to_contain_text("nothing declared")
    expect(mine.locator(".lede")).to_have_text("A clamp with a mask.")
    expect(mine.locator(".called code")).to_contain_text("x: float64[")
    assert mine.get_by_role("heading", name="Formulas").count() == 0
    mine.get_by_text("What was assumed").click()
    said = dict(zip(*(mine.locator(f".recipe dl {tag}").all_inner_texts() for tag in ("dt", "dd")), strict=True))
    assert "x" in said
    assert all(said.values())
    mine.get_by_text("Save this call").click()
    line, block = mine.locator("#recipe .copied textarea").all()
    assert line.input_value() == f"Gradloupe: like {mine.locator('.called code').inner_text()}"
    assert "Op(" in block.input_value()
    for each in (line, block):
        mine.locator(f"[data-copy={each.get_attribute('id')}]").click()
        expect(mine.locator(f"output[for={each.get_attribute('id')}]")).to_have_text("Copied")
        assert mine.evaluate(TAKES) == each.input_value()
    mine.get_by_text("Edit", exact=True).click()
    assert violations(mine) == []


def test_every_function_can_be_taken_along_as_a_test(mine: Page) -> None:
    opened(mine, "/ops/clamp_with_grad")
    mine.locator("#export > summary").click()
    button = mine.get_by_role("button", name="Copy as pytest")
    before = mine.locator("main").bounding_box(), button.bounding_box()
    button.press("Enter")
    test = mine.get_by_label("The test")
    expect(test).to_be_focused()
    expect(mine.locator("output[for=pytest-text]")).to_have_text("Copied")
    assert mine.evaluate(TAKES) == test.input_value()
    compile(test.input_value(), "test_it.py", "exec")
    assert "gradcheck" in test.input_value()
    assert (mine.locator("main").bounding_box(), button.bounding_box()) == before
    mine.keyboard.press("Escape")
    expect(test).to_be_hidden()
    expect(button).to_be_focused()
    mine.evaluate(CLOSED)  # where the clipboard is closed the text is selected
    button.click()
    expect(mine.locator("output[for=pytest-text]")).to_contain_text("press Ctrl+C")
    expect(mine.get_by_role("link", name="Download")).to_be_visible()
    assert mine.evaluate("() => String(getSelection())") == test.input_value()
    test.click()
    mine.keyboard.press("Escape")
    expect(mine.locator("#export > summary")).to_be_focused()  # the menu is shut by now
    mine.keyboard.press("Enter")
    with mine.expect_download():
        button.click(modifiers=["ControlOrMeta"])
    expect(test).to_be_hidden()


@pytest.mark.nightly
def test_a_function_that_cannot_be_called_yet_says_why_and_how(my_ops: Own, mine: Page) -> None:
    refused = my_ops.get("/ops/Configured.json")
    assert (refused.status_code, refused.headers["content-type"]) == (422, "application/problem+json")
    assert "config" in refused.json()["detail"]
    response = mine.goto("/ops/Configured")
    assert response.status == 200
    expect(mine.locator(".unsolved")).to_contain_text("config")
    expect(mine.locator(".culprit dt")).to_have_text("config")
    assert 1 <= mine.locator(".tried > div").count() <= 5
    assert mine.locator("#docstring").input_value().startswith("Gradloupe: x: float64[")
    assert mine.get_by_label("The arguments").input_value().startswith("example_inputs = {")
    assert violations(mine) == []
    field = mine.get_by_label("Recipe")
    field.fill("x: float64[7]; config = 'turn by 2'")
    field.press("Enter")
    expect(mine.locator("#call-trouble")).to_contain_text("a verb and a number")
    field.fill("x: float64[7]; config = 'scale by 2'")
    field.press("Enter")
    mine.locator("html[data-ready]").wait_for()
    expect(mine.locator("#verdict .word")).to_have_text("matches")
    expect(mine.locator(".called code")).to_have_text("x: float64[7]; config = 'scale by 2'")


def test_what_no_recipe_can_say_is_asked_for_in_the_file_alone(called_by_hand: Page, tmp_path: Path) -> None:
    page, file = called_by_hand, tmp_path / "my_ops.py"
    for name, why in (("Unfinished", "Unfinished has no backward"), ("Routed", "'router' has to be an object")):
        page.goto(f"/ops/{name}")
        expect(page.locator(".unsolved")).to_contain_text(why)
        assert page.get_by_label("Recipe").count() == 0
        assert page.locator("#docstring").count() == 0
    given = page.get_by_label("The arguments").input_value().replace("x, router", "torch.randn(7), Router()")
    file.write_text(f"{file.read_text()}\n\n{given}\n")
    page.locator("html[data-ready]").wait_for()
    expect(page.locator("#verdict .word")).to_have_text("matches")
