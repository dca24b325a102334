"""A real Chromium, and how the tests look at a page through it."""

import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isclose
from time import monotonic, sleep
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Error,
    FloatRect,
    Frame,
    Locator,
    Page,
    Request,
    Response,
    Route,
    ViewportSize,
    expect,
    sync_playwright,
)

from support import http
from support.waiting import PAUSE

FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run"
    " --disable-background-networking --disable-component-update --disable-sync --font-render-hinting=none"
    # A page of a test is gone before better machine code for its scripts pays.
    " --js-flags=--no-maglev,--no-opt --in-process-gpu --num-raster-threads=1"
    # Pages of one site one after the other in one process, which has compiled plotly: half the time of an opened page.
    " --renderer-process-limit=1"
)
WINDOW: ViewportSize = {"width": 1280, "height": 860}
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
POLICY = "document.addEventListener('securitypolicyviolation', e => console.error('policy', e.effectiveDirective))"
PLAIN: dict[str, Any] = {"contrast": "no-preference", "forced_colors": "none", "reduced_motion": "no-preference"}
WITHIN = 20.0  # seconds in which even a busy machine comes to what is waited for
# As text: what is handed over as objects is checked number by number, ten times as long as it takes to read.
CURVES = "plot => JSON.stringify(document.querySelector(plot).data.map(({name, x, y}) => [name, [...x], [...y]]))"

# How much of a page is out of sight of its window or frame, across and down.
HIDDEN = """() => { const { scrollWidth, scrollHeight } = document.documentElement;
return [scrollWidth - innerWidth, scrollHeight - innerHeight] }"""

# Where an element is in the window, brought into sight, once five frames in a row have it there.
PLACE = """element => new Promise(resolve => {
  let last = "", frames = 0;
  const look = () => {
    const {x, y, width, height} = element.getBoundingClientRect(), now = [x, y, width, height].join();
    const inSight = y >= 0 && y + Math.min(height, innerHeight / 2) <= innerHeight;
    if (!inSight) element.scrollIntoView({behavior: "instant", block: "center"});
    frames = inSight && now === last ? frames + 1 : 0;
    last = now;
    if (frames < 5) requestAnimationFrame(look); else resolve({x, y, width, height});
  };
  look();
})"""

Curve = tuple[list[float | None], list[float | None]]


@contextmanager
def chromium(*flags: str) -> Iterator[Browser]:
    """The one that is installed, or else playwright's own; ``flags`` are added to those it always has."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=[*FLAGS.split(), *flags])
        yield browser
        browser.close()


@contextmanager
def ordinary(browser: Browser) -> Iterator[Browser]:
    """One that guards itself against pages that ask too much, as those of visitors do and those of tests do not."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    guard = ["--disable-ipc-flooding-protection"]
    another = browser.browser_type.launch(executable_path=found, args=FLAGS.split(), ignore_default_args=guard)
    yield another
    another.close()


@dataclass
class Watch:
    """What a page did that no page may do: errors, violations of the policy, requests to another host than these."""

    hosts: Sequence[str]
    complaints: list[str] = field(default_factory=list)

    def hears(self) -> dict[Any, Any]:
        """The listeners, by the event they listen to."""
        return {
            "console": self._console,
            "pageerror": self._error,
            "request": self._request,
            "response": self._response,
        }

    def _error(self, error: Error) -> None:
        self.complaints.append(f"error: {error}")

    def _console(self, message: ConsoleMessage) -> None:
        # Chromium reports every 4xx here; those that a test asks for are meant, the others are caught as responses.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.complaints.append(f"console: {message.text}")

    def _request(self, request: Request) -> None:
        at = urlsplit(request.url)
        if at.scheme in ("http", "https", "ws", "wss") and at.netloc not in self.hosts:
            self.complaints.append(f"another host: {request.url}")

    def _response(self, response: Response) -> None:
        if response.status >= 500 or ("/static/" in response.url and response.status >= 400):
            self.complaints.append(f"{response.status}: {response.url}")


@contextmanager
def visitor(browser: Browser, server: str, **options: Any) -> Iterator[Page]:
    """Someone with an empty cache and one page."""
    context = browser.new_context(base_url=server, viewport=WINDOW, **options)
    context.set_default_timeout(20_000)
    context.add_init_script(POLICY)
    yield context.new_page()
    context.close()


@contextmanager
def listening(page: Page, *servers: str) -> Iterator[None]:
    """Meanwhile nothing may go wrong in the page, and it may ask nobody but these servers."""
    watch = Watch([urlsplit(server).netloc for server in servers])
    heard = watch.hears()
    for event, listener in heard.items():
        page.on(event, listener)
    yield
    for event, listener in heard.items():
        page.remove_listener(event, listener)
    assert watch.complaints == [], watch.complaints


@contextmanager
def asked(page: Page) -> Iterator[list[str]]:
    """The addresses that the page asks for meanwhile."""
    addresses: list[str] = []

    def note(request: Request) -> None:
        addresses.append(request.url)

    page.on("request", note)
    yield addresses
    page.remove_listener("request", note)


@contextmanager
def watched(page: Page, *servers: str) -> Iterator[Page]:
    """The page as new, in which nothing may have gone wrong at the end."""
    page.set_viewport_size(WINDOW)
    page.emulate_media(color_scheme="light", media="screen", **PLAIN)
    with listening(page, *servers):
        yield page
        page.unroute_all()
        page.goto("about:blank")


@contextmanager
def alone(browser: Browser, server: str, **options: Any) -> Iterator[Page]:
    """A watched page that shares nothing with any other."""
    with visitor(browser, server, **options) as page, watched(page, server):
        yield page


