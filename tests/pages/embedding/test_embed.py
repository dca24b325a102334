"""The figure in the frame of another page: its parts, its size, when it comes alive, and whom it talks to."""

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Frame, FrameLocator, Page, expect
from support import http
from support.browser import HIDDEN, curves, drag, here, settles, shows, visited, warmed
from support.embedding_site import Host, visiting
from support.sampling import sampled
from support.servers import HERE

PARTS = {
    "title": "#title",
    "verdict": "#verdict",
    "legend": ".legend",
    "controls": "#controls :is(input, select, button), .drawer",
    "reading": "#reading, #values, #listen",
    "source": "pre.source",
}
SANDBOX = "allow-scripts"
SIZES = [(320, 300), (360, 420), (600, 420), (800, 500)]
ROOMS = [(*size, hide) for hide in ("", "controls", "controls,legend,verdict") for size in SIZES]
MANY = 9  # frames, of which three are in sight at most
# Puts a frame into the page of the host, and writes down what it says.
PUT = """([src, attributes, height]) => {
  window.heard = [];
  addEventListener('message', ({data, source}) => heard.push([data, source === frames[0]]));
  const frame = document.createElement('iframe');
  for (const [name, text] of Object.entries(attributes)) frame.setAttribute(name, text);
  Object.assign(frame.style, {border: 0, width: '100%', height: `${height}px`});
  frame.src = src;
  document.body.append(frame);
}"""
WIDTHS = """() => [document.querySelector('#plot').clientWidth, document.querySelector('#plot')._fullLayout.width,
document.querySelector('#plot .main-svg').getBoundingClientRect().width]"""
LIBRARIES = "() => performance.getEntriesByType('resource').filter(({name}) => name.endsWith('.min.js')).length"
INK = "plot => plot.data.find(({name}) => name === 'forward').line.color"
# From top to bottom, the places of what is written beside either panel.
LABELS = """() => ['.ytick', '.y2tick'].map(axis => [...document.querySelectorAll(`#plot ${axis} text`)]
.map(e => e.getBoundingClientRect()).filter(({height}) => height > 0).map(({top, bottom}) => [top, bottom]))"""


@pytest.fixture
def around(window: Page, host: Host) -> Iterator[Page]:
    """The page of somebody else."""
    with visiting(window, host, "") as page:
        yield page


def put(page: Page, src: str, height: int = 420, width: int = 900, **attributes: str) -> FrameLocator:
    """A frame in the page of somebody else, which is so wide."""
    page.set_viewport_size({"width": width, "height": 900})
    page.evaluate(PUT, [src, attributes, height])
    return page.frame_locator("iframe")


def live(frame: FrameLocator) -> None:
    expect(frame.locator("html[data-ready]")).to_be_attached()


def heard(page: Page, said: str) -> list[dict[str, Any]]:
    """The messages of a type, as they came."""
    types = "said => heard.map(([data]) => data).filter(({type}) => type === said)"
    found: list[dict[str, Any]] = page.evaluate(types, said)
    return found


def inner(page: Page) -> Frame:
    return page.frames[-1]


def fills(frame: Page | Frame) -> bool:
    """Whether the figure is as wide as its place, and drawn for that."""
    inside, laid_out, seen = frame.evaluate(WIDTHS)
    return bool(inside == laid_out == pytest.approx(seen, abs=0.5))


def test_a_gradient_can_be_predicted_where_what_tells_it_is_hidden(page: Page) -> None:
    page.goto("/embed/incorrect_clipped_relu?hide=numerical,implied,shading,verdict,open,hint")
    expect(page.locator("html[data-ready]")).to_be_attached()
    for clip in ("1", "1.5"):
        page.locator("#field-clip").fill(clip)
        page.locator("#field-clip").press("Enter")
        expect(page.locator(f"html[data-ready*='clip={clip}']")).to_be_attached()
        assert {"forward", "analytical"} <= {*curves(page)}
        assert not {"numerical", "implied"} & {*curves(page)}
        assert page.evaluate("document.querySelector('#plot').layout.shapes.length") == 0
    shown = page.locator("[data-curve]:not([hidden])").evaluate_all("all => all.map(({dataset}) => dataset.curve)")
    assert shown == ["forward", "kinks", "analytical"]
    for gone in ("#verdict", "#whole", "#linearity"):
        expect(page.locator(gone)).to_have_count(0)


