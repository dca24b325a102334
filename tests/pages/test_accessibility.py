"""For everybody: axe finds nothing, a phone is wide enough, and the keyboard reaches everything."""

from itertools import cycle

import pytest
from playwright.sync_api import Page, expect
from support.axe import violations
from support.browser import enter, opened, resized, settles
from support.sampling import sampled

OP = "/ops/clamp_with_grad"
DRAWN = "html[data-ready]"
# What is waited for at an address, and what is opened there.
STATES: dict[str, tuple[str, ...]] = {
    "/": (DRAWN,),
    OP: (DRAWN, "#values summary", "#details"),
    "/ops/functional_linear": (DRAWN, "#values summary"),
    "/ops/sinh_on_ctx?order=2": (DRAWN, "#details"),
    **{f"/ops/incorrect_clipped_relu?view={look}": (DRAWN,) for look in ("area", "map", "precision", "wide", "step")},
    "/ops/gradient_changed_in_place?view=contract": (
        *(DRAWN, "details.badges > summary", "details.noted > summary", "details.fine > summary"),
    ),
    "/ops/replace_grad?view=node": (DRAWN,),
    "/ops/kill_head?view=jacobian": (DRAWN,),
    "/ops/replace_grad?view=jacobian": (DRAWN,),
    "/ops/swapped_gradients?view=surface": (DRAWN,),
    "/ops/clamp_with_grad?view=descent": (DRAWN, "text=Steps as a table"),
    "/ops/kill_head?view=descent": (DRAWN, "text=Steps as a table"),
    "/compare?left=functional_linear&right=image_alpha&layout=overlaid": (
        *(DRAWN, "text=Range, precision, one side alone"),
    ),
    "/compare": ("main",),
    "/play": (DRAWN, ".cm-editor"),
    "/play?from=clamp_with_grad": (DRAWN, ".cm-editor"),
    "/lessons": ("main",),
    "/lessons/clamp_sign": (DRAWN, "#reveal > summary"),
    "/glossary": ("main",),
    "/embed/clamp_with_grad": (DRAWN, "#values summary"),
    "/embed/clamp_with_grad?height=300": (DRAWN, "text=Controls"),
    "/embed/exp?hide=title,controls": (DRAWN,),
    "/embed/lessons/gradcheck": (DRAWN,),
    "/docs": ("text=Whether torch is loaded",),
    "/ops/nope": ("main",),
    "/ops/exp?stop=nan": ("main",),
}
LIKE_OTHERS = (
    *(f"/ops/incorrect_clipped_relu?view={look}" for look in ("area", "map", "wide", "step")),
    *("/ops/functional_linear", "/ops/sinh_on_ctx?order=2", "/ops/kill_head?view=descent"),
    *("/ops/replace_grad?view=jacobian", "/embed/lessons/gradcheck", "/embed/exp?hide=title,controls"),
    *("/ops/exp?stop=nan", "/ops/incorrect_clipped_relu?view=precision", "/play", "/compare", "/docs"),
)
SCHEMES = ("light", "dark")
CASES = [f"{scheme} {address}" for address in STATES for scheme in SCHEMES]
EACH_PUSH = [
    f"{scheme} {address}"
    for address, scheme in zip((each for each in STATES if each not in LIKE_OTHERS), cycle(SCHEMES), strict=False)
]
SIDEWAYS = "() => document.documentElement.scrollWidth - innerWidth"
CLIPPED = """() => [...document.querySelectorAll('.js-plotly-plot :is(.ytick, .y2tick) text')]
.filter(e => e.checkVisibility() && e.getBoundingClientRect().left < 0).map(e => e.textContent)"""
SMALL = """() => [...document.querySelectorAll(
  '.tools :is(a, button, label), .rail :is(input, button, select), .share :is(label, button, .fetch, textarea)')]
.map(e => e.type === 'checkbox' ? e.parentElement : e).filter(e => e.checkVisibility())
.filter(e => e.getBoundingClientRect().height < 24).map(e => e.outerHTML.slice(0, 80))"""


def accessible(page: Page) -> None:
    """Nothing is too wide or too small, and axe finds nothing."""
    assert page.evaluate(SIDEWAYS) <= 0
    assert page.evaluate(CLIPPED) == []
    assert page.evaluate(SMALL) == []
    assert violations(page) == []


@pytest.mark.parametrize("case", sampled(CASES, EACH_PUSH))
def test_a_phone_is_wide_enough_and_axe_finds_nothing(page: Page, case: str) -> None:
    scheme, address = case.split()
    low = "height=300" in address
    page.set_viewport_size({"width": 320, "height": 300} if low else {"width": 360, "height": 740})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # what is drawn is never half faded in
    page.goto(address)
    there, *folded = STATES[address]
    page.locator(f'html[data-ready="{address}"]' if "view=" in address else there).first.wait_for(state="attached")
    for each in folded:
        page.locator(each).click()
    accessible(page)


def test_axe_finds_nothing_in_a_refusal_nor_in_the_dialog_that_shares(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.emulate_media(reduced_motion="reduce")
    opened(page, "/ops/exp")
    enter(page.locator("#field-start"), "banana")
    expect(page.locator("#trouble")).to_contain_text("start")
    accessible(page)
    page.locator("#share").click()
    dialog = page.get_by_role("dialog")
    for word in ("Offline file", "Picture", "Live figure"):
        dialog.get_by_role("radio", name=word, exact=True).press("Space")
        assert dialog.evaluate("e => e.scrollWidth - e.clientWidth") == 0
    accessible(page)


def test_the_widest_screen_is_not_too_narrow(page: Page) -> None:
    page.set_viewport_size({"width": 2560, "height": 800})
    for address in ("/", "/ops/functional_linear", "/ops/nope"):
        page.goto(address)
        page.locator("main" if "nope" in address else DRAWN).wait_for()
        assert page.evaluate(SIDEWAYS) <= 0


def test_the_keyboard_alone_reaches_every_control_in_order(page: Page) -> None:
    opened(page, OP)
    reached = []
    for _ in range(50):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("() => document.activeElement.id || document.activeElement.name || ''"))
    order = ["details", "cursor", "share", "compare", "listen", "field-min", "field-max", "field-grad_output"]
    assert list(dict.fromkeys(each for each in reached if each in order)) == order
    assert {"field-wrt", "field-start", "field-stop", "field-count", "field-dtype", "field-device"} <= set(reached)


def test_a_phone_has_the_figure_right_below_the_verdict_and_keeps_it_in_sight_above_the_controls(page: Page) -> None:
    opened(page, OP)
    resized(page, 360, 740)
    places = ("#verdict", ".figure", "#reading", "#controls", ".tools")
    boxes = [page.locator(each).evaluate("e => e.getBoundingClientRect().toJSON()") for each in places]
    assert boxes == sorted(boxes, key=lambda box: float(box["top"]))
    assert boxes[1]["top"] - boxes[0]["bottom"] < 30
    page.evaluate("() => document.querySelector('#field-grad_output').scrollIntoView({block: 'center'})")
    top = "() => document.querySelector('#canvas').getBoundingClientRect().top"
    settles(lambda: 0 <= page.evaluate(top) < 150, True)
    expect(page.locator("#reading")).to_be_in_viewport(ratio=1)
