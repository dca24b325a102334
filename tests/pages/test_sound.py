"""The curves can be heard: high is high, left is left, below zero hisses, gaps are silent, marks tick."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect
from support.browser import opened, shows

MODULE = "const {%s} = await import(new URL('%s', document.querySelector('script[type=module]').src));"
SCORE = (
    "async (search) => {"
    + MODULE % ("score", "../figure/sound.js")
    + "const answer = await (await fetch(location.pathname + '.page.json' + search)).json();"
    "const {y: upper, y2: lower} = {y: [-2, 2], y2: [-1, 1]};"
    "return score(answer, {upper, lower}); }"
)
# What an ear would make of it: loudness of both sides and the pitch, for each of 30 stretches of the part.
RENDERED = (
    "async (part) => {"
    + MODULE % ("playPart", "../figure/sound.js")
    + """
    const rate = 44100, stretches = 30, context = new OfflineAudioContext(2, 3 * rate, rate);
    playPart(context, part, 0);
    const buffer = await context.startRendering();
    const sides = [0, 1].map((side) => buffer.getChannelData(side)), length = buffer.length / stretches;
    return Array.from({length: stretches}, (_, i) => {
      const [left, right] = sides.map((side) => side.slice(i * length, (i + 1) * length));
      const loud = (samples) => Math.sqrt(samples.reduce((sum, each) => sum + each * each, 0) / samples.length);
      const sum = left.map((each, row) => each + right[row]);
      const rises = sum.filter((each, row) => row && sum[row - 1] < 0 && each >= 0).length;
      return {left: loud(left), right: loud(right), hertz: rises / (length / rate)};
    }); }"""
)


def part(beats: list[dict[str, Any]], ticks: tuple[float, ...] = ()) -> dict[str, Any]:
    return {"name": "forward", "beats": beats, "ticks": ticks}


def beat(hertz: float | None, negative: bool = False) -> dict[str, Any]:
    return {"row": 0, "hertz": hertz, "negative": negative}


def test_the_curves_are_heard_in_turn_with_a_tick_at_every_kink_and_silence_where_there_is_none(page: Page) -> None:
    opened(page, "/ops/clamp_with_grad")
    forward, analytical, numerical = page.evaluate(SCORE, "?grad_output=-1")
    assert [each["name"] for each in (forward, analytical, numerical)] == ["forward", "analytical", "numerical"]
    hertz = [each["hertz"] for each in forward["beats"]]
    assert hertz == sorted(hertz)
    assert hertz[0] == pytest.approx(220 * 2 ** (3 / 4))  # forward is -1 in a panel from -2 to 2
    assert hertz[-1] == pytest.approx(220 * 2 ** (9 / 4))
    assert [each["negative"] for each in forward["beats"]] == [True] * 150 + [False] * 150
    assert forward["ticks"] == pytest.approx([1 / 3, 2 / 3])
    assert {each["negative"] for each in analytical["beats"]} == {True, False}
    forward, *_ = page.evaluate(SCORE, "?min=-3&max=3")
    silent = [each["hertz"] is None for each in forward["beats"]]
    assert silent[:45] == [True] * 45  # below the panel from -2 to 2
    assert not any(silent[135:165])


def test_what_is_played_rises_goes_from_left_to_right_ticks_is_silent_in_a_gap_and_hisses_below_0(page: Page) -> None:
    opened(page, "/ops/exp")
    heard = page.evaluate(RENDERED, part([beat(220 * 2 ** (3 * i / 299)) for i in range(300)]))
    for i, stretch in enumerate(heard[1:-1], 1):
        assert stretch["hertz"] == pytest.approx(220 * 2 ** (3 * (i + 0.5) / 30), rel=0.08)
    assert heard[1]["left"] > 5 * heard[1]["right"]
    assert heard[-2]["right"] > 5 * heard[-2]["left"]
    beats = [beat(440)] * 100 + [beat(None)] * 100 + [beat(440, negative=True)] * 100
    heard = page.evaluate(RENDERED, part(beats, (0.52,)))
    loud = [stretch["left"] + stretch["right"] for stretch in heard]
    assert max(loud[11:15] + loud[16:20]) < 1e-4
    assert loud[15] > 0.01
    assert min(loud[1:9]) > 0.05
    assert min(loud[21:29]) > 0.01
    assert {round(stretch["hertz"] / 10) for stretch in heard[1:9]} == {44}
    hissed = [stretch["hertz"] for stretch in heard[21:29]]
    assert max(hissed) - min(hissed) > 20


# All that is said of what is heard, and where the cursor is meanwhile, as it comes: a look now and then may miss it.
FOLLOW = """() => { window.followed = [];
const [heard, cells] = ["#heard", "#reading dl"].map((each) => document.querySelector(each));
const note = () => followed.push([heard.textContent, cells.querySelector("[data-name=x] dd")?.textContent ?? ""]);
for (const each of [heard, cells]) new MutationObserver(note).observe(each, {childList: true}) }"""
SAID = "words => followed.some(([heard]) => heard === words)"


CLOCK = """() => { window.clock = window.clocks = 0;
Object.defineProperty(BaseAudioContext.prototype, "currentTime", {get: () => (window.clocks += 1, window.clock)}) }"""
LATER = """(seconds) => new Promise((done) => { window.clock = seconds;
requestAnimationFrame(() => requestAnimationFrame(() => done())) })"""
FORWARD, ANALYTICAL = 0.105, 3.805  # seconds at which these have begun


def followed(page: Page, words: str) -> list[str]:
    """Where the cursor was while that was said, once it is."""
    page.wait_for_function(SAID, arg=words)
    return [place for heard, place in page.evaluate("followed") if heard == words]


def test_the_button_plays_the_curves_in_turn_and_the_cursor_goes_along(page: Page) -> None:
    opened(page, "/ops/clamp_with_grad")
    page.evaluate(FOLLOW)
    page.evaluate(CLOCK)
    before = page.locator("#cursor").get_attribute("aria-valuetext")
    assert page.evaluate("clocks") == 0  # nothing sounds before somebody asks
    page.get_by_role("button", name="Listen").click()
    for seconds in (FORWARD, FORWARD + 2.5, ANALYTICAL):
        page.evaluate(LATER, seconds)
    followed(page, "Playing analytical")
    assert page.locator("#cursor").get_attribute("aria-valuetext") == before  # nobody speaks over it
    page.get_by_role("button", name="Stop").click()
    places = followed(page, "Playing forward")
    assert places[0].startswith("−")
    assert not places[-1].startswith("−")
    expect(page.locator("#heard")).to_have_text("")
    expect(page.locator("#overlay")).to_be_hidden()


def test_the_key_h_starts_escape_stops_and_so_do_new_curves_and_without_motion_the_cursor_jumps(page: Page) -> None:
    page.emulate_media(reduced_motion="reduce")
    opened(page, "/ops/exp")
    page.evaluate(FOLLOW)
    page.evaluate(CLOCK)
    page.locator("#cursor").press("End")
    page.locator("#cursor").press("h")
    for step in range(15):
        page.evaluate(LATER, FORWARD + 0.2 * step)
    places = dict.fromkeys(float(each.replace("−", "-")) for each in followed(page, "Playing forward"))
    assert [*places] == pytest.approx([-2, -1.2, -0.4, 0.4, 1.2], abs=0.02)  # one in 0.6 s
    page.keyboard.press("Escape")
    expect(page.locator("#heard")).to_have_text("")
    expect(page.get_by_role("button", name="Listen")).to_be_visible()
    expect(page.locator("#reading [data-name=x] dd")).to_have_text("2.00")  # back where it was
    page.locator("#cursor").press("h")
    page.evaluate(LATER, 4)
    expect(page.locator("#heard")).to_have_text("Playing forward")
    page.get_by_role("button", name="Set grad_output to −1").click()
    shows(page, "/ops/exp?grad_output=-1")
    expect(page.locator("#heard")).to_have_text("")
