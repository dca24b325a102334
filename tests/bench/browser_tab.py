"""A tab of a real Chromium that counts what it loads, and tells when lines have been drawn, and drawn again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page
from support import browser

NO_OTHER_HOST = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"
PAGE_TIMING = Path(__file__).with_name("page_timing.js").read_text()
PATIENCE = 60_000  # milliseconds
FIRST_LINES = """() => Promise.race([
  pageTiming.first,
  new Promise((_, fail) => setTimeout(() => fail(new Error("no lines are drawn in " + location)), 30000)),
])"""  # a promise of the milliseconds until the first lines
CALM = 150  # milliseconds without a line drawn


PAGE_LOAD = """() => {
  const script = performance.getEntriesByType("resource").find(({ name }) => /plotly[^/]*\\.js/.test(name));
  const [at, what] = pageTiming.largest ?? [0, ""];
  const blocked = pageTiming.blocks.map(([, duration]) => duration);
  return {
    largest: at, what, shift: pageTiming.shift, longest: Math.max(0, ...blocked),
    blocked: blocked.reduce((sum, duration) => sum + duration - 50, 0), plotly: script?.responseEnd ?? 0,
  };
}"""


@dataclass(frozen=True)
class PageLoad:
    """Of a page that comes up: when its largest part was painted (and which that is), by how much its parts moved,
    the longest block of its main thread and what all of them have beyond 50 each, and when plotly.js had arrived;
    times in milliseconds, 0 for what did not happen."""

    largest: float
    what: str
    shift: float
    longest: float
    blocked: float
    plotly: float


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser of the tests, in which no other machine can be reached."""
    with browser.chromium(NO_OTHER_HOST) as launched:
        yield launched


@dataclass
class Traffic:
    """What came over the network: one entry for each reply, and the bytes of all of them with their headers."""

    replies: dict[str, dict[str, Any]] = field(default_factory=dict)
    sockets: int = 0

    @property
    def sent(self) -> int:
        """Bytes on the wire."""
        return self.sockets + sum(each["bytes"] for each in self.replies.values())

    @property
    def requests(self) -> int:
        """Replies that came over the network, and not out of the cache."""
        return sum(each["bytes"] > 0 for each in self.replies.values())

    def by_file(self) -> Counter[str]:
        """Bytes on the wire by the path of the address."""
        found: Counter[str] = Counter()
        for each in self.replies.values():
            found[urlsplit(each["url"]).path] += each["bytes"]
        return found

    def by_kind(self) -> Counter[str]:
        """Bytes on the wire by what Chromium takes them for: Document, Script, Stylesheet …"""
        found: Counter[str] = Counter()
        for each in self.replies.values():
            found[each["kind"]] += each["bytes"]
        return found


class Tab:
    """One page, whose network and whose lines are watched."""

    def __init__(self, context: BrowserContext) -> None:
        self.page: Page = context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.add_init_script(PAGE_TIMING)
        self._cdp = context.new_cdp_session(self.page)
        self._cdp.send("Network.enable")
        self._cdp.on("Network.responseReceived", self._received)
        self._cdp.on("Network.loadingFinished", self._finished)
        self._cdp.on("Network.webSocketFrameReceived", self._frame)
        self.traffic = Traffic()

    def forget(self) -> Traffic:
        """What was counted up to now; the count starts again."""
        before, self.traffic = self.traffic, Traffic()
        return before

    def open(self, address: str) -> float:
        """Milliseconds from the start of the navigation to the first lines that plotly has drawn."""
        self.visit(address)
        return float(self.page.evaluate(FIRST_LINES))

    def visit(self, address: str) -> None:
        """Go there; raises ``RuntimeError`` where that is no page."""
        response = self.page.goto(address)
        if response is None or response.status not in (200, 304):
            raise RuntimeError(f"{address} answered {response and response.status}")

    def page_load(self) -> PageLoad:
        """How the page came up, as far as it has."""
        measured: dict[str, Any] = self.page.evaluate(PAGE_LOAD)
        return PageLoad(**measured)

    def again(self) -> float:
        """The same, for a reload."""
        self.page.reload()
        return float(self.page.evaluate(FIRST_LINES))

    def press(self, slider: str, key: str) -> float:
        """Milliseconds from a key on a slider to the lines being drawn again; returns when they have come to rest."""
        before = self.page.evaluate("() => pageTiming.redraws.length")
        self.page.locator(slider).first.press(key)
        took = self.page.evaluate("n => pageTiming.redrawn(n)", before)
        self.rest()
        return float(took)

    def rest(self) -> None:
        """Return when no line has been drawn for a while."""
        self.page.evaluate("pause => pageTiming.calm(pause)", CALM)

    def _received(self, event: dict[str, Any]) -> None:
        response = event["response"]
        entry = self._entry(event["requestId"])
        entry |= {"url": response["url"], "kind": event["type"], "status": response["status"]}

    def _finished(self, event: dict[str, Any]) -> None:
        self._entry(event["requestId"])["bytes"] = int(event["encodedDataLength"])

    def _frame(self, event: dict[str, Any]) -> None:
        self.traffic.sockets += len(event["response"]["payloadData"])

    def _entry(self, request: str) -> dict[str, Any]:
        return self.traffic.replies.setdefault(request, {"url": "", "kind": "Other", "status": 0, "bytes": 0})


@contextmanager
def tab(chromium_: Browser, **options: Any) -> Iterator[Tab]:
    """A tab of someone with an empty cache."""
    context = chromium_.new_context(**{"viewport": browser.WINDOW} | options)
    yield Tab(context)
    context.close()
