"""The dialog for sharing: what is chosen is what is seen, and what is copied works where it is pasted."""

import ast
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import FrameLocator, Locator, Page, expect
from support import http
from support.browser import enter, opened, shows
from support.embedding_site import SHARED, Host, fitted, visiting
from support.servers import HERE
from support.tags import Tags

QUERY = SHARED.partition("?")[2]
EMBED = f"/embed/clamp_with_grad?{QUERY}&hide=source"
PLACES = (
    *("HTML", "Web component", "WordPress", "oEmbed", "Markdown", "Sphinx", "MyST", "MkDocs", "Quarto", "reveal.js"),
    *("Moodle, Canvas", "Jupyter"),
)
STATIC = HERE / "static"


def dialog(page: Page) -> Locator:
    return page.get_by_role("dialog")


def sharing(page: Page, address: str = SHARED) -> Locator:
    """The dialog, opened on the page of an op."""
    opened(page, address)
    page.get_by_role("button", name="Share").click()
    expect(dialog(page)).to_be_visible()
    return dialog(page)


def sight(page: Page) -> FrameLocator:
    return page.frame_locator(".preview iframe:not(.coming)")


def choose(page: Page, word: str) -> None:
    """Choose one of the words of the dialog, as the keyboard does."""
    dialog(page).get_by_role("radio", name=word, exact=True).press("Space")


def settled(page: Page) -> None:
    """Waits until the frame of the preview is drawn and has the height that it has told."""
    expect(sight(page).locator("html[data-ready]")).to_be_attached()
    fitted(page)


def said(page: Page) -> str:
    return dialog(page).get_by_role("textbox", name="What to paste").input_value()


def snippet(page: Page, place: str) -> str:
    choose(page, place)
    return said(page)


def test_the_preview_is_the_figure_that_others_will_see_and_follows_what_is_left_out(page: Page) -> None:
    opened(page, "/ops/clamp_with_grad?grad_output=-1")
    enter(page.locator("#field-min"), "-2")  # it speaks of what is on the page now
    shows(page, SHARED)
    page.get_by_role("button", name="Share").click()
    expect(sight(page).locator("html")).to_have_attribute("data-ready", SHARED)
    assert urlsplit(dialog(page).locator("iframe").get_attribute("src") or "").path == "/embed/clamp_with_grad"
    settled(page)
    before = page.evaluate("() => history.length")
    heading = sight(page).locator("#title")
    expect(heading).to_be_visible()
    expect(sight(page).locator(".source")).to_have_count(0)
    dialog(page).get_by_role("checkbox", name="title").press("Space")
    expect(heading).to_have_count(0)
    expect(sight(page).locator("#verdict")).to_be_visible()
    dialog(page).get_by_role("checkbox", name="source").press("Space")
    expect(sight(page).get_by_text("Source")).to_be_visible()
    dialog(page).get_by_role("checkbox", name="reading").press("Space")
    dialog(page).get_by_role("checkbox", name="numerical").press("Space")
    assert "hide=title,reading,numerical" in said(page)
    choose(page, "dark")
    expect(sight(page).locator("html")).to_have_css("background-color", "rgb(22, 23, 26)")
    assert page.evaluate("() => history.length") == before  # the way back is as it was


def test_every_snippet_names_the_figure_and_this_site_and_no_address_in_it_is_dead(
    snippets: dict[str, str], server: str
) -> None:
    assert [*snippets] == [*PLACES]
    for place, text in snippets.items():
        if place == "Web component":
            assert 'op="clamp_with_grad" min="-2" grad_output="-1" hide="source"' in text
        elif place == "oEmbed":
            assert http.get(text).json()["title"] == "Clamp with grad"
        else:
            assert re.search(rf"{server}/(embed|ops)/clamp_with_grad\S*min=-2", text)
        for address in re.findall(rf'{server}/[^\s"<>)]+', text):
            assert http.get(address.replace("&amp;", "&")).status_code == 200, address


