"""The dialog for sharing: what is chosen is what is seen, and what is copied works where it is pasted."""

import ast
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, FrameLocator, Locator, Page, expect
from support import http
from support.browser import HIDDEN, alone, enter, opened, settles, shows
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
    for part in ("verdict", "legend", "controls", "reading"):
        dialog(page).get_by_role("checkbox", name=part).press("Space")
    assert "hide=title,verdict,legend,controls,reading" in said(page)
    choose(page, "dark")
    expect(sight(page).locator("html")).to_have_css("background-color", "rgb(22, 23, 26)")
    assert page.evaluate("() => history.length") == before  # the way back is as it was


@pytest.mark.parametrize("place", PLACES)
def test_every_snippet_names_the_figure_and_this_site(snippets: dict[str, str], server: str, place: str) -> None:
    text = snippets[place]
    if place == "Web component":
        assert 'op="clamp_with_grad" min="-2" grad_output="-1" hide="source"' in text
    elif place == "oEmbed":
        assert http.get(text).json()["title"] == "Clamp with grad"
    else:
        assert re.search(rf"{server}/(embed|ops)/clamp_with_grad", text)
        assert "min=-2" in text
    for address in re.findall(rf'{server}/[^\s"<>)]+', text):
        assert http.get(address.replace("&amp;", "&")).status_code == 200, address


@pytest.mark.parametrize("place", ["HTML", "MkDocs", "reveal.js", "Moodle, Canvas"])
def test_the_frame_is_valid_and_nothing_but_a_frame(snippets: dict[str, str], server: str, place: str) -> None:
    tags = Tags(snippets[place])
    frame = tags.only("iframe")
    assert int(frame["height"] or 0) > 200
    assert frame["data-src" if place == "reveal.js" else "src"] == f"{server}{EMBED}&height={frame['height']}"
    assert frame["title"] == "Clamp with grad, a live figure"
    assert frame["allow"] == "local-network-access"  # the server is beside its reader
    assert {tag for tag, _ in tags.found} <= {"iframe", "section", "p"}


def test_a_picture_links_to_the_figure_in_markdown(snippets: dict[str, str], server: str) -> None:
    found = re.fullmatch(r"\[!\[(.+?)\]\((\S+?)\)\]\((\S+?)\)", snippets["Markdown"])
    assert found.groups() == ("Clamp with grad", f"{server}/ops/clamp_with_grad.svg?{QUERY}", server + SHARED)


def test_python_reads_the_cell_of_jupyter(snippets: dict[str, str], server: str) -> None:
    _, call = ast.parse(snippets["Jupyter"]).body
    assert isinstance(call, ast.Expr)
    assert isinstance(call.value, ast.Call)
    sizes = {each.arg: ast.literal_eval(each.value) for each in call.value.keywords}
    assert ast.literal_eval(call.value.args[0]) == f"{server}{EMBED}&height={sizes['height']}"
    assert sizes["width"] == "100%"
    assert sizes["height"] > 200


def test_books_get_the_frame_for_the_screen_and_the_picture_for_paper(snippets: dict[str, str], server: str) -> None:
    picture = f"{server}/ops/clamp_with_grad.png?{QUERY}"
    sphinx = snippets["Sphinx"].splitlines()
    assert sphinx[:3] == [".. raw:: html", "", f"   {snippets['HTML']}"]
    assert sphinx[4:7] == [".. only:: not html", "", f"   .. image:: {picture}"]
    myst = snippets["MyST"]
    assert myst.startswith("```{raw} html\n<iframe ")
    assert f"```{{only}} not html\n[![Clamp with grad]({picture})]({server}{SHARED})\n```" in myst
    quarto = snippets["Quarto"]
    assert '::: {.content-visible when-format="html"}\n```{=html}\n<iframe ' in quarto
    assert f'::: {{.content-visible unless-format="html"}}\n[![Clamp with grad]({picture})]' in quarto


def test_the_element_works_where_it_is_pasted(snippets: dict[str, str], browser: Browser, host: Host) -> None:
    text = snippets["Web component"]
    tag = Tags(text).only("grad-loupe")
    assert (tag["hide"], tag["allow"]) == ("source", "local-network-access")
    with visiting(browser, host, text) as elsewhere:
        inner = elsewhere.frame_locator("iframe").locator("html")
        expect(inner).to_have_attribute("data-ready", SHARED, timeout=20_000)
        expect(elsewhere.locator("grad-loupe iframe")).to_have_attribute("allow", "local-network-access")
    with visiting(browser, host, text.replace(' width="100%"', ""), java_script_enabled=False) as elsewhere:
        picture = elsewhere.get_by_role("link").get_by_role("img", name="Clamp with grad")
        expect(picture).to_be_visible()
        expect(picture).not_to_have_js_property("naturalWidth", 0)


