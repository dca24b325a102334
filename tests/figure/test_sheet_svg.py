"""The picture on a sheet of its own: well formed, legible at every size, in every theme, whatever it has to say."""

import base64
import re
from itertools import combinations
from typing import Any
from xml.etree import ElementTree

import pytest
from functions.seeds import SEEDS
from playwright.sync_api import Browser, Page
from support.sampling import sampled
from support.scenes import MADE_UP, address, blank, document, frame, made_up
from support.servers import HERE

from gradloupe.server.figure.palette import DARK_PALETTE, FONT_FAMILIES, LIGHT_PALETTE
from gradloupe.server.figure.sheet_svg import figure_svg
from gradloupe.server.schema.verdict_words import verdict_name

STATIC = HERE / "static"
SIZES = [
    (200, 150),
    (300, 200),
    (420, 300),
    (640, 400),
    (1200, 630),
    (1200, 900),
    (2400, 2400),
    (2400, 150),
    (200, 2400),
]
HOSTILE = "<script>alert('1')</script> & \"]]>\x00\x07\ud800 ={{7*7}} " + "x" * 300
NAME = "{http://www.w3.org/2000/svg}"
BOXES = """() => [...document.querySelectorAll('text')].map(e => [e.textContent, e.getBBox()])
.map(([words, { x, y, width, height }]) => [words, { x, y, width, height }])"""


def picture(answer: dict[str, Any], **shown: Any) -> ElementTree.Element:
    return parsed(figure_svg(frame(answer), address(**shown)))


def parsed(text: bytes) -> ElementTree.Element:
    return ElementTree.fromstring(text)  # noqa: S314 - our own


def said(root: ElementTree.Element) -> str:
    return " ".join("".join(each.itertext()) for each in root.iter(f"{NAME}text"))


@pytest.mark.parametrize("name", sampled(SEEDS))
def test_every_op_has_a_picture_that_says_what_it_shows(server: str, name: str) -> None:
    answer = document(server, f"/ops/{name}.json")
    root = picture(answer, theme="light")
    overlaid = picture(answer, layout="overlaid", theme="light")
    assert [len(list(each.iter(f"{NAME}svg"))) for each in (root, overlaid)] == [3, 2]  # the sheet, and its panels
    title, description = root.find(f"{NAME}title"), root.find(f"{NAME}desc")
    assert title is not None
    name = verdict_name(answer["verdict"]["word"], answer["claim"])
    assert title.text == f"{answer['title']}: {name}"
    assert description is not None
    assert answer["wrt"] in (description.text or "")
    for each in (root, overlaid):
        assert [
            words for words in (answer["title"], name[1:], "forward", "analytical") if words not in said(each)
        ] == []


@pytest.mark.parametrize("name", MADE_UP)
@pytest.mark.parametrize("layout", ["stacked", "overlaid"])
def test_what_cannot_be_drawn_is_left_out(name: str, layout: str) -> None:
    text = figure_svg(frame(MADE_UP[name]()), address(layout))
    parsed(text)
    assert not re.search("nan|inf", re.sub("<(text|desc|title).*?</", "", text.decode()))


def test_a_function_that_failed_is_told_with_its_reason() -> None:
    assert "forward raised ValueError: no" in said(picture(blank()))


@pytest.mark.parametrize("name", ["title", "of", "wrt", "sentence", "word", "dtype"])
def test_what_a_stranger_wrote_stays_text(name: str) -> None:
    for size in ((None, None), (200, 150)):
        root = picture(made_up(**{name: HOSTILE}), width=size[0], height=size[1])
        assert {each.tag.removeprefix(NAME) for each in root.iter()} <= {
            *("svg", "title", "desc", "style", "rect", "text", "tspan", "path", "g", "circle")
        }
    assert "<script>alert('1')</script> & \"]]>\ufffd\ufffd\ufffd" in "".join(
        picture(made_up(title=HOSTILE)).itertext()
    )


def test_a_long_message_is_cut_and_no_burden() -> None:
    failure = {"phase": "forward", "kind": "E", "line": None, "sentence": "a. " * 50_000 + "b" * 100_000}
    assert len(figure_svg(frame(made_up(failure=failure, word="failed")), address())) < 20_000


def test_it_asks_for_nothing_from_anywhere() -> None:
    for name in MADE_UP:
        text = (
            figure_svg(frame(MADE_UP[name]()), address(theme="auto")).decode().replace("http://www.w3.org/2000/svg", "")
        )
        assert not re.search(r"https?:|href|url\(|@import|<script|\son\w+=|style=|var\(", text)


def test_the_colours_are_those_of_the_page() -> None:
    # The paper of a framed figure may be another one.
    sheet = re.sub(r"var\(--sheet, (#\w+)\)", r"\1", (STATIC / "css" / "base.css").read_text())
    for name, light in LIGHT_PALETTE.items():
        assert f"--{name}: light-dark({light}, {DARK_PALETTE[name]});" in sheet