def test_a_snippet_is_a_frame_and_nothing_else_a_picture_that_links_or_a_cell_of_python(
    snippets: dict[str, str], server: str
) -> None:
    for place in ("HTML", "MkDocs", "reveal.js", "Moodle, Canvas"):
        tags = Tags(snippets[place])
        frame = tags.only("iframe")
        assert int(frame["height"] or 0) > 200
        assert frame["data-src" if place == "reveal.js" else "src"] == f"{server}{EMBED}&height={frame['height']}"
        assert frame["title"] == "Clamp with grad, a live figure"
        assert frame["allow"] == "local-network-access"  # the server is beside its reader
        assert {tag for tag, _ in tags.found} <= {"iframe", "section", "p"}
    picture = f"[![Clamp with grad]({server}/ops/clamp_with_grad.svg?{QUERY})]({server}{SHARED})"
    assert snippets["Markdown"] == picture
    _, call = ast.parse(snippets["Jupyter"]).body
    shown = ast.unparse(call)
    assert re.search(rf"IFrame\('{re.escape(server + EMBED)}&height=(\d+)', width='100%', height=\1\)", shown)


def test_books_get_the_frame_for_the_screen_and_the_picture_for_paper(snippets: dict[str, str], server: str) -> None:
    picture = f"{server}/ops/clamp_with_grad.png?{QUERY}"
    sphinx = snippets["Sphinx"].splitlines()
    assert sphinx[:3] == [".. raw:: html", "", f"   {snippets['HTML']}"]
    assert sphinx[4:7] == [".. only:: not html", "", f"   .. image:: {picture}"]
    assert snippets["MyST"].startswith("```{raw} html\n<iframe ")
    assert f"```{{only}} not html\n[![Clamp with grad]({picture})]({server}{SHARED})\n```" in snippets["MyST"]
    assert '::: {.content-visible when-format="html"}\n```{=html}\n<iframe ' in snippets["Quarto"]
    assert f'::: {{.content-visible unless-format="html"}}\n[![Clamp with grad]({picture})]' in snippets["Quarto"]


def test_the_element_works_where_it_is_pasted(
    snippets: dict[str, str], window: Page, unscripted: Page, host: Host
) -> None:
    text = snippets["Web component"]
    tag = Tags(text).only("grad-loupe")
    assert (tag["hide"], tag["allow"]) == ("source", "local-network-access")
    with visiting(window, host, text) as page:
        expect(page.frame_locator("iframe").locator("html")).to_have_attribute("data-ready", SHARED)
        expect(page.locator("grad-loupe iframe")).to_have_attribute("allow", "local-network-access")
    with visiting(unscripted, host, text.replace(' width="100%"', "")) as page:
        picture = page.get_by_role("link").get_by_role("img", name="Clamp with grad")
        expect(picture).to_be_visible()
        expect(picture).not_to_have_js_property("naturalWidth", 0)


@pytest.mark.nightly
def test_a_lesson_is_shared_with_the_same_dialog(page: Page, server: str) -> None:
    page.goto("/lessons/gradcheck")
    shows(page, "/ops/incorrect_clipped_relu?clip=1.5")
    page.get_by_role("button", name="Share").click()
    settled(page)
    places = [each.get_attribute("value") for each in dialog(page).locator("[name=place]").all()]
    assert places == [each for each in PLACES if each not in ("WordPress", "oEmbed")]
    frame = Tags(snippet(page, "HTML")).only("iframe")
    assert frame["src"] == f"{server}/embed/lessons/gradcheck?clip=1.5&height={frame['height']}"
    assert int(frame["height"] or 0) >= 920  # which the documents name for all columns
    picture = f"{server}/ops/incorrect_clipped_relu.svg?clip=1.5"
    assert snippet(page, "Markdown").endswith(f"]({picture})]({server}/lessons/gradcheck?clip=1.5)")
    dialog(page).get_by_role("button", name="Copy").press("ArrowRight")  # turns no page
    expect(dialog(page)).to_be_visible()