def settles(seen: Callable[[], object], meant: object) -> None:
    """Waits until what is seen is as it is meant; a page that is just being opened, or not drawn yet, shows nothing."""
    now, end = look(seen), monotonic() + WITHIN
    while now != meant and monotonic() < end:
        sleep(PAUSE)  # in which the page gets on
        now = look(seen)
    assert now == meant


def look(seen: Callable[[], object]) -> object:
    """What is seen now, or why nothing is."""
    try:
        return seen()
    except Error as nothing:
        return nothing


def shows(page: Page, address: str) -> None:
    """Waits until the curves of `address`, a shortest one, are drawn, and the view below them, if one is open."""
    drawn = re.compile(f"^{re.escape(address)}([?&]view=.*)?$")
    expect(page.locator("html")).to_have_attribute("data-ready", drawn, timeout=1000 * WITHIN)


def here(page: Page) -> str:
    """The address as the page itself has it: `page.url` hears of a change a little later."""
    return str(page.evaluate("() => location.pathname + location.search"))


def resized(page: Page, width: int, height: int) -> None:
    """Makes the window of an open page so large, and waits until the page has it."""
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_function("([width, height]) => innerWidth === width && innerHeight === height", arg=[width, height])


@contextmanager
def withheld(page: Page, pattern: str) -> Iterator[None]:
    """As long as this lasts a page waits for what it asks at such addresses."""
    held: list[Route] = []
    over = False
    page.route(pattern, lambda route: route.continue_() if over else held.append(route))
    yield
    over = True
    for route in held:
        route.continue_()


def warmed(server: str, address: str) -> None:
    """Has the server compute what an address shows: from then on the page comes with its figure, however busy it is."""
    path, _, query = address.replace("/embed/", "/ops/").partition("?")
    http.get(f"{server}{path}.json?{query}").raise_for_status()


def opened(page: Page, address: str) -> Page:
    """The page of an op, with its curves drawn."""
    page.goto(address)
    shows(page, address)
    return page


def visited(page: Page, address: str) -> Page:
    """A page with a figure, with its curves drawn, whatever the shortest address of these is."""
    page.goto(address)
    page.locator("html[data-ready]").wait_for()
    return page


def curves(page: Page | Frame, plot: str = "#plot") -> dict[str, Curve]:
    """What Plotly has drawn: x and y by the name of the trace."""
    return {name: (x, y) for name, x, y in json.loads(page.evaluate(CURVES, plot))}


def alike(one: dict[str, Curve], other: dict[str, Curve]) -> bool:
    """Whether both drawings show the same, as far as can be seen."""
    return one.keys() == other.keys() and all(
        mine == other[name] or (passes_through(mine, *other[name]) and passes_through(other[name], *mine))
        for name, mine in one.items()
    )


def passes_through(curve: Curve, xs: Sequence[float | None], ys: Sequence[float | None]) -> bool:
    """Whether the line drawn passes through all these points, as far as can be seen, and has their gaps."""
    known = [y for y in ys if y is not None]
    seen = 5e-4 * (max(known, default=0.0) - min(known, default=0.0)) + 1e-8
    pairs = [(value_at(curve, x), y) for x, y in zip(xs, ys, strict=True) if x is not None]
    return all(a is b if a is None or b is None else isclose(a, b, rel_tol=1e-7, abs_tol=seen) for a, b in pairs)


def value_at(curve: Curve, x: float) -> float | None:
    """y of the line at x; at the end that is nearer where there is none, and at a gap None."""
    points = [(at, y) for at, y in zip(*curve, strict=True) if at is not None]
    (left, low), (right, high) = points[0], points[-1]
    for at, y in points:
        (left, low) = (at, y) if at <= x else (left, low)
        if at >= x:
            right, high = at, y
            break
    if low is None or high is None or right <= left:
        return low if abs(x - left) <= abs(x - right) else high
    return low + (x - left) / (right - left) * (high - low)


def enter(field_: Locator, text: str) -> None:
    """Type a number and leave the field."""
    field_.fill(text)
    field_.press("Tab")


def place_of(element: Locator) -> FloatRect:
    """Where it is for the mouse, in sight, once nothing scrolls or moves it any more."""
    place: FloatRect = element.evaluate(PLACE)
    return place


def drag(page: Page, slider: Locator, share: float, meanwhile: Callable[[], object] = lambda: None) -> None:
    """Take the thumb with the mouse and carry it to a share of the slider's length; ``meanwhile`` it is held."""
    box = place_of(slider)
    low, high, now = (float(slider.evaluate(f"s => s.{name}")) for name in ("min", "max", "value"))
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 9 + (box["width"] - 18) * (now - low) / (high - low), middle)
    page.mouse.down()
    meanwhile()
    page.mouse.move(box["x"] + 9 + (box["width"] - 18) * share, middle, steps=4)
    page.mouse.up()


def zoom(page: Page, start: float, stop: float) -> FloatRect:
    """Drag the mouse across the upper panel between two shares of its width; returns where the panel is."""
    box = place_of(page.locator("#canvas .nsewdrag[data-subplot='xy']"))
    page.mouse.move(box["x"] + box["width"] * start, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * stop, box["y"] + 70, steps=5)
    page.mouse.up()
    return box


def spoken(page: Page) -> str:
    """What a screen reader is told about the cursor."""
    return re.sub(r"\s+", " ", page.get_by_role("slider", name="Trace").get_attribute("aria-valuetext") or "")
