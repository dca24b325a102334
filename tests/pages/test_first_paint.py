"""The page arrives with its figure, for those without JavaScript too; plotly takes over where it stands."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from support import http
from support.browser import alone, asked, curves, opened, shows, visited, warmed, withheld
from support.own_server import showing
from support.page_parts import PIECES, WORDS
from support.sampling import sampled
from support.written_functions import class_source

SHIFTS = """
window.shifts = [];
new PerformanceObserver((list) => {
  for (const { value, sources } of list.getEntries()) {
    window.shifts.push([value, ...sources.map(({ node }) => node?.outerHTML?.slice(0, 80) ?? node?.nodeName)]);
  }
}).observe({ type: 'layout-shift', buffered: true });
"""
FRAME = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))"
LARGEST = """() => new Promise((done) => new PerformanceObserver((list) => done(list.getEntries().at(-1).startTime))
.observe({ type: 'largest-contentful-paint', buffered: true }))"""
ARRIVED = """() => performance.getEntriesByType('resource').find(({name}) => name.endsWith('.min.js')).responseEnd"""
FLIPPED = (
    *("/ops/clamp_with_grad", "/ops/image_alpha?wrt=a&of=alpha", "/ops/incorrect_clipped_relu?start=0.2&stop=1.5"),
    *("/ops/sinh_on_ctx?order=2", "/ops/clamp_with_grad?wrt=min&order=2", "/ops/functional_linear?order=2"),
    "/ops/heaviside_triangle?order=2&layout=overlaid",
)
DEAD = ".slider, .reset, .quick, .looks, #companion, #copy, #listen, #share, [data-switch], #cursor"
SLOW = (
    "import time\n\nimport torch\n\nfrom gradloupe.ops import Input, Op\n\n\n"
    + class_source("def forward(ctx, x):\n    time.sleep(0.1)\n    return x", "Slow", "A Function that takes its time.")
    + 'op = Op(function=Slow, title="Slow", group="Tests", forward="y = x", backward="1", inputs=(Input("x"),))\n'
)


def still(plain: Page) -> None:
    """Waits until the figure stands there: a page that comes while it is measured asks again by itself."""
    expect(plain.locator("html")).to_have_attribute("data-still", "1")


def test_without_javascript_the_figure_and_its_words_stand_there_and_no_control_does_nothing(plain: Page) -> None:
    plain.goto("/ops/clamp_with_grad?grad_output=-1")
    still(plain)
    assert plain.locator("#still .panel .line").count() >= 5
    for panel in plain.locator("#still .panel").all():
        box = panel.bounding_box()
        assert (box["width"] > 500, box["height"] > 100) == (True, True)
    expect(plain.locator("#verdict .word")).to_have_text("differs by design")
    expect(plain.locator("#verdict .sentence")).to_contain_text("input < −1")
    expect(plain.locator("#verdict use")).to_have_attribute("href", "#mark-matches-its-surrogate")
    expect(plain.locator("#explanation")).to_contain_text("sign of grad_output")
    expect(plain.get_by_text("surrogate slope")).to_be_visible()
    expect(plain.locator("[data-curve='closed ends']")).to_be_hidden()
    expect(plain.locator("#field-grad_output")).to_have_value("−1")
    assert plain.locator(DEAD).evaluate_all("all => all.filter((each) => each.checkVisibility()).length") == 0
    plain.get_by_text("Export").click()
    for kind in ("svg", "png", "csv", "json"):
        link = plain.locator(f".tools #{kind}")
        expect(link).to_have_attribute("href", f"/ops/clamp_with_grad.{kind}?grad_output=-1")
        expect(link).to_be_visible()


def test_without_javascript_the_form_redraws_and_a_refusal_is_a_page_with_a_sentence(plain: Page) -> None:
    plain.goto("/ops/clamp_with_grad?stop=2")
    still(plain)
    before = plain.locator("#still").inner_html()
    plain.locator("#field-min").fill("−2")
    plain.locator("#field-grad_output").fill("-1")
    plain.get_by_label("overlaid").check()
    draws(plain, "/ops/clamp_with_grad.json?min=-2&stop=2&grad_output=-1&layout=overlaid")
    still(plain)
    assert plain.locator("#still").inner_html() != before
    expect(plain.locator("#field-min")).to_have_value("−2")
    expect(plain.get_by_label("overlaid")).to_be_checked()
    expect(plain.locator("#upper-words")).to_have_text("y and grad of input")
    plain.goto("/ops/clamp_with_grad?stop=2")
    plain.get_by_label("with respect to").select_option("min")
    plain.get_by_label("to", exact=True).fill("")
    draws(plain, "/ops/clamp_with_grad.json?wrt=min")
    expect(plain.locator("#field-min")).to_be_hidden()
    expect(plain.locator("#field-start")).to_have_attribute("placeholder", "−3")
    plain.locator("#field-max").fill("banana")
    plain.get_by_role("button", name="Draw").click()
    expect(plain.get_by_role("heading", level=1)).to_have_text("That cannot be drawn")
    expect(plain.locator("main")).to_contain_text("max=banana")


def draws(plain: Page, address: str) -> None:
    """Sends the form, whose answer is the page of this address."""
    plain.get_by_role("button", name="Draw").click()
    expect(plain.locator("#json")).to_have_attribute("href", address)
    expect(plain.locator("#export li > a:not([download])")).to_have_count(0)


def test_without_javascript_a_switch_can_be_turned_off_and_a_matrix_typed(plain: Page) -> None:
    plain.goto("/ops/functional_linear?wrt=bias[0]")
    still(plain)
    expect(plain.locator("#field-weight")).to_have_value("1, 2, 3\n−1, 0.5, 2")
    plain.get_by_role("combobox", name="with_bias").select_option("false")
    plain.locator("#field-weight").fill("1, 2, 3\n−1, 0.5, 7\n")
    draws(plain, "/ops/functional_linear.json?with_bias=false&weight=1,2,3,-1,0.5,7&wrt=bias[0]")
    expect(plain.get_by_role("combobox", name="with_bias")).to_have_value("false")


@pytest.mark.parametrize("address", sampled(FLIPPED, FLIPPED[1:4]))
def test_a_redraw_says_what_a_fresh_page_says(page: Page, plain: Page, address: str) -> None:
    visited(page, address).get_by_role("button", name="Flip sign").click()
    shows(page, page.locator("#json").get_attribute("href").replace(".json", "", 1))
    plain.goto(address + ("&" if "?" in address else "?") + "grad_output=-1")
    still(plain)
    for place in WORDS:
        fresh, redrawn = (each.locator(place).evaluate_all(PIECES) for each in (plain, page))
        assert redrawn == fresh, place


CASES = [
    ("/ops/clamp_with_grad", 360),
    ("/ops/functional_linear", 768),
    ("/ops/round_straight_through?layout=overlaid", 1440),
]


@pytest.mark.parametrize(("address", "width"), CASES)
def test_plotly_takes_over_without_a_shift_and_without_another_question(
    browser: Browser, server: str, address: str, width: int
) -> None:
    warmed(server, address)
    with alone(browser, server) as page:
        page.set_viewport_size({"width": width, "height": 900})
        page.add_init_script(SHIFTS)
        with asked(page) as addresses:
            opened(page, address)
        expect(page.locator("#still")).to_have_count(0)
        page.evaluate(FRAME)
        shifts: list[Any] = page.evaluate("() => shifts")
        assert sum(value for value, *_ in shifts) < 0.001, shifts
    assert [url for url in addresses if ".json" in url and "view=proof" not in url] == []
    assert len([url for url in addresses if url.endswith(".min.js")]) == 1


def test_what_is_there_lies_still_while_the_rest_of_the_page_arrives(page: Page, server: str) -> None:
    address = "/ops/round_straight_through"
    warmed(server, address)
    whole = http.get(server + address).text.replace('<script type="module"', '<script type="later"')
    texts = [whole[: whole.index(end)] for end in ('<div class="plot"', '<div class="rail"', '<a id="csv"')]
    places = []
    for text in (*texts, whole):
        page.route("**/ops/*", lambda route, _, text=text: route.fulfill(body=text, content_type="text/html"))
        page.goto(address)
        seen = ("#still .panel", ".tools")
        places.append([[box.bounding_box() for box in page.locator(each).all()] for each in seen])
        # Links are shown when all of them have arrived.
        expect(page.locator(".tools .links")).to_be_visible(visible=text is whole)
    figure, tools = zip(*places, strict=True)
    assert figure[0] == figure[-1] != []
    assert tools[1] == tools[-1] != []


def test_what_is_seen_first_is_there_before_plotly(browser: Browser, server: str) -> None:
    warmed(server, "/ops/clamp_with_grad")
    with alone(browser, server) as page:
        with withheld(page, "**/plotly*.min.js"):
            page.goto("/ops/clamp_with_grad", wait_until="domcontentloaded")
            expect(page.locator("#still .panel").first).to_be_visible()
            expect(page.locator("#field-start")).to_have_value("−3")
            page.evaluate(FRAME)
            page.evaluate(LARGEST)
            before = page.locator("#still .panel.lower").bounding_box()
            assert page.locator("html").get_attribute("data-ready") is None
        shows(page, "/ops/clamp_with_grad")
        assert page.evaluate(LARGEST) < page.evaluate(ARRIVED)
        live = page.locator("#plot .nsewdrag[data-subplot='xy2']").bounding_box()
        for side in ("x", "y", "width", "height"):
            assert abs(before[side] - live[side]) < 1, side  # type: ignore[literal-required]


def test_what_is_changed_before_plotly_is_there_is_what_is_drawn(browser: Browser, server: str) -> None:
    with alone(browser, server) as page:
        with withheld(page, "**/plotly*.min.js"):
            page.goto("/ops/exp", wait_until="domcontentloaded")  # and with it the controls are alive
            page.get_by_role("button", name="Flip sign").click()
            expect(page.locator("#summary")).to_contain_text("With grad_output −1")
        shows(page, "/ops/exp?grad_output=-1")
        assert min(each or 0 for each in curves(page)["analytical"][1]) < -7


@pytest.mark.nightly
def test_the_larger_library_is_loaded_only_for_the_surface(browser: Browser, server: str) -> None:
    with alone(browser, server) as page, asked(page) as addresses:
        opened(page, "/ops/abs_product")
        curves, maps = (page.locator("html").get_attribute(f"data-plotly-{kind}") for kind in ("curves", "maps"))
        for look, view, loaded in (
            ("grad_output map", "map", [curves]),
            ("Surface", "surface", [curves, maps]),
            ("Area", "area", [curves, maps]),
        ):
            page.locator(".looks label", has_text=look).click()
            shows(page, f"/ops/abs_product?view={view}")
            assert [url for url in addresses if url.endswith(".min.js")] == [f"{server}{each}" for each in loaded]


def test_a_page_whose_function_is_slow_does_not_wait_for_it(browser: Browser, tmp_path: Path) -> None:
    with showing(tmp_path, text=SLOW) as running:
        with alone(browser, running.url) as page:
            with withheld(page, "**/Slow.page.json*"):
                page.goto("/ops/Slow", wait_until="commit")
                expect(page.locator("#verdict .headline")).to_contain_text("Measuring")
                assert page.locator("html").get_attribute("data-still") is None
            shows(page, "/ops/Slow")
            expect(page.locator("#verdict .word")).to_have_text("matches")
        with alone(browser, running.url, java_script_enabled=False) as page:
            page.goto("/ops/Slow")
            expect(page.locator("#verdict .word")).to_have_text("matches")
