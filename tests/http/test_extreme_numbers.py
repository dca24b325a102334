"""Numbers near the largest and the smallest that float64 holds: every page is there, is drawn and says the same."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from support.browser import alone, opened, shows
from support.checked_files import written
from support.own_server import Own, showing
from support.sampling import sampled
from support.written_functions import formula

import gradloupe

HALF = formula("x", "x / 2", "g / 2 * (x < {wrong_from})")
OPS = {
    "Big": "def forward(ctx, x):\n    return x * 0.5e308\ndef backward(ctx, g):\n    return g * 0.5e308",
    "WrongFar": HALF.format(wrong_from=9e299),
    "WrongFarther": HALF.format(wrong_from=1.3e308),
}
RANGES = ("start=0&stop=1e-320", "start=1e-320&stop=1e300", "start=-1e300&stop=1e300")
FEW_NUMBERS = "start=0&stop=2e-323&count=2"  # of five numbers in all


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Own]:
    with showing(tmp_path_factory.mktemp("extremes"), text=written(OPS)) as own:
        yield own


@pytest.fixture
def page(browser: Browser, own: Own) -> Iterator[Page]:
    with alone(browser, own.url) as page:
        yield page


@pytest.mark.parametrize(
    "place",
    [
        *(f"/ops/Big{form}" for form in ("", ".svg", ".png", ".csv", ".json", ".html", ".html?sliders=grad_output:3")),
        *("/embed/Big", "/ops/Big?view=descent", "/compare?left=Big&right=WrongFar", "/ops/WrongFarther"),
        *(f"/ops/WrongFar?{ends}" for ends in RANGES),
        *(f"/ops/WrongFar{form}?{FEW_NUMBERS}" for form in ("", ".svg", ".csv", ".json", ".html")),
    ],
)
def test_every_page_and_file_is_there(own: Own, place: str) -> None:
    assert own.get(place).status_code == 200


def test_a_notebook_shows_a_span_beyond_the_largest_number() -> None:
    page = gradloupe.look(lambda x: x * 0.5e308).page.decode()
    assert "[-1.5e+308,-1.4" in page


FLIPPED = "/ops/Big?grad_output=-1", "/ops/WrongFarther?start=1e-320&stop=1e300&grad_output=-1"


@pytest.mark.parametrize("place", sampled(FLIPPED, FLIPPED[1:]))
def test_the_page_says_the_same_with_and_without_javascript(browser: Browser, own: Own, page: Page, place: str) -> None:
    with alone(browser, own.url, java_script_enabled=False) as plain:
        plain.goto(place)
        said = plain.locator("#summary p").all_inner_texts()
    assert "lies between" in said[0]
    opened(page, place.removesuffix("&grad_output=-1").removesuffix("?grad_output=-1"))
    page.get_by_role("button", name="Flip sign").click()
    shows(page, place)
    expect(page.locator("#summary p")).to_have_text(said)


def test_a_difference_is_a_click_away_as_far_as_an_address_reaches_else_it_is_said_without_a_link(page: Page) -> None:
    opened(page, "/ops/WrongFar")
    page.get_by_role("link", name="Show where").click()
    shows(page, "/ops/WrongFar?start=4.5e299&stop=1e300")
    expect(page.locator("#verdict")).to_have_attribute("data-word", "differs")
    opened(page, "/ops/WrongFarther?grad_output=-1")
    expect(page.locator("#verdict")).to_have_attribute("data-word", "matches here")
    expect(page.locator("#beyond")).to_be_hidden()