def test_a_part_that_is_hidden_is_not_there_and_without_all_of_them_the_figure_is_still_alive(
    page: Page, server: str
) -> None:
    for hidden in ("title,legend,source", "verdict,controls,reading"):
        page.goto(f"/embed/clamp_with_grad?hide={hidden}")
        for name, selector in PARTS.items():
            assert (page.locator(selector).count() == 0) == (name in hidden.split(",")), name
    visited(page, f"/embed/clamp_with_grad?hide={','.join(PARTS)}&height=240")
    expect(page.get_by_role("figure", name="Clamp with grad")).to_be_visible()
    page.get_by_role("slider", name="Trace").press("End")
    expect(page.get_by_role("slider", name="Trace")).to_have_attribute("aria-valuenow", "3")
    expect(page.locator("#overlay")).to_be_visible()


def test_there_is_nothing_around_it_but_one_way_out_and_what_does_not_fit_is_reached_by_scrolling(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 420})
    page.goto("/embed/clamp_with_grad?min=-2&theme=dark&hide=source&height=420")
    shows(page, "/ops/clamp_with_grad?min=-2")
    assert page.locator(".masthead, .colophon, .skip").count() == 0
    link = page.get_by_role("link", name="Open in Gradloupe")
    expect(link).to_have_attribute("href", "/ops/clamp_with_grad?min=-2")
    expect(link).to_have_attribute("target", "_blank")
    expect(link).to_have_attribute("rel", "noopener")
    page.get_by_text("Controls").click()
    page.locator("#field-grad_output").scroll_into_view_if_needed()
    page.get_by_role("button", name="Flip sign").click()
    shows(page, "/ops/clamp_with_grad?min=-2&grad_output=-1")
    expect(page.locator("#canvas")).to_be_in_viewport(ratio=0.95)
    expect(link).to_have_attribute("href", "/ops/clamp_with_grad?min=-2&grad_output=-1")
    expect(page).to_have_url("/embed/clamp_with_grad?min=-2&grad_output=-1&theme=dark&hide=source&height=420")


def test_the_theme_is_that_of_the_address_or_else_of_the_page_around(around: Page, server: str) -> None:
    around.emulate_media(color_scheme="dark")
    for theme, paper, ink in (
        ("light", "rgb(255, 255, 255)", "rgb(29, 29, 31)"),
        ("auto", "rgb(22, 23, 26)", "rgb(236, 236, 234)"),
    ):
        around.evaluate("() => document.body.replaceChildren()")
        frame = put(around, f"{server}/embed/exp?theme={theme}")
        live(frame)
        expect(frame.locator("html")).to_have_css("background-color", paper)
        assert frame.locator("#plot").evaluate(INK) == ink


@pytest.mark.parametrize("room", sampled(ROOMS, ROOMS[::5]))
def test_a_height_that_was_given_is_filled_and_nothing_runs_over(page: Page, room: tuple[int, int, str]) -> None:
    width, height, hide = room
    page.set_viewport_size({"width": width, "height": height})
    visited(page, f"/embed/clamp_with_grad?height={height}&hide={hide}")
    assert page.evaluate(HIDDEN) == [0, 0]
    way_out = page.get_by_role("link", name="Open in Gradloupe").bounding_box()
    assert height - 20 < way_out["y"] + way_out["height"] <= height
    panels = [page.locator(f"#canvas .nsewdrag[data-subplot='{each}']").bounding_box() for each in ("xy", "xy2")]
    assert all(panel and panel["height"] > 40 and panel["width"] > 0.5 * width - 50 for panel in panels)
    for labels in page.evaluate(LABELS):
        assert len(labels) >= 2
        assert all(upper[1] < lower[0] + 4 for lower, upper in itertools.pairwise(labels)), labels


