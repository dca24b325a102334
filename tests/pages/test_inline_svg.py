"""The figure of a page without scripts stands where the live one will: the same panels, labels and curves."""

import gzip
import re
from itertools import pairwise, product
from typing import Any

import pytest
from playwright.sync_api import Page
from support.browser import opened
from support.sampling import sampled
from support.scenes import MADE_UP, document, frame, made_up

from gradloupe.server.figure.inline_svg import static_figure
from gradloupe.server.figure.scene import build_scene

WINDOWS = ((360, 760), (768, 1024), (1440, 900), (2560, 1300))
CLAMP, ROUND, HUGE = "/ops/clamp_with_grad?grad_output=-1", "/ops/round_straight_through", "/ops/exp?grad_output=1e200"
CASES = [
    (*place, layout)
    for place in (*((window, CLAMP) for window in WINDOWS), (WINDOWS[2], ROUND), (WINDOWS[2], HUGE))
    for layout in ("stacked", "overlaid")
]
EACH_PUSH = [CASES[0], CASES[5], CASES[8], CASES[11]]  # each op, both layouts, a phone and a desk
NEAR = 1.0  # pixels

# Boxes from the corner of the canvas, by what they are; labels in the order of their text.
STILL = """() => {
  const from = document.querySelector("#canvas").getBoundingClientRect();
  const box = (e) => { const b = e.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]
    .map((v, i) => v - (i % 2 ? from.top : from.left)); };
  const shown = (selector) => [...document.querySelectorAll(selector)].filter((e) => e.getClientRects().length);
  const texts = (selector) => shown(selector).map((e) => [e.textContent, box(e)]);
  const points = (path) => {
    const at = path.getScreenCTM();
    const numbers = [...path.getAttribute("d").matchAll(/([Ml]?) ?(-?[\\d.]+) ?(-?[\\d.]+)/g)];
    let [x, y] = [0, 0];
    return numbers.map(([, command, dx, dy]) => {
      [x, y] = command === "M" ? [Number(dx), Number(dy)] : [x + Number(dx), y + Number(dy)];
      const place = new DOMPoint(x, y).matrixTransform(at);
      return [command === "M" ? 1 : 0, place.x - from.left, place.y - from.top];
    });
  };
  const curves = {};
  for (const panel of ["upper", "lower"])
    for (const path of document.querySelectorAll(`.still > .panel.${panel} > .line`))
      (curves[`${panel} ${path.getAttribute("class").slice(5)}`] ??= []).push(...points(path));
  return {
    panels: shown(".still > .panel").map(box),
    x: texts(".still .below text:not(.title)"),
    y: texts(".still .labels.upper > text"), y2: texts(".still .labels.lower > text"),
    title: texts(".still .title"), marks: shown(".still .labels path").map(box), curves,
  };
}"""
LIVE = """() => {
  const from = document.querySelector("#canvas").getBoundingClientRect();
  const plot = document.querySelector("#plot");
  const corner = plot.getBoundingClientRect();
  const box = (e) => { const b = e.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]
    .map((v, i) => v - (i % 2 ? from.top : from.left)); };
  const texts = (selector) => [...document.querySelectorAll(selector)].map((e) => [e.textContent, box(e)]);
  const { xaxis, yaxis, yaxis2 } = plot._fullLayout;
  const panel = (y) => [
    xaxis._offset + corner.left - from.left, y._offset + corner.top - from.top,
    xaxis._offset + xaxis._length + corner.left - from.left, y._offset + y._length + corner.top - from.top,
  ];
  const panels = [panel(yaxis), ...(yaxis2 ? [panel(yaxis2)] : [])];
  const curves = {};
  for (const { name, uid, yaxis: y } of plot._fullData) {
    const [left, top] = panels[y === "y2" ? 1 : 0];
    const height = (y === "y2" ? yaxis2 : yaxis)._length;
    const numbers = [...plot.querySelectorAll(`.trace${uid} .js-line`)]
      .flatMap((path) => [...path.getAttribute("d").matchAll(/[ML](-?[\\d.e-]+),(-?[\\d.e-]+)/g)]);
    if (name !== "error band") curves[`${y === "y2" ? "lower" : "upper"} ${name}`] = numbers
      .map(([, x, y]) => [left + Number(x), Number(y), top]).filter(([, y]) => y >= 0 && y <= height)
      .map(([x, y, top]) => [x, y + top]);
  }
  return {
    panels, curves,
    x: texts("#plot .xtick text"), y: texts("#plot .ytick text"), y2: texts("#plot .y2tick text"),
    title: texts("#plot .xtitle, #plot .x2title"), marks: [...plot.querySelectorAll(".points path")].map(box),
  };
}"""
CLASSES = {"surrogate slope": "surrogate", "subgradients": "upright"}


