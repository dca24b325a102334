"""`<grad-loupe>` on the page of another site, with a policy of its own: live, as high as its figure, deaf to others."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import FrameLocator, Locator, Page, expect
from support.browser import asked, curves, resized, settles, value_at
from support.embedding_site import Host, fitted, framed, hosting, visiting
from support.servers import serving_in_thread

# Every event is written down on the element itself, where the test can wait for it.
HEAR = """() => { for (const said of ["ready", "change"]) document.addEventListener(said, ({target, detail}) =>
    target.setAttribute(`data-${said}`, JSON.stringify(detail)), true) }"""
POSTED = """(data) => new Promise((done) => {
    const said = JSON.stringify(data);
    addEventListener("message", (heard) => JSON.stringify(heard.data) === said && done()); postMessage(data, "*") })"""
FALLBACK = '<a href="#there">The figure</a>'
DRAWN = "/ops/clamp_with_grad?min=-2&grad_output=-1"
CLAMP = '<grad-loupe op="clamp_with_grad" min="-2" grad_output="-1" hide="source">'


HEIGHTS: tuple[tuple[object, int], ...] = (
    ({"type": "gradloupe:resize", "height": 333}, 333),
    ({"subject": "lti.frameResize", "height": 334}, 334),
    ({"message": "height", "value": 335, "secret": "x"}, 335),
    ('{"src": "x", "context": "iframe.resize", "height": 336}', 336),
    ({"type": "gradloupe:resize", "height": 1e9}, 4000),  # no frame makes it endless
    ({"type": "gradloupe:resize", "height": 1}, 120),  # nor nothing
)
STRANGE: tuple[object, ...] = (
    {"type": "gradloupe:resize", "height": 444},
    {"type": "gradloupe:change", "address": "/ops/evil", "state": {"min": "9"}},
    {"message": "height", "value": 444},
    "{nothing",
    None,
)


@pytest.fixture
def page(window: Page, server: str, host: Host) -> Iterator[Page]:
    """The page of the host with one element, whose figure is drawn."""
    with visiting(window, host, f"{script(server)}{CLAMP}{FALLBACK}</grad-loupe>") as page:
        page.evaluate(HEAR)
        shows(page, DRAWN)
        yield page


def script(server: str) -> str:
    return f'<script type="module" src="{server}/grad-loupe.js"></script>'


def element(page: Page) -> Locator:
    return page.locator("grad-loupe")


def figure(page: Page, selector: str = "grad-loupe") -> FrameLocator:
    return page.frame_locator(f"{selector} iframe")


def shows(page: Page, address: str, selector: str = "grad-loupe") -> None:
    """Waits until the curves of this address are drawn in the element."""
    expect(figure(page, selector).locator("html")).to_have_attribute("data-ready", address, timeout=20_000)


def told(page: Page, kind: str, address: str) -> dict[str, Any]:
    """The detail of the last event of this kind, as soon as it is about this address."""
    expect(element(page)).to_have_attribute(f"data-{kind}", re.compile(re.escape(json.dumps(address))))
    detail: dict[str, Any] = json.loads(element(page).get_attribute(f"data-{kind}") or "")
    return detail


def test_it_shows_what_its_attributes_say_and_hears_four_ways_to_ask_for_a_height_and_nobody_else(
    page: Page, server: str
) -> None:
    expect(figure(page).get_by_role("heading", name="Clamp with grad")).to_be_visible()
    expect(figure(page).locator(".source")).to_have_count(0)
    expect(page.locator("iframe")).to_have_attribute("title", "clamp_with_grad")
    expect(page.get_by_text("The figure")).to_be_hidden()
    with page.expect_popup() as opening:
        figure(page).get_by_role("link", name="Open in Gradloupe").click()
    assert opening.value.url.startswith(f"{server}/ops/clamp_with_grad?")
    opening.value.close()
    fitted(page)
    for message, height in HEIGHTS:
        framed(page).evaluate("(message) => parent.postMessage(message, '*')", message)
        expect(page.locator("iframe")).to_have_css("height", f"{height}px")
    for message in STRANGE:
        page.evaluate(POSTED, message)
        page.evaluate("(data) => dispatchEvent(new MessageEvent('message', {data}))", message)
    assert page.locator("iframe").evaluate("e => e.style.height") == f"{height}px"
    assert element(page).evaluate("e => e.state.min") == "-2"
    expect(element(page)).not_to_have_attribute("data-change", re.compile("evil"))


def test_it_tells_when_it_is_ready_and_when_it_changes_and_loses_no_state_that_is_set_early(
    window: Page, server: str, host: Host
) -> None:
    words = 'op="exp" id="one" class="wide" data-query="stop=1.5&amp;grad_output=1"'  # those that HTML has taken
    with visiting(window, host, f"<grad-loupe {words}></grad-loupe>") as page:
        page.evaluate(HEAR)
        page.add_script_tag(url=f"{server}/grad-loupe.js", type="module")
        ready = told(page, "ready", "/ops/exp?stop=1.5")
        assert (ready["verdict"]["word"], ready["state"]["grad_output"]) == ("matches", "1")
        field = figure(page).locator("#field-grad_output")
        field.fill("-2")
        field.press("Tab")
        assert told(page, "change", "/ops/exp?stop=1.5&grad_output=-2")["state"]["grad_output"] == "-2"
        assert element(page).evaluate("e => e.state.grad_output") == "-2"
        page.evaluate("""() => { const figure = document.createElement("grad-loupe");
            figure.setAttribute("op", "cube");
            document.body.replaceChildren(figure);
            figure.state = {stop: 1} }""")
        shows(page, "/ops/cube?stop=1")
        settles(lambda: element(page).evaluate("e => e.state.stop"), "1")


def test_an_attribute_or_a_state_that_is_set_is_followed_in_the_same_frame_and_kept_where_it_is_moved(
    page: Page,
) -> None:
    framed(page).evaluate("() => { document.body.dataset.same = 'yes' }")
    element(page).evaluate("e => { e.setAttribute('min', '-1.5'); e.setAttribute('theme', 'dark') }")
    shows(page, "/ops/clamp_with_grad?min=-1.5&grad_output=-1")
    expect(figure(page).locator("html")).to_have_attribute("data-theme", "dark")
    element(page).evaluate("e => { e.state = {min: -0.5, grad_output: 1} }")
    shows(page, "/ops/clamp_with_grad?min=-0.5")
    assert value_at(curves(framed(page))["forward"], -3) == -0.5
    assert told(page, "change", "/ops/clamp_with_grad?min=-0.5")["state"]["min"] == "-0.5"
    expect(figure(page).locator("body")).to_have_attribute("data-same", "yes")
    element(page).evaluate("e => { const there = e.parentNode; e.remove(); there.append(e) }")
    expect(page.locator("iframe")).to_have_count(1)
    shows(page, "/ops/clamp_with_grad?min=-0.5")
    element(page).evaluate("e => { e.setAttribute('op', 'exp'); e.removeAttribute('min') }")
    shows(page, "/ops/exp?grad_output=-1")


def test_its_theme_is_the_one_asked_for_or_else_that_of_the_page(window: Page, server: str, host: Host) -> None:
    body = f'{script(server)}<grad-loupe op="exp" theme="dark"></grad-loupe>'
    with visiting(window, host, body) as page:
        page.emulate_media(color_scheme="null")
        paper = figure(page).locator("html")
        for theme, scheme, color in (
            ("light", "dark", "rgb(255, 255, 255)"),
            ("dark", "light", "rgb(22, 23, 26)"),
            ("", "dark", "rgb(22, 23, 26)"),
        ):
            page.evaluate("scheme => { document.documentElement.style.colorScheme = scheme }", scheme)
            element(page).evaluate("(e, theme) => e.setAttribute('theme', theme)", theme)
            expect(paper).to_have_css("background-color", color)


def test_it_is_as_high_as_its_figure(page: Page) -> None:
    for width, hidden in ((900, "source"), (360, "source"), (360, "source,controls,reading")):
        resized(page, width, 800)
        element(page).evaluate("(e, hide) => e.setAttribute('hide', hide)", hidden)
        shows(page, DRAWN)
        fitted(page)
        assert figure(page).locator("html").evaluate("e => e.scrollWidth - innerWidth") <= 0


def test_what_stands_inside_stays_while_the_figure_does_not_come(window: Page, server: str, host: Host) -> None:
    with visiting(window, host, f"{CLAMP}{FALLBACK}</grad-loupe>") as page:
        page.route("**/embed/**", lambda route: route.fulfill(body="nothing here", content_type="text/html"))
        page.add_script_tag(url=f"{server}/grad-loupe.js", type="module")
        expect(figure(page).get_by_text("nothing here")).to_be_attached()
        expect(page.get_by_role("link", name="The figure")).to_be_visible()


def test_two_servers_each_have_their_own_figures(window: Page, server: str) -> None:
    with serving_in_thread() as other:
        other.wait_until_ready()
        body = (
            f'{script(server)}<grad-loupe op="exp" id="one"></grad-loupe>'
            f'{script(other.url)}<grad-loupe op="double" id="two"></grad-loupe>'
            f'<grad-loupe op="cube" id="three" data-origin="{server}"></grad-loupe>'
        )
        with hosting(server, other.url) as host, visiting(window, host, body) as page:
            for selector, address in (("#one", "/ops/exp"), ("#two", "/ops/double"), ("#three", "/ops/cube")):
                page.locator(selector).scroll_into_view_if_needed()
                shows(page, address, selector)
            sources = page.locator("iframe").evaluate_all("frames => frames.map(each => each.src)")
            assert [each.split("/embed/")[0] for each in sources] == [server, other.url, server]
            page.locator("#two").evaluate("e => { e.state = {stop: 1} }")
            shows(page, "/ops/double?stop=1", "#two")
            shows(page, "/ops/exp", "#one")


def test_out_of_sight_it_asks_for_nothing(window: Page, server: str, host: Host) -> None:
    far = f'{600 * "<br>"}{script(server)}<grad-loupe op="exp"></grad-loupe>'
    with asked(window) as addresses, visiting(window, host, far) as page:
        expect(page.locator("iframe")).to_have_attribute("src", f"{server}/embed/exp")
        assert [url for url in addresses if "/embed/" in url] == []
        page.locator("grad-loupe").scroll_into_view_if_needed()
        shows(page, "/ops/exp")