def test_its_own_height_does_not_depend_on_that_of_the_frame(around: Page, server: str) -> None:
    own = set()
    for height in (150, 1200):
        around.evaluate("() => document.body.replaceChildren()")
        frame = put(around, f"{server}/embed/clamp_with_grad", height, 360)
        frame.locator("#canvas").scroll_into_view_if_needed()
        live(frame)
        high = frame.locator("body").evaluate("body => Math.ceil(body.getBoundingClientRect().height)")
        settles(lambda high=high: [each["height"] for each in heard(around, "gradloupe:resize")][-1:], [high])
        own.add(high)
    assert len(own) == 1


def test_the_height_is_told_in_four_ways_and_the_state_in_words(around: Page, server: str) -> None:
    frame = put(around, f"{server}/embed/clamp_with_grad?min=-2#?secret=abc123", sandbox=SANDBOX)
    live(frame)
    assert inner(around).evaluate("() => origin") == "null"
    settles(lambda: len(heard(around, "gradloupe:ready")), 1)
    (height, *_) = [each["height"] for each in heard(around, "gradloupe:resize")]
    everything = [data for data, ours in around.evaluate("heard") if ours]
    assert {"subject": "lti.frameResize", "height": height} in everything
    assert {"message": "height", "value": height, "secret": "abc123"} in everything
    (embedly,) = [json.loads(each) for each in everything if isinstance(each, str)]
    assert (embedly["context"], embedly["height"]) == ("iframe.resize", height)
    (ready,) = heard(around, "gradloupe:ready")
    assert ready["address"] == "/ops/clamp_with_grad?min=-2"
    assert (ready["state"]["min"], ready["state"]["max"], ready["state"]["wrt"]) == ("-2", "1", "input")
    assert "theme" not in ready["state"]
    assert ready["verdict"]["word"] == "matches its surrogate"
    frame.get_by_role("button", name="Flip sign").click()
    expect(frame.locator("html")).to_have_attribute("data-ready", "/ops/clamp_with_grad?min=-2&grad_output=-1")
    settles(lambda: len(heard(around, "gradloupe:change")), 1)
    (change,) = heard(around, "gradloupe:change")
    assert change["state"]["grad_output"] == "-1"
    assert change["address"] == "/ops/clamp_with_grad?min=-2&grad_output=-1"


def test_it_does_what_the_page_around_asks_and_nobody_else(around: Page, server: str) -> None:
    frame = put(around, f"{server}/embed/exp", sandbox=SANDBOX)
    live(frame)
    say = "data => frames[0].postMessage(data, '*')"
    around.evaluate(say, {"type": "gradloupe:theme", "theme": "pink"})
    around.evaluate(say, {"type": "gradloupe:theme", "theme": "dark"})
    expect(frame.locator("html")).to_have_attribute("data-theme", "dark")
    wide = {"stop": 5, "grad_output": -2, "theme": "light", "hide": "title", "nonsense": "<b>"}
    around.evaluate(say, {"type": "gradloupe:state", "state": wide})
    expect(frame.locator("html")).to_have_attribute("data-ready", "/ops/exp?stop=5&grad_output=-2")
    assert frame.locator("#plot").evaluate(INK) == "rgb(236, 236, 234)"
    # The frame itself, and one beside it, are not the page around.
    inner(around).evaluate(
        "data => new Promise(done => { addEventListener('message', done, {once: true}); postMessage(data, '*') })",
        {"type": "gradloupe:state", "state": {"grad_output": "7"}},
    )
    beside = "src => document.body.append(Object.assign(document.createElement('iframe'), {src}))"
    around.evaluate(beside, f"{server}/embed/nope")
    expect(around.frame_locator("iframe").nth(1).locator("main")).to_be_visible()
    for data in (
        {"type": "gradloupe:state", "state": {"grad_output": "7"}},
        {"type": "gradloupe:theme", "theme": "light"},
    ):
        inner(around).evaluate("data => parent.frames[0].postMessage(data, '*')", data)
    around.evaluate(say, {"type": "gradloupe:state", "state": {"grad_output": 3}})
    first = around.frame_locator("iframe").first.locator("html")
    expect(first).to_have_attribute("data-ready", "/ops/exp?stop=5&grad_output=3")
    expect(first).to_have_attribute("data-theme", "dark")
    settles(lambda: [each["state"]["grad_output"] for each in heard(around, "gradloupe:change")], ["-2", "3"])


