"""The figure for those who ask for more contrast, or whose system has colours of its own."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from support.browser import opened
from support.sampling import sampled

LINES = "() => document.querySelector('#plot').data.map(({name, line, marker}) => [name, (line ?? marker).color])"
FOCUSED = """() => { const at = document.activeElement, style = getComputedStyle(at);
const {outlineStyle, outlineWidth, outlineColor} = style;
return [at.id || at.outerHTML.slice(0, 60), outlineStyle, parseFloat(outlineWidth), outlineColor] }"""
FIGURE = ("forward", "analytical", "numerical", "surrogate")
PAGE = "/ops/clamp_with_grad"
MEDIA: dict[str, dict[str, Any]] = {
    f"{kind} {scheme}": {name: kind, "color_scheme": scheme}
    for name, kind in (("contrast", "more"), ("forced_colors", "active"))
    for scheme in ("light", "dark")
}


@pytest.fixture(params=sampled(MEDIA, ("more dark", "active light")))
def asked(page: Page, request: pytest.FixtureRequest) -> Page:
    """A page that is asked for contrast."""
    page.emulate_media(**MEDIA[request.param])
    return opened(page, PAGE)


def luminance(color: str) -> float:
    """Of a colour as the browser computes it, on the scale of WCAG."""
    parts = [float(each) for each in re.findall(r"[\d.]+", color)[:3]]
    shares = parts if color.startswith("color(") else [part / 255 for part in parts]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def computed(page: Page, selector: str, what: str) -> str:
    return str(page.locator(selector).first.evaluate(f"element => getComputedStyle(element).{what}"))


def test_every_curve_word_field_focus_and_choice_stands_out_and_no_two_curves_look_alike(asked: Page) -> None:
    paper = computed(asked, "html", "backgroundColor")
    colors = {name: color for name, color in asked.evaluate(LINES) if name in FIGURE}
    assert len(set(colors.values())) == len(colors) == 4
    if asked.evaluate("() => matchMedia('(forced-colors: active)').matches"):
        assert colors["forward"] == computed(asked, "body", "color")
    assert all(contrast(color, paper) >= 3 for color in colors.values()), (paper, colors)
    for selector in (".lede", "#keys", ".legend li", ".eyebrow", "#values summary", ".hint", "#method"):
        assert contrast(computed(asked, selector, "color"), paper) >= 7, selector
    for selector in ("#field-min", ".quick button", "#field-dtype"):
        assert computed(asked, selector, "borderBottomWidth") == "1px"
        assert contrast(computed(asked, selector, "borderBottomColor"), paper) >= 3, selector
    asked.locator("#cursor").focus()
    seen = set()
    for _ in range(24):
        asked.keyboard.press("Tab")
        name, style, width, color = asked.evaluate(FOCUSED)
        seen.add(name)
        if 'type="range"' not in name:  # whose thumb has the outline
            assert (style != "none", width >= 2, contrast(color, paper) >= 3) == (True, True, True), name
    assert {"listen", "share", "field-min"} <= seen
    asked.locator("#share").click()
    expect(asked.locator("#sharing")).to_be_visible()
    chosen = computed(asked, "#sharing .row-of-words :checked + span", "borderBottomColor")
    others = computed(asked, "#sharing .row-of-words :not(:checked) + span", "borderBottomColor")
    assert contrast(chosen, paper) >= 3
    assert others in (paper, "rgba(0, 0, 0, 0)")


def test_analytical_and_numerical_are_told_apart_without_any_colour(page: Page) -> None:
    opened(page, PAGE)
    widths = dict(page.evaluate("() => document.querySelector('#plot').data.map(t => [t.name, t.line?.width])"))
    dashes = dict(page.evaluate("() => document.querySelector('#plot').data.map(t => [t.name, t.line?.dash])"))
    assert widths["numerical"] >= 3 * widths["analytical"]
    assert dashes["surrogate"] not in (None, dashes["forward"])
    samples = page.locator(".figure .legend li:not([hidden]) .line").evaluate_all(
        "lines => lines.map(line => { const {strokeWidth, strokeDasharray, opacity, stroke} = getComputedStyle(line);"
        " return [strokeWidth, strokeDasharray].join(); })"
    )
    assert len(set(samples)) >= 4


def test_nothing_scrolls_smoothly_for_those_who_want_no_motion(page: Page) -> None:
    page.emulate_media(reduced_motion="reduce")
    opened(page, PAGE)
    page.locator(".looks label", has_text="Area").click()
    expect(page.locator("#companion .still")).to_be_in_viewport()
    moving = page.evaluate(
        """() => [...document.querySelectorAll("*")].filter((each) => { const style = getComputedStyle(each);
        return parseFloat(style.transitionDuration) > 0 || parseFloat(style.animationDuration) > 0; })
        .map((each) => each.outerHTML.slice(0, 90))"""
    )
    assert moving == []
