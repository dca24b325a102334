"""The page of an op: every one opens, shows what the numbers say, and says it in words and in a table."""

import itertools
import math

import pytest
from functions.seeds import SEEDS
from playwright.sync_api import Browser, Page, expect
from support import http
from support.browser import alone, curves, drag, here, opened, passes_through, shows, value_at
from support.sampling import sampled
from support.servers import InThread, serving_in_thread, torch_loading

from gradloupe.server.schema.verdict_words import verdict_name

CLAMP = "/ops/clamp_with_grad"
LABELS = "() => [...document.querySelectorAll('#plot .{axis}tick text')].map(e => e.textContent)"
CLIPPED = """() => [...document.querySelectorAll('#plot .ytick text, #plot .y2tick text')]
.filter(e => e.getBoundingClientRect().left < document.querySelector('#plot').getBoundingClientRect().left)
.map(e => e.textContent)"""
BOXES = """() => [...document.querySelectorAll('#plot .xtick text')].map(e => e.getBoundingClientRect())
.map(({left, right}) => [left, right])"""
CELLS = "() => [...document.querySelectorAll('#values tr')].map(row => [...row.cells].map(cell => cell.textContent))"
INK = "() => document.querySelector('#plot').data.find(({name}) => name === 'forward').line.color"
TEMPLATE = "9f215cf04c5486422605d13261cb87401f4e7763b6296af81e98efbc0130da53"
DIFFERENT = ("functional_linear", "round_straight_through")
VERDICTS = (
    *("matches", "matches here", "matches its surrogate", "differs", "undecided", "no gradient", "failed"),
    "measuring",
)
RANGES = (
    *("grad_output=3e-7", "grad_output=-2e-5", "grad_output=1e200", "grad_output=-123456"),
    *("start=0.99999999&stop=1.00000001", "start=-1e-9&stop=1e-9", "start=-1000&stop=-990"),
)


@pytest.mark.parametrize("name", sampled(SEEDS, DIFFERENT))
def test_every_op_opens_with_its_curves_drawn_and_a_slider_moves_them(page: Page, server: str, name: str) -> None:
    opened(page, f"/ops/{name}")
    answer = http.get(f"{server}/ops/{name}.json").json()
    columns, drawn = answer["columns"], curves(page)
    for curve in ("forward", "numerical"):
        assert passes_through(drawn[curve], columns["x"], columns[curve])
    kinks = [mark["x"] for mark in answer["marks"] if mark["kind"] == "kink"]
    rows = zip(columns["x"], columns["analytical"], strict=True)
    assert passes_through(drawn["analytical"], columns["x"], [None if x in kinks else y for x, y in rows])
    assert ("surrogate" in drawn) == (columns["surrogate"] is not None)
    expect(page.locator("#verdict .word")).to_have_text(verdict_name(answer["verdict"]["word"], answer["claim"]))
    expect(page.locator("#plot .js-line").nth(1)).to_be_attached()
    slider = page.locator("#controls .slider:visible").first
    control = slider.get_attribute("data-slider")
    drag(page, slider, 0.05 if name == "kill_head" else 0.8)  # which opens with what it kills
    number = page.locator(f"#field-{control}").input_value().replace("−", "-")
    shows(page, f"/ops/{name}?{control}={number}")
    assert curves(page) != drawn