def test_a_slider_moves_its_curves_and_a_refusal_is_said_below_them(page: Page) -> None:
    visited(page, "/embed/clamp_with_grad")
    drag(page, page.get_by_role("slider", name="min"), 0.25)
    low = float(page.locator("#field-min").input_value().replace("−", "-"))
    shows(page, f"/ops/clamp_with_grad?min={low:g}")
    address = here(page)
    page.locator("#field-max").fill("99")
    expect(page.locator("#trouble")).to_contain_text("max=99")
    expect(page.locator("#trouble")).to_be_in_viewport(ratio=1)
    assert here(page) == address


def test_nothing_is_kept_in_the_browser() -> None:
    kept = ("localStorage", "sessionStorage", "indexedDB", "document.cookie", "caches.")
    # Beside the visitor's own file: the token of this tab, and what a page that opens anew has to say.
    of_one_tab = {"events.js": ["sessionStorage"], "refresh.js": ["sessionStorage"]}
    for path in (HERE / "static").rglob("*.js"):
        assert [each for each in kept if each in path.read_text()] == of_one_tab.get(path.name, []), path.name


def test_in_a_tab_that_is_closed_it_waits_and_comes_out_as_wide_as_the_tab(around: Page, server: str) -> None:
    around.evaluate("() => { document.body.style.display = 'none' }")
    frame = put(around, f"{server}/embed/exp", sandbox=SANDBOX)
    inner(around).wait_for_load_state()
    around.evaluate("() => frames[0].postMessage({type: 'gradloupe:theme', theme: 'light'}, '*')")
    expect(frame.locator("html")).to_have_attribute("data-theme", "light")
    assert inner(around).evaluate(LIBRARIES) == 0
    around.evaluate("() => { document.body.style.display = 'block' }")
    live(frame)
    settles(lambda: fills(inner(around)), True)
    inside = inner(around).evaluate(WIDTHS)[0]
    assert inside > 400
    # Closed again, changed and narrowed in the dark, and opened.
    around.evaluate("() => { document.body.style.display = 'none' }")
    around.evaluate("() => frames[0].postMessage({type: 'gradloupe:state', state: {grad_output: -1}}, '*')")
    expect(frame.locator("#whole")).to_have_attribute("href", "/ops/exp?grad_output=-1")
    expect(frame.locator("#verdict .sentence")).not_to_be_empty()
    around.evaluate("() => Object.assign(document.body.style, {display: 'block', width: '500px'})")
    expect(frame.locator("html")).to_have_attribute("data-ready", "/ops/exp?grad_output=-1")
    settles(lambda: fills(inner(around)) and inner(around).evaluate(WIDTHS)[0] < inside, True)
    analytical = curves(inner(around))["analytical"][1]
    assert max(analytical) < 0