def test_what_is_chosen_is_in_every_text_and_what_is_open_below_is_in_none(page: Page, server: str) -> None:
    sharing(page, f"{SHARED}&view=surface&wrt2=max")
    choose(page, "dark")
    address = snippet(page, "WordPress")
    assert address == f"{server}{SHARED}&theme=dark&hide=source"
    assert parse_qs(urlsplit(snippet(page, "oEmbed")).query) == {"url": [address]}
    width, height = (dialog(page).get_by_role("spinbutton", name=f"{each} in pixels") for each in ("width", "height"))
    width.fill("400")
    height.fill("500")
    frame = Tags(snippet(page, "HTML")).only("iframe")
    assert (frame["width"], frame["height"]) == ("400", "500")
    assert frame["src"] == f"{server}/embed/clamp_with_grad?{QUERY}&theme=dark&hide=source&height=500"
    expect(dialog(page).locator("iframe:not(.coming)")).to_have_css("width", "400px")
    width.fill("7")
    assert Tags(said(page)).only("iframe")["width"] == "100%"
    expect(width).to_have_attribute("aria-invalid", "true")
    refusal = dialog(page).locator("output")
    expect(refusal).to_have_text("width in pixels is a whole number from 200 to 2400.")
    dialog(page).get_by_role("radio", name="Offline file", exact=True).press("Space")  # which has no width
    expect(refusal).to_be_empty()
    dialog(page).get_by_role("radio", name="Live figure", exact=True).press("Space")
    expect(refusal).not_to_be_empty()
    dialog(page).get_by_role("checkbox", name="verdict").press("Space")
    pictures = {"Web component": "svg", "Markdown": "svg", "Sphinx": "png", "MyST": "png", "Quarto": "png"}
    for place, ending in pictures.items():
        text = snippet(page, place).replace("&amp;", "&")
        (query,) = re.findall(rf"clamp_with_grad\.{ending}\?([^\s\")]+)", text)
        theme = "&theme=dark" if ending == "svg" else ""  # a picture for paper has none
        assert query == f"{QUERY}{theme}&hide=verdict", place
        assert "wrt2" not in text


TOO_MUCH = [["X", "1"], ["title", 'a"<&>'], ["weight", "1,2;3"], ["wrt", "weight[0,1]"], ["mode", "it's (so)"]]


def test_whatever_an_op_is_called_and_takes_the_snippets_hold(page: Page) -> None:
    page.goto("/ops/exp")
    texts = page.evaluate(
        """async (said) => {
        const there = document.querySelector("[type=module]").src.replace("pages/op.js", "share/snippets.js");
        const { PLACES } = await import(there);
        const title = 'A "quoted" <op> & [its] *friends*';
        const dress = { theme: "", hide: "" };
        const figure = { base: "http://localhost:1", op: "x", title, said, dress, height: 400 };
        return Object.fromEntries(PLACES.map(([name, , write]) => [name, write(figure)]));
        }""",
        TOO_MUCH,
    )
    frame = Tags(texts["HTML"]).only("iframe")
    assert frame["title"] == 'A "quoted" <op> & [its] *friends*, a live figure'
    query = urlsplit(frame["src"] or "").query
    assert parse_qs(query) == {name: [text] for name, text in [*TOO_MUCH, ["height", "400"]]}
    assert not re.search(r"['\"()<>\s\[\]]", query)
    tag = Tags(texts["Web component"]).only("grad-loupe")
    assert parse_qs(tag["data-query"] or "") == {"X": ["1"], "title": ['a"<&>']}
    assert (tag["weight"], tag["wrt"], tag["mode"]) == ("1,2;3", "weight[0,1]", "it's (so)")
    assert texts["Markdown"].startswith(r'[![A "quoted" \<op\> \& \[its\] \*friends\*](http://localhost:1/ops/x.svg?')
    ast.parse(texts["Jupyter"])


def test_the_element_and_the_snippets_agree_on_what_both_must_say() -> None:
    for name in ("SANDBOX", "HTML"):
        texts = [(STATIC / each).read_text() for each in ("js/share/snippets.js", "element/grad-loupe.js")]
        (first,), (second,) = (re.findall(rf"^(?:export )?const {name} = (.+)$", text, re.MULTILINE) for text in texts)
        assert first == second


