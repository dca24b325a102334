"""A figure as one file: asked for, stored, and opened from disk."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any

import httpx2
from playwright.sync_api import Browser, Frame, Page

from support import http
from support.browser import POLICY, WINDOW

HELD = "data:", "blob:", "about:srcdoc"  # what a page holds itself
# What of the words around the plot lies outside the figure, or on a panel of the plot.
ASTRAY = """() => {
  const shown = (selector) => [...document.querySelectorAll(selector)].filter((element) => element.checkVisibility());
  const boxes = (selector) => shown(selector).map((element) => [element, element.getBoundingClientRect()]);
  const [[, figure]] = boxes(".figure"), panels = boxes("#plot .nsewdrag").map(([, box]) => box);
  const inside = (a, b) => a.left >= b.left && a.right <= b.right && a.top >= b.top && a.bottom <= b.bottom;
  const over = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  const page = document.documentElement.getBoundingClientRect();
  if (panels.length === 0 || boxes(".legend").length < 2) return ["nothing is drawn"];
  const words = [...boxes(".legend, .measured").map((word) => [...word, figure]),
    ...boxes(".layouts, .links").map((word) => [...word, page])];
  const astray = ([, box, room]) => !inside(box, room) || panels.some((panel) => over(box, panel));
  return words.filter(astray).map(([element, box]) => `${element.className} ${JSON.stringify(box)}`);
}"""


def got(server: str, address: str, **headers: str) -> httpx2.Response:
    return http.get(server + address, headers=headers)


def stored(html: str) -> dict[str, Any]:
    """The sections that the file holds."""
    found = re.search(r'<script type="application/json" id="sections">(.*?)</script>', html)
    assert found is not None
    sections: dict[str, Any] = json.loads(found[1])
    return sections


def whole(pool: list[Any], said: Any) -> Any:
    """A value that is kept in a ``pool``, as static/js/state/stored.js reads it."""
    match said:
        case list():
            return [whole(pool, each) for each in said]
        case {"$": spot}:
            return whole(pool, pool[spot])
        case {"$of": other, "times": times}:
            return [value if value is None else value * times for value in whole(pool, other)]
        case {"$rows": columns}:
            by_name = whole(pool, columns)
            return [dict(zip(by_name, row, strict=True)) for row in zip(*by_name.values(), strict=True)]
        case {"$steps": steps, "times": times, "decimals": decimals, "finer": finer}:
            for _ in range(times):
                sums = accumulate(step or 0 for step in steps)
                steps = [step if step is None else total for step, total in zip(steps, sums, strict=True)]
            numbers = [step if step is None else step * 10.0**-decimals for step in steps]
            return [finer.get(str(row), number) for row, number in enumerate(numbers)]
        case dict():
            return {name: whole(pool, value) for name, value in said.items()}
    return said


@contextmanager
def from_disk(browser: Browser, path: Path, **options: Any) -> Iterator[Page]:
    """The file opened without any network; nothing may go wrong in it, and it may ask for nothing."""
    context = browser.new_context(viewport=WINDOW, offline=True, **options)
    context.set_default_timeout(20_000)
    context.add_init_script(POLICY)
    page, complaints, asked = context.new_page(), list[str](), list[str]()
    page.on("console", lambda message: complaints.append(message.text) if message.type != "log" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    yield page
    assert complaints == []
    assert [url for url in asked if not url.startswith(HELD)] == [path.as_uri()]
    context.close()


def words_astray(page: Page | Frame) -> list[str]:
    """The legends, titles and tools that lie outside the figure or on a panel of its plot."""
    astray: list[str] = page.evaluate(ASTRAY)
    return astray