@pytest.mark.nightly
def test_of_many_on_a_page_only_those_in_sight_are_alive(window: Page, host: Host, server: str) -> None:
    warmed(server, "/embed/exp")
    frame = f'<iframe sandbox="{SANDBOX}" width="600" height="420" src="{server}/embed/exp?height=420"></iframe>'
    with visiting(window, host, MANY * f"<p>Figure {frame}") as page:
        for each in page.frames[1:]:
            each.wait_for_load_state()
        live(page.frame_locator("iframe").first)
        settles(lambda: [each.locator("#still .panel").count() for each in page.frames[4:]], [2] * (MANY - 3))
        assert [each.evaluate(LIBRARIES) for each in page.frames[4:]] == [0] * (MANY - 3)
        page.locator("iframe").last.scroll_into_view_if_needed()
        live(page.frame_locator("iframe").last)
        assert page.frames[6].evaluate(LIBRARIES) == 0


def test_the_page_around_scrolls_on_over_the_figure(around: Page, server: str) -> None:
    around.evaluate("() => { document.body.style.paddingBottom = '2000px' }")
    frame = put(around, f"{server}/embed/exp?height=420&hide=controls", sandbox=SANDBOX)
    live(frame)
    expect(frame.locator("#canvas")).to_have_css("touch-action", "pan-y")
    box = around.locator("iframe").bounding_box()
    around.mouse.move(box["x"] + 300, box["y"] + 200)
    around.mouse.wheel(0, 300)
    around.wait_for_function("() => scrollY > 200")
    assert inner(around).evaluate("() => scrollY") == 0


def test_on_paper_it_is_dark_on_light_and_fills_its_place(page: Page) -> None:
    visited(page, "/embed/clamp_with_grad?theme=dark&height=420")
    assert page.locator("#plot").evaluate(INK) == "rgb(236, 236, 234)"
    page.emulate_media(color_scheme="dark", media="print")
    settles(lambda: page.locator("#plot").evaluate(INK), "rgb(29, 29, 31)")
    settles(lambda: fills(page), True)


def test_without_javascript_it_is_a_form_that_stays_in_its_frame(plain: Page, server: str) -> None:
    plain.set_viewport_size({"width": 360, "height": 500})
    warmed(server, "/embed/clamp_with_grad?start=-5")
    plain.goto("/embed/clamp_with_grad?start=-5&theme=dark&hide=source&height=500")
    expect(plain.locator("#still .panel")).to_have_count(2)
    plain.get_by_text("Controls").click()
    plain.locator("#field-min").fill("−2")
    plain.get_by_role("button", name="Draw").click()
    expect(plain.locator("#whole")).to_have_attribute("href", "/ops/clamp_with_grad?min=-2&start=-5")
    expect(plain.locator("html")).to_have_attribute("data-theme", "dark")
    expect(plain.locator("html")).to_have_attribute("data-high", "500")
    assert plain.locator("pre.source").count() == 0
    assert plain.url.startswith(f"{server}/embed/clamp_with_grad?")


REFUSED = {
    "/embed/exp?hide=titel": (422, "title"),
    "/embed/exp?theme=pink": (422, "theme=pink"),
    "/embed/exp?height=10": (422, "from 150 to 2400"),
    "/embed/nope": (404, "nope"),
}


def test_what_cannot_be_is_said_in_a_sentence_in_a_frame_whose_links_lead_out_of_it(server: str) -> None:
    for address, (status, said) in REFUSED.items():
        refused = http.get(server + address)
        assert refused.status_code == status
        assert said in refused.text
        assert "masthead" not in refused.text
        links = re.findall("<a [^>]*>", refused.text)
        assert links
        assert all('target="_blank"' in link for link in links)


def test_a_verdict_that_was_cut_short_is_read_by_pointing_at_it(page: Page) -> None:
    page.set_viewport_size({"width": 320, "height": 300})
    visited(page, "/embed/clamp_with_grad?height=300")
    before = page.locator("#canvas").bounding_box()
    expect(page.locator("#explanation")).to_be_hidden()
    page.locator("#verdict").focus()
    page.locator("#details").click()
    page.locator("#explanation").scroll_into_view_if_needed()
    expect(page.locator("#explanation")).to_be_in_viewport(ratio=0.5)
    assert page.locator("#canvas").bounding_box() == before