@pytest.mark.nightly
def test_a_lesson_is_shared_with_the_same_dialog(page: Page, browser: Browser, host: Host, server: str) -> None:
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
    pasted = snippet(page, "HTML").replace('width="100%"', 'width="320"') + snippet(page, "Web component")
    dialog(page).get_by_role("button", name="Copy").press("ArrowRight")  # turns no page
    expect(dialog(page)).to_be_visible()
    with visiting(browser, host, pasted) as elsewhere:
        for frame_of in (elsewhere.locator("iframe").first, elsewhere.locator("grad-loupe iframe")):
            frame_of.scroll_into_view_if_needed()
            lesson = frame_of.content_frame
            expect(lesson.locator("html")).to_have_attribute("data-ready", "/ops/incorrect_clipped_relu?clip=1.5")
            settles(lambda lesson=lesson: lesson.locator("html").evaluate(HIDDEN), [0, 0])


def test_what_is_chosen_is_in_every_text_and_what_is_open_below_is_in_none(page: Page, server: str) -> None:
    sharing(page, f"{SHARED}&view=surface&wrt2=max")
    choose(page, "dark")
    address = snippet(page, "WordPress")
    assert address == f"{server}{SHARED}&theme=dark&hide=source"
    assert parse_qs(urlsplit(snippet(page, "oEmbed")).query) == {"format": ["json"], "url": [address]}
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


@pytest.mark.parametrize("name", ["SANDBOX", "HTML"])
def test_the_element_and_the_snippets_agree_on_what_both_must_say(name: str) -> None:
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


def test_a_file_tells_its_size_before_it_is_fetched(page: Page) -> None:
    sharing(page)
    choose(page, "Offline file")
    weight = dialog(page).locator(".weight [role=status]")
    expect(weight).to_have_text(re.compile(r"^\d+ sections, [\d.]+ [kM]B$"))
    before = weight.inner_text()
    dialog(page).get_by_role("checkbox", name="grad_output").check()
    dialog(page).get_by_role("spinbutton", name="Values of grad_output").fill("3")
    expect(weight).to_have_text(re.compile(f"^(?!{re.escape(before)}$).*sections, "))
    link = dialog(page).get_by_role("link", name="Download clamp_with_grad.html")
    choose(page, "dark")
    dialog(page).get_by_role("checkbox", name="verdict").uncheck()
    chosen = "sliders=min:9,grad_output:3&theme=dark&hide=verdict,source"
    expect(link).to_have_attribute("href", f"/ops/clamp_with_grad.html?{QUERY}&{chosen}")
    for name in ("min", "max", "grad_output"):
        dialog(page).get_by_role("checkbox", name=name).check()
        dialog(page).get_by_role("spinbutton", name=f"Values of {name}").fill("41")
    expect(weight).to_contain_text("at most")
    expect(link).to_be_hidden()
    with page.expect_download() as download:
        for name in ("max", "grad_output"):
            dialog(page).get_by_role("checkbox", name=name).uncheck()
        dialog(page).get_by_role("spinbutton", name="Values of min").fill("3")
        expect(weight).to_have_text(re.compile("section"))
        link.click()
    assert b"<!doctype html>" in download.value.path().read_bytes()[:200].lower()


def test_copying_says_so_and_copies(browser: Browser, server: str) -> None:
    with alone(browser, server, permissions=["clipboard-read", "clipboard-write"]) as page:
        sharing(page)
        settled(page)
        dialog(page).get_by_role("button", name="Copy").press("Enter")
        expect(dialog(page).get_by_role("status").last).to_have_text("Copied")
        assert page.evaluate("() => navigator.clipboard.readText()") == said(page)


def test_the_keyboard_alone_shares_and_nothing_is_fetched_before_it_is_wanted(page: Page) -> None:
    opened(page, SHARED)
    fetched = page.evaluate("() => performance.getEntriesByType('resource').map(({name}) => name.split('/').at(-1))")
    assert {"dialog.js", "snippets.js", "share.css"} & set(fetched) == set()
    button = page.get_by_role("button", name="Share")
    button.focus()
    page.keyboard.press("Enter")
    expect(dialog(page).get_by_role("radio", name="Live figure")).to_be_focused()
    reached = []
    for _ in range(30):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("() => document.activeElement.name || document.activeElement.className"))
    order = ["show", "theme", "width", "height", "place", "copy"]
    assert list(dict.fromkeys(each for each in reached if each in order)) == order
    dialog(page).get_by_role("radio", name="HTML").focus()
    page.keyboard.press("ArrowRight")
    assert "<grad-loupe" in said(page)
    page.keyboard.press("Escape")
    expect(dialog(page)).to_be_hidden()
    expect(button).to_be_focused()
    expect(page.locator("iframe")).to_have_count(0)