def test_source_formulas_prose_words_and_tables_stand_on_the_page(page: Page) -> None:
    opened(page, CLAMP)
    expect(page.locator(".source")).to_contain_text("class ClampWithGrad")
    assert page.locator(".formulas math").count() == 3
    expect(page.get_by_text("Flip the sign and")).to_have_count(1)  # the docstring is read once
    lines = page.locator(".source .line").evaluate_all("lines => lines.map(e => [e.id, e.dataset.line])")
    assert all(name == f"L{number}" for name, number in lines)
    assert [number for _, number in lines[:2]] == ["1", "2"]
    words = page.locator(f"#{page.get_by_role('figure').get_attribute('aria-describedby')}")
    expect(words).to_contain_text("from −3 to 3")
    rows = words.get_by_role("row").all_inner_texts()
    assert [row.split() for row in rows[1:]] == [["−1", "kink", "0", "1", "1"], ["1", "kink", "1", "0", "1"]]
    head, *rows = page.evaluate(CELLS)
    assert head == ["input", "y", "analytical", "numerical", "agreement"]
    assert [row[0] for row in rows[:3]] == ["−3.000", "−2.700", "−2.400"]
    (kink,) = (row for row in rows if row[0] == "−1.000")  # every mark has a row
    assert kink[1:4] == ["−1", "1", "0 left, 1 right"]
    assert len(rows) == 23
    strip = page.locator("#strip")  # where the gradient is not the slope, what descent makes of it
    strip.scroll_into_view_if_needed()
    expect(strip.locator("polyline")).to_have_count(2)
    expect(strip.get_by_role("link")).to_have_attribute("href", f"{CLAMP}?view=descent")
    # Plotly's own rules are admitted, and MapLibre's not asked for.
    assert page.locator(f"template[id='{TEMPLATE}']").count() == 1
    assert page.evaluate("() => [...document.styleSheets].filter(s => !s.href).map(s => s.cssRules.length)") == [66]
    drawings = [page.locator(f"#mark-{word.replace(' ', '-')}").inner_html() for word in VERDICTS]
    assert len(set(drawings)) == len(VERDICTS)


def test_a_right_backward_needs_no_explanation_and_nothing_is_added(page: Page) -> None:
    opened(page, "/ops/exp")
    assert not {"implied", "surrogate"} & curves(page).keys()
    for hidden in ("#explanation", "[data-curve='implied']", "#beyond"):
        expect(page.locator(hidden)).to_be_hidden()
    expect(page.locator("#strip")).to_have_count(0)
    expect(page.get_by_role("radio", name="Area")).to_be_attached()
    expect(page.get_by_role("radio", name="Jacobian")).to_have_count(0)  # which would say nothing
    page.goto("/ops/exp?view=jacobian")  # but answers its address
    expect(page.get_by_role("radio", name="Jacobian")).to_be_checked()


def test_a_wrong_backward_is_shaded_announced_explained_and_its_implied_forward_drawn(page: Page, server: str) -> None:
    opened(page, "/ops/incorrect_clipped_relu")
    shapes = page.evaluate("() => document.querySelector('#plot').layout.shapes.map(({x0, x1}) => [x0, x1])")
    assert len(shapes) == 4
    for edges, meant in zip(sorted(shapes), [(-1, 0), (-1, 0), (2, 3), (2, 3)], strict=True):
        assert all(math.isclose(*pair, abs_tol=1e-6) for pair in zip(edges, meant, strict=True))
    verdict = page.locator("#verdict")
    expect(verdict).to_have_attribute("role", "status")
    expect(verdict.locator(".word")).to_have_text("differs")
    expect(verdict.locator("use")).to_have_attribute("href", "#mark-differs")
    assert page.locator("#mark-differs path").count() > page.locator("#mark-matches path").count()
    implied = curves(page)["implied"]
    assert (value_at(implied, 3) or 0.0) - (value_at(implied, -1) or 0.0) == pytest.approx(4, rel=1e-6)
    expect(page.locator("[data-curve='implied']")).to_be_visible()
    page.locator("#details").click()
    expect(page.locator("#explanation")).to_be_visible()
    explained = http.get(f"{server}/ops/incorrect_clipped_relu.json").json()["verdict"]["explanation"]["sentence"]
    assert page.locator("#explanation").inner_text().split()[:3] == explained.split()[:3]


def test_it_is_said_beside_grad_output_what_it_does_beyond_scaling(server: str) -> None:
    says = {
        "clamp_with_grad": "its sign matters: flip it",
        "round_straight_through": "only scales the gradient",
        "gradient_clip?grad_output=0.3": "gradient not in proportion to it",
        "clamp_with_grad?order=2": "",
    }
    for address, words in says.items():
        name, _, query = address.partition("?")
        assert http.get(f"{server}/ops/{name}.page.json?{query}").json()["words"]["linearity"] == words
        assert f'<span id="linearity">{words}</span>' in http.get(f"{server}/ops/{address}").text
    assert 'id="linearity"' not in http.get(f"{server}/lessons/clamp_sign").text  # whose question it is