def still_and_live(page: Page, plain: Page, address: str, window: tuple[int, int]) -> tuple[Any, Any]:
    """What a page shows, without scripts and with them."""
    for each in (page, plain):
        each.set_viewport_size({"width": window[0], "height": window[1]})
    live = opened(page, address).evaluate(LIVE)
    plain.goto(address)  # it is answered by now: else a page may come before its figure
    return plain.evaluate(STILL), live


def apart(one: list[float], other: list[float]) -> float:
    return max(abs(a - b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("case", sampled(CASES, EACH_PUSH))
def test_everything_stands_where_plotly_puts_it(
    page: Page, plain: Page, case: tuple[tuple[int, int], str, str]
) -> None:
    window, address, layout = case
    query = ("&" if "?" in address else "?") + "layout=overlaid" if layout == "overlaid" else ""
    still, live = still_and_live(page, plain, address + query, window)
    assert len(still["panels"]) == len(live["panels"]) == (1 if layout == "overlaid" else 2)
    assert all(apart(*pair) < 0.5 for pair in zip(still["panels"], live["panels"], strict=True))
    for labels in ("x", "y", "y2", "title"):
        assert [text for text, _ in still[labels]] == [text for text, _ in live[labels]]
        for (text, mine), (_, theirs) in zip(still[labels], live[labels], strict=True):
            assert apart(mine, theirs) < NEAR, f"{labels} {text}"
    for mine, theirs in zip(sorted(still["marks"]), sorted(live["marks"]), strict=True):
        assert apart(mine, theirs) < NEAR
    same_curves(still["curves"], live["curves"])


def same_curves(still: dict[str, Any], live: dict[str, Any]) -> None:
    """Every point that plotly draws lies on the curve that the server drew."""
    counted = 0
    for name, points in live.items():
        panel, _, curve = name.partition(" ")
        drawn = still.get(f"{panel} {CLASSES.get(curve, curve)}", [])
        stretches = [(a[1:], b[1:]) for a, b in pairwise(drawn) if not b[0]]
        for point in points:
            assert min(distance(point, *each) for each in stretches) < NEAR, f"{name} at {point}"
            counted += 1
    assert counted > 6


def distance(point: list[float], a: list[float], b: list[float]) -> float:
    """From a point to a stretch of a line."""
    along, up = b[0] - a[0], b[1] - a[1]
    length = along * along + up * up
    part = ((point[0] - a[0]) * along + (point[1] - a[1]) * up) / length if length else 0.0
    part = max(0.0, min(1.0, part))
    return ((a[0] + part * along - point[0]) ** 2 + (a[1] + part * up - point[1]) ** 2) ** 0.5


def test_a_figure_weighs_next_to_nothing(server: str) -> None:
    for name, layout in product(("clamp_with_grad", "kill_head", "round_straight_through"), ("stacked", "overlaid")):
        text = static_figure(build_scene(frame(document(server, f"/ops/{name}.json")), layout)).encode()
        assert len(gzip.compress(text)) < 2000


def test_what_cannot_be_drawn_is_left_out_and_no_style_and_no_script_comes_with_it() -> None:
    for name, (layout, panels) in product(MADE_UP, (("stacked", 2), ("overlaid", 1))):
        text = static_figure(build_scene(frame(MADE_UP[name]()), layout))
        assert "nan" not in text, name
        assert "inf" not in text, name
        assert "style" not in text
        assert len(re.findall('<svg class="panel ', text)) == panels, name
    hostile = "</svg><script>alert(1)</script><b onclick='x' style=\"color:red\">\x00"
    text = static_figure(build_scene(frame(made_up(of=hostile, wrt=hostile, title=hostile)), "stacked"))
    assert "<script" not in text
    assert "<b " not in text
