"""A published site as its readers meet it: below a path of a host that has nothing but files, in pages of others."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Frame, Locator, Page, expect
from support.axe import violations
from support.browser import alone, curves, resized, settles, visitor, watched
from support.embedding_site import hosting
from support.exports import words_astray
from support.published_site import Host, hosting_site

FIT = """() => { const { scrollWidth } = document.documentElement, { height } = document.body.getBoundingClientRect();
return [scrollWidth - innerWidth, innerHeight - Math.ceil(height)] }"""  # too wide, and higher than needed


@pytest.fixture
def host(site: Path) -> Iterator[Host]:
    with hosting_site(site) as host:
        yield host


def figure_in(page: Page, name: str) -> Frame:
    """The frame of a figure, once it is drawn."""
    frame = page.locator(f'iframe[src*="{name}.html"]').element_handle().content_frame()
    assert frame is not None
    frame.wait_for_selector("html[data-ready]")
    return frame


def dragged(page: Page, within: Locator, start: float, stop: float) -> None:
    """The mouse is moved with its button held, from one share of the width of an element in a frame to another."""
    within.hover()
    box = within.bounding_box()
    assert box is not None
    height = box["y"] + min(20.0, box["height"] / 2)
    page.mouse.move(box["x"] + start * box["width"], height)
    page.mouse.down()
    page.mouse.move(box["x"] + stop * box["width"], height, steps=5)
    page.mouse.up()


def test_a_reader_follows_links_searches_drags_and_zooms(browser: Browser, host: Host) -> None:
    with alone(browser, host.url) as page:
        page.goto(f"{host.url}index.html")
        page.get_by_role("searchbox").fill("knee soft")
        expect(page.locator("#found")).to_have_text("1 Function")
        page.get_by_role("searchbox").press("Enter")
        expect(page).to_have_url(f"{host.url}Swish/index.html")
        figure = figure_in(page, "Swish")
        assert not {"gradloupe/plotly-basic.min.js", "gradloupe/plotly.min.js", "Swish/sections.js"} & host.sent.keys()
        assert sum(host.sent.values()) < 70_000  # a picture that is read: it draws once it is touched
        dragged(page, figure.locator("[data-control=beta] .slider"), 0.3, 0.99)
        figure.wait_for_selector("html[data-ready='/ops/Swish?beta=5']")
        high = curves(figure)["forward"]
        assert high[1][-1] == pytest.approx(3 / (1 + 2.718281828 ** (-5 * 3)), rel=1e-4)
        figure.wait_for_selector(".js-plotly-plot")
        dragged(page, figure.locator("#plot .nsewdrag").first, 0.5, 0.75)
        settles(lambda: [round(curves(figure)["forward"][0][end], 1) for end in (0, -1)], [0.0, 1.5])
        figure.locator("#unzoom").click()
        figure.wait_for_selector("html[data-ready='/ops/Swish?beta=5']")
        page.get_by_role("link", name="Lessons").click()
        page.get_by_role("link", name="How much leaks?").click()
        lesson = figure_in(page, "leak")
        expect(lesson.locator("#unzoom")).to_be_disabled()  # it begins with a range of its own
        before = lesson.evaluate("() => document.querySelector('#still .labels.lower').textContent")
        lesson.locator("[data-control=leak] .slider").press("End")
        lesson.wait_for_selector("html[data-ready*='leak=3']")
        ticks = "() => document.querySelector('#plot').layout.yaxis2.ticktext.join('')"
        assert lesson.evaluate(ticks) in before  # its axes stand still
        assert violations(page) == []


def test_the_whole_of_a_first_figure_with_plotly_and_all_its_sections_is_under_half_a_megabyte(
    browser: Browser, host: Host
) -> None:
    with alone(browser, host.url) as page:
        page.goto(f"{host.url}LeakySTE/index.html")
        figure = figure_in(page, "LeakySTE")
        figure.locator("#canvas").hover()
        figure.wait_for_selector(".js-plotly-plot")
        figure.locator("[data-control=leak] .slider").press("Home")
        figure.wait_for_selector("html[data-ready*='leak=']")
        if "gradloupe/plotly-basic.min.js" in host.sent:  # the light one is installed
            assert sum(host.sent.values()) < 455_000


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1440, "dark")])
def test_a_page_fits_a_phone_and_a_wide_dark_screen(browser: Browser, host: Host, width: int, scheme: str) -> None:
    with alone(browser, host.url, color_scheme=scheme) as page:
        resized(page, width, 844)
        for name in ("index", "LeakySTE/index", "Raises/index", "Unknown/index", "lessons/leak/index"):
            page.goto(f"{host.url}{name}.html")
            assert page.evaluate(FIT)[0] == 0, name
            assert violations(page) == [], name
        page.goto(f"{host.url}LeakySTE/index.html")
        figure = figure_in(page, "LeakySTE")
        figure.locator("#canvas").hover()
        figure.wait_for_selector(".js-plotly-plot")
        settles(lambda: words_astray(figure), [])
        settles(lambda: figure.evaluate(FIT), [0, 0])


def test_without_javascript_and_on_paper_a_figure_is_a_picture(browser: Browser, host: Host) -> None:
    with alone(browser, host.url, java_script_enabled=False) as page:
        page.goto(f"{host.url}Swish/index.html")
        expect(page.get_by_role("img", name="Swish", exact=True)).to_be_visible()
        page.goto(f"{host.url}Swish.html")
        expect(page.locator("#still .panel.upper .line.forward")).to_be_visible()
        expect(page.locator(".controls")).to_be_hidden()
    with alone(browser, host.url, color_scheme="dark") as page:
        page.goto(f"{host.url}Swish/index.html")
        figure = figure_in(page, "Swish")
        figure.locator("#canvas").hover()
        figure.wait_for_selector(".js-plotly-plot")
        page.emulate_media(media="print")
        expect(figure.locator("#plot .trace").first).to_be_visible()
        expect(figure.locator(".drawer")).to_be_hidden()
        assert figure.evaluate("() => getComputedStyle(document.body).color") == "rgb(29, 29, 31)"


def test_a_page_of_somebody_else_embeds_it_by_an_element_and_by_a_plain_frame(browser: Browser, host: Host) -> None:
    origin = host.url.split("/courses")[0]
    element = f'<script defer src="{host.url}grad-loupe.js"></script><grad-loupe src="{host.url}LeakySTE.html" '
    with hosting(origin) as course, visitor(browser, "") as page, watched(page, course.url, host.url):
        course.pages["/"] = (
            f'<!doctype html><html lang="en"><title>Course</title>{element}hide="verdict,numerical" theme="dark" '
            f'grad_output="-1"></grad-loupe><iframe src="{host.url}Swish.html?hide=title&amp;height=420" height="420" '
            'width="700" title="Swish"></iframe>'
        )
        page.goto(course.url)
        figure = figure_in(page, "LeakySTE")
        assert figure.get_attribute("html", "data-theme") == "dark"
        figure.wait_for_selector("html[data-ready='/ops/LeakySTE?grad_output=-1']")
        expect(figure.locator(".verdict")).to_be_hidden()
        figure.locator("#canvas").hover()
        figure.wait_for_selector(".js-plotly-plot")
        assert "numerical" not in curves(figure)
        expect(figure.locator("#reading [data-name=numerical]")).to_be_hidden()
        settles(lambda: figure.evaluate(FIT), [0, 0])
        state = page.locator("grad-loupe").evaluate("each => each.state")
        assert state["grad_output"] == "-1"
        page.locator("grad-loupe").evaluate("each => { each.state = { leak: 3 } }")
        figure.wait_for_selector("html[data-ready='/ops/LeakySTE?leak=3&grad_output=-1']")
        filled = figure_in(page, "Swish")
        assert filled.evaluate(FIT)[1] <= 0


def test_a_file_of_the_site_works_from_a_disk(browser: Browser, site: Path) -> None:
    with alone(browser, "") as page:
        page.goto((site / "LeakySTE/index.html").as_uri())
        figure = figure_in(page, "LeakySTE")
        figure.locator("[data-control=leak] .slider").press("End")
        figure.wait_for_selector("html[data-ready*='leak=3']")
        assert re.search("numerical", str(curves(figure).keys()))


def test_a_part_that_there_is_not_is_named(browser: Browser, host: Host) -> None:
    with alone(browser, host.url) as page:
        page.goto(f"{host.url}Swish.html?hide=titel")
        expect(page.locator("#trouble")).to_contain_text("hide=titel names no part of the figure")