def test_the_figure_follows_the_colour_scheme_live_and_a_theme_in_the_address_wins_over_it(page: Page) -> None:
    light, dark = "rgb(29, 29, 31)", "rgb(236, 236, 234)"
    page.goto("/ops/exp?theme=dark")
    shows(page, "/ops/exp")
    assert page.evaluate(INK) == dark
    assert here(page) == "/ops/exp?theme=dark"
    page.emulate_media(color_scheme="dark")
    page.goto("/ops/exp?theme=light")
    shows(page, "/ops/exp")
    assert page.evaluate(INK) == light
    opened(page, "/ops/exp")
    assert page.evaluate(INK) == dark
    page.emulate_media(color_scheme="light")
    page.wait_for_function(f"light => ({INK})() === light", arg=light)


@pytest.mark.parametrize("query", sampled(RANGES, ("grad_output=-2e-5", "start=0.99999999&stop=1.00000001")))
def test_labels_of_the_axes_differ_and_are_whole_on_a_phone_and_on_a_desk(page: Page, query: str) -> None:
    for width in (360, 1440):
        page.set_viewport_size({"width": width, "height": 800})
        opened(page, f"/ops/exp?{query}")
        for axis in ("x", "y", "y2"):
            labels = page.evaluate(LABELS.format(axis=axis))
            assert len(set(labels)) == len(labels) > 1, labels
        assert page.evaluate(CLIPPED) == []
        boxes = sorted(page.evaluate(BOXES))
        assert all(left[1] < right[0] for left, right in itertools.pairwise(boxes)), boxes


def test_what_was_asked_is_told_with_the_digits_it_needs(page: Page) -> None:
    opened(page, "/ops/double?start=0.99999&stop=1.00001&grad_output=1e-7&atol=0.25&rtol=0.5")
    labels = page.evaluate(LABELS.format(axis="y2"))
    assert {"0", "0.5·10⁻⁷", "1.0·10⁻⁷", "1.5·10⁻⁷", "2.0·10⁻⁷"} <= set(labels)  # an axis shares a power of ten
    expect(page.locator("#summary")).to_contain_text("0.99999 to 1.00001")
    expect(page.locator("#summary")).to_contain_text("1.99998 and 2.00002")
    expect(page.locator("#method")).to_contain_text("0.25 + 0.5 × |numerical|")


def test_the_table_follows_the_controls_scrolls_by_keyboard_and_is_whole_on_paper_if_it_was_open(page: Page) -> None:
    opened(page, "/ops/exp")
    page.emulate_media(media="print")
    expect(page.locator("#values")).to_be_hidden()
    page.emulate_media(media="screen")
    page.locator("#values summary").press("Enter")
    last = page.locator("#values tbody tr").last
    page.get_by_role("region", name="Values").press("End")
    expect(last).to_be_in_viewport()
    expect(page.locator("#values thead th").first).to_be_in_viewport()
    expect(last).to_contain_text("7.389")
    page.get_by_role("button", name="Set grad_output to −1").click()
    shows(page, "/ops/exp?grad_output=-1")
    expect(last).to_contain_text("−7.389")
    page.emulate_media(media="print")
    assert page.locator("#values .rows").evaluate("box => box.scrollHeight - box.clientHeight") <= 1


def test_pages_and_frames_answer_while_torch_is_loading_and_the_curves_follow_by_themselves(
    browser: Browser, running: InThread
) -> None:
    with torch_loading(running) as loaded, serving_in_thread() as starting, alone(browser, starting.url) as page:
        page.goto("/embed/exp?hide=source&grad_output=2&theme=dark&height=500", wait_until="commit")
        expect(page.locator("[data-address]")).to_have_attribute("data-address", "/ops/exp.json?grad_output=2")
        assert page.locator(".masthead, .colophon").count() == 0
        page.goto("/ops/exp", wait_until="commit")
        expect(page.get_by_text("torch is still loading")).to_be_visible()
        loaded()
        shows(page, "/ops/exp")
        assert "analytical" in curves(page)