def test_a_picture_is_shown_addressed_and_taken_home(page: Page, server: str) -> None:
    sharing(page)
    choose(page, "Picture")
    shown = dialog(page).locator(".preview img:not(.coming)")
    expect(shown).to_be_visible()
    choose(page, "PNG")
    choose(page, "dark")
    dialog(page).get_by_role("spinbutton", name="width in pixels").fill("800")
    address = f"/ops/clamp_with_grad.png?{QUERY}&theme=dark&width=800"
    expect(shown).to_have_attribute("src", address)
    assert said(page) == server + address
    with page.expect_download() as download:
        dialog(page).get_by_role("link", name="Download clamp_with_grad.png").click()
    assert download.value.suggested_filename == "clamp_with_grad.png"
    assert download.value.path().read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_a_server_on_this_machine_says_that_its_addresses_work_here_alone_and_how_to_publish(page: Page) -> None:
    sharing(page)
    said = dialog(page).locator(".reach")
    expect(said).to_contain_text("on this machine alone")
    expect(said.locator("code")).to_have_text("gradloupe --publish site/")


def test_a_file_tells_its_sections_before_it_is_fetched(page: Page) -> None:
    sharing(page)
    choose(page, "Offline file")
    weight = dialog(page).locator(".weight [role=status]")
    expect(weight).to_have_text("9 sections")
    values(page, 3, "grad_output")
    expect(weight).to_have_text("27 sections")
    link = dialog(page).get_by_role("link", name="Download clamp_with_grad.html")
    choose(page, "dark")
    dialog(page).get_by_role("checkbox", name="verdict").uncheck()
    chosen = "sliders=min:9,grad_output:3&theme=dark&hide=verdict,source"
    expect(link).to_have_attribute("href", f"/ops/clamp_with_grad.html?{QUERY}&{chosen}")
    values(page, 41, "min", "max", "grad_output")
    expect(weight).to_contain_text("at most")
    expect(link).to_be_hidden()
    dialog(page).get_by_role("checkbox", name="zoom").uncheck()
    expect(weight).to_have_text("1 section")
    expect(link).to_have_attribute("href", f"/ops/clamp_with_grad.html?{QUERY}&theme=dark&hide=verdict,source,zoom")


def values(page: Page, number: int, *names: str) -> None:
    """So many of each of these are to be in the file."""
    for name in names:
        dialog(page).get_by_role("checkbox", name=name).check()
        dialog(page).get_by_role("spinbutton", name=f"Values of {name}").fill(str(number))


def test_the_keyboard_alone_shares_and_copies_and_nothing_is_fetched_before_it_is_wanted(page: Page) -> None:
    opened(page, SHARED)
    fetched = page.evaluate("() => performance.getEntriesByType('resource').map(({name}) => name.split('/').at(-1))")
    assert {"dialog.js", "snippets.js", "share.css"} & set(fetched) == set()
    button = page.get_by_role("button", name="Share")
    button.press("Enter")
    expect(dialog(page).get_by_role("radio", name="Live figure")).to_be_focused()
    settled(page)
    reached = []
    for _ in range(30):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("() => document.activeElement.name || document.activeElement.className"))
    order = ["show", "theme", "width", "height", "place", "copy"]
    assert list(dict.fromkeys(each for each in reached if each in order)) == order
    dialog(page).get_by_role("button", name="Copy").press("Enter")
    expect(dialog(page).get_by_role("status").last).to_have_text("Copied")
    assert page.evaluate("() => navigator.clipboard.readText()") == said(page)
    dialog(page).get_by_role("radio", name="HTML").press("ArrowRight")
    assert "<grad-loupe" in said(page)
    page.keyboard.press("Escape")
    expect(dialog(page)).to_be_hidden()
    expect(button).to_be_focused()
    expect(page.locator("iframe")).to_have_count(0)