def test_a_theme_is_one_of_two_palettes_and_auto_is_both() -> None:
    light, dark, auto = (
        figure_svg(frame(made_up()), address(theme=theme)).decode() for theme in ("light", "dark", "auto")
    )
    assert LIGHT_PALETTE["paper"] in light
    assert LIGHT_PALETTE["ink"] not in dark
    assert DARK_PALETTE["ink"] not in light
    assert "prefers-color-scheme:dark" in auto
    assert re.sub("<style>.*</style>", "", auto) == light
    assert light.replace(LIGHT_PALETTE["ink"], DARK_PALETTE["ink"]) != dark


def test_auto_follows_the_reader(browser: Browser) -> None:
    with browser.new_context(color_scheme="light") as context:
        page = context.new_page()
        page.set_content(figure_svg(frame(made_up()), address(theme="auto")).decode())
        ink = "() => getComputedStyle(document.querySelector('text')).fill"
        assert page.evaluate(ink) == "rgb(29, 29, 31)"
        page.emulate_media(color_scheme="dark")
        assert page.evaluate(ink) == "rgb(236, 236, 234)"


@pytest.mark.parametrize(
    ("given", "size"),
    [
        ({}, (1200, 900)),
        ({"width": 600}, (600, 450)),
        ({"height": 300}, (400, 300)),
        ({"width": 200, "height": 2400}, (200, 2400)),
        ({"width": 200}, (200, 150)),
        ({"height": 2400}, (2400, 2400)),
    ],
)
def test_it_has_the_size_that_was_asked_for(given: dict[str, int], size: tuple[int, int]) -> None:
    root = picture(made_up(), **given)
    assert (root.get("width"), root.get("height")) == tuple(map(str, size))
    assert root.get("viewBox") == f"0 0 {size[0]} {size[1]}"


@pytest.mark.parametrize(
    ("part", "words"),
    [("title", "Parabola"), ("verdict", "They agree."), ("legend", "by backward"), ("controls", "float64")],
)
def test_what_is_hidden_is_not_written(part: str, words: str) -> None:
    assert words in said(picture(made_up()))
    assert words not in said(picture(made_up(), hide=(part,)))


def test_a_small_picture_says_less() -> None:
    sentences = made_up(sentence=" ".join(f"This is sentence {i} of four, as long as they are." for i in range(4)))
    large, small, tiny = (said(picture(sentences, width=width)) for width in (1200, 300, 200))
    assert "sentence 3" in large
    assert "sentence 3" not in small
    assert "Matches." in small
    assert "Parabola" in tiny
    assert "analytical" not in tiny


def set_in_its_own_faces(page: Page, text: str) -> list[tuple[str, dict[str, float]]]:
    """The texts and their boxes, as they are in pixels, where the faces are the widest."""
    faces = ""
    for family, file in (("DejaVu Sans", "DejaVuSans.ttf"), ("DejaVu Sans Mono", "DejaVuSansMono.ttf")):
        data = base64.b64encode((HERE / "server" / "png" / "fonts" / file).read_bytes()).decode()
        faces += f"@font-face{{font-family:'{family}';src:url(data:font/ttf;base64,{data})}}"
    text = text.replace(FONT_FAMILIES["text"].replace("'", "&#39;"), "DejaVu Sans")
    text = text.replace(FONT_FAMILIES["code"].replace("'", "&#39;"), "DejaVu Sans Mono")
    page.set_content(f"<style>{faces}</style>{text}")
    page.evaluate("() => Promise.all([...document.fonts].map((face) => face.load())).then(() => true)")
    found: list[tuple[str, dict[str, float]]] = page.evaluate(BOXES)
    return found


@pytest.mark.parametrize("layout", ["stacked", "overlaid"])
@pytest.mark.parametrize("size", sampled(SIZES, SIZES[::4]))
def test_no_word_leaves_the_sheet_or_covers_another(
    browser: Browser, server: str, size: tuple[int, int], layout: str
) -> None:
    width, height = size
    page = browser.new_page()
    for name in ("clamp_with_grad", "round_straight_through", "exp"):
        query = "?start=0.99999&stop=1.00001&grad_output=1e200" if name == "exp" else ""
        answer = frame(document(server, f"/ops/{name}.json{query}"))
        text = figure_svg(answer, address(layout, width=width, height=height, theme="light")).decode()
        boxes = set_in_its_own_faces(page, text)
        for words, box in boxes:
            assert box["x"] >= 0, words
            assert box["y"] >= 0, words
            assert box["x"] + box["width"] <= width, words
            assert box["y"] + box["height"] <= height, words
        assert [(one[0], other[0]) for one, other in combinations(boxes, 2) if covers(one[1], other[1])] == []
    page.close()


def covers(one: dict[str, float], other: dict[str, float]) -> bool:
    """Whether two boxes of text overlap by more than the air in them."""
    across = min(one["x"] + one["width"], other["x"] + other["width"]) - max(one["x"], other["x"])
    down = min(one["y"] + one["height"], other["y"] + other["height"]) - max(one["y"], other["y"])
    return across > 0 and down > 0.35 * min(one["height"], other["height"])
