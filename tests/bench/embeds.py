"""Twenty figures on one page of somebody else: when all their pictures are there, and when all are live."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from threading import Thread

from browser_tab import FIRST_LINES, chromium, tab
from playwright.sync_api import Browser, Frame, Locator
from processes import READY, Memory, WebServer, gradloupe_commands, process_memory, web_server
from report import Report, Table, Target
from support.servers import HERE, children

from gradloupe.server.catalogue.op_description import op_descriptions

EMBEDS, ROUNDS = 20, 2
TALL_WINDOW = {"width": 1000, "height": 700 * EMBEDS}
MAX_BLOCK = 200  # milliseconds: longer is felt as a freeze
PICTURE_PAINTED = """() => document.querySelector("#answer") && new Promise((resolve) => {
  const report = (list) => list.getEntriesByName("first-contentful-paint").forEach(({ startTime }) =>
    resolve(performance.timeOrigin + startTime));
  new PerformanceObserver(report).observe({ type: "paint", buffered: true });
})"""
CURVES_LIVE = f"async () => performance.timeOrigin + await ({FIRST_LINES})()"
LONGEST_BLOCK = "() => Math.max(0, ...pageTiming.blocks.map(([, duration]) => duration))"
FRAME = '<iframe src="{url}/embed/{op}?{query}" width="100%" height="480"'
SANDBOX = "allow-scripts allow-same-origin allow-downloads allow-popups allow-popups-to-escape-sandbox"
MARKUP = {
    "iframe": f'{FRAME} loading="lazy" sandbox="{SANDBOX}"></iframe>',
    "bare iframe": f"{FRAME}></iframe>",
    "grad-loupe": '<grad-loupe op="{op}" {query}>A figure.</grad-loupe>',
}


@dataclass(frozen=True)
class Page:
    """How many came with a picture, and milliseconds until all of these were painted and until all were live; of the
    longest block of the host page and of any frame; the MiB that the browser took for it, and replies and bytes."""

    pictures: int
    still: float
    live: float
    host: float
    frame: float
    memory: float
    replies: int
    sent: int


@dataclass(frozen=True)
class Scrolled:
    """Embeds that were live before anybody scrolled to them; the milliseconds that each of the others took once in
    sight; and of the longest block."""

    before: int
    waits: list[float]
    longest: float


def measure() -> Report:
    """The tables of twenty embeds, all in sight and scrolled to."""
    visits: dict[str, list[Page]] = {}
    scrolled: dict[str, list[Scrolled]] = {}
    with ExitStack() as stack:
        servers = {name: stack.enter_context(_prepared(command)) for name, command in gradloupe_commands().items()}
        ours, *others = servers.items()
        cases = {f"{ours[0]}, {way}": (ours[1], way) for way in MARKUP}
        cases |= {f"{name}, iframe": (each, "iframe") for name, each in others}
        hosts = {name: stack.enter_context(_hosted(_host(each.url, way))) for name, (each, way) in cases.items()}
        browser = stack.enter_context(chromium())
        for _ in range(ROUNDS):
            for name, host in hosts.items():
                visits.setdefault(name, []).append(_all_in_sight(browser, host, cases[name][0]))
                scrolled.setdefault(name, []).append(_scrolled(browser, host))
    return Report([_sight(visits), _scrolling(scrolled)], _targets(visits, scrolled))


@contextmanager
def _prepared(command: list[str]) -> Iterator[WebServer]:
    """A server that writes down its replies, and has been asked for every figure before."""
    with web_server([*command, "--log", "json"], READY, HERE) as server:
        for op, query in _figures():
            server.get(f"/ops/{op}.json?{query}")
        yield server


def _figures() -> list[tuple[str, str]]:
    """Every op once, then again with another ``grad_output``, up to the number of figures."""
    names = [op["name"] for op in op_descriptions()]
    return [(name, f"grad_output={value}") for value in (1, -2) for name in names][:EMBEDS]


def _host(url: str, way: str) -> str:
    """The HTML of a page with the figures."""
    figures = [MARKUP[way].format(url=url, op=op, query=query) for op, query in _figures()]
    script = f'<script type="module" src="{url}/grad-loupe.js"></script>' if way == "grad-loupe" else ""
    return f"<!doctype html><html lang=en><title>A lesson</title>{script}<h1>A lesson</h1>" + "<hr>".join(figures)


@contextmanager
def _hosted(html: str) -> Iterator[str]:
    """Where a server of its own has this page, at another port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def _all_in_sight(browser: Browser, host: str, server: WebServer) -> Page:
    before = _browser_memory().pss
    server.lines()
    with tab(browser, viewport=TALL_WINDOW) as visitor:
        visitor.visit(host)
        frames = [_frame(visitor.page.locator("iframe").nth(n)) for n in range(EMBEDS)]
        live = max(frame.evaluate(CURVES_LIVE) for frame in frames)
        stills = [still for frame in frames if (still := frame.evaluate(PICTURE_PAINTED))]
        began = visitor.page.evaluate("() => performance.timeOrigin")
        longest = max(frame.evaluate(LONGEST_BLOCK) for frame in frames)
        memory = _browser_memory().pss - before
        host_longest = visitor.page_load().longest
    sizes = [json.loads(line)["bytes"] for line in server.lines() if '"route"' in line]
    still = max(stills, default=began) - began
    return Page(len(stills), still, live - began, host_longest, longest, memory, len(sizes), sum(sizes))


def _scrolled(browser: Browser, host: str) -> Scrolled:
    with tab(browser) as visitor:
        visitor.visit(host)
        figures, before, waits = visitor.page.locator("iframe"), 0, []
        for n in range(EMBEDS):
            began = visitor.page.evaluate("() => performance.timeOrigin + performance.now()")
            figures.nth(n).scroll_into_view_if_needed()
            live = _frame(figures.nth(n)).evaluate(CURVES_LIVE)
            before += live <= began
            waits += [live - began] * (live > began)
        return Scrolled(before, waits, visitor.page_load().longest)


def _frame(figure: Locator) -> Frame:
    """The document in a frame, once it is there."""
    frame = figure.element_handle().content_frame()
    frame.wait_for_url("**/embed/**")
    return frame


def _browser_memory() -> Memory:
    """Of all processes of the browser."""
    found, left = Memory(0.0, 0.0), children(os.getpid())
    while left:
        pid = left.pop()
        left += children(pid)
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            if b"type=renderer" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found += process_memory(pid)
    return found


def _sight(visits: dict[str, list[Page]]) -> Table:
    rows = [
        (
            name,
            f"{median(each.pictures for each in pages):.0f}",
            *(f"{median(getattr(each, what) for each in pages):.0f} ms" for what in ("still", "live")),
            *(f"{median(getattr(each, what) for each in pages):.0f} ms" for what in ("host", "frame")),
            f"{median(each.memory for each in pages):.0f} MiB",
            f"{median(each.sent for each in pages) / 1e3:.0f} kB in {median(each.replies for each in pages):.0f}",
        )
        for name, pages in visits.items()
    ]
    headings = (
        "",
        "with a picture",
        "all of these painted",
        "all live",
        "longest block",
        "of a frame",
        "memory",
        "replies",
    )
    note = (
        "A window so tall that all are in sight at once: the worst case. The host page and Gradloupe are at two ports "
        f"of one machine, the cache is empty, the answers are known. Medians of {ROUNDS} visits. Blocks are tasks of "
        "the host page's main thread, in which bare iframes run too, or of a frame's; memory is the PSS of the "
        "browser's renderers. *iframe* is what the share dialog gives, sandboxed and lazy."
    )
    return Table(f"{EMBEDS} embeds on one page, all in sight", headings, rows, note)


def _scrolling(scrolled: dict[str, list[Scrolled]]) -> Table:
    rows = []
    for name, found in scrolled.items():
        waits = [wait for each in found for wait in each.waits]
        rows.append(
            (
                name,
                f"{median(each.before for each in found):.0f}",
                f"{median(waits):.0f} ms",
                f"{max(waits):.0f} ms",
                f"{median(each.longest for each in found):.0f} ms",
            )
        )
    headings = ("", "live before it is in sight", "in sight to live, median", "the slowest", "longest block")
    note = f"A window of {1280} × {860} pixels; one after the other is scrolled into sight when the last is live."
    return Table(f"{EMBEDS} embeds on one page, scrolled through", headings, rows, note)


def _targets(visits: dict[str, list[Page]], scrolled: dict[str, list[Scrolled]]) -> list[Target]:
    name = next(iter(visits))
    longest = median(each.host for each in visits[name])
    sooner = median(each.still for each in visits[name]) / median(each.live for each in visits[name])
    felt = median(each.longest for each in scrolled[name])
    return [
        Target("all pictures painted in half the time to all live", f"{sooner:.2f}", sooner <= 0.5),
        Target(f"all in sight: no block above {MAX_BLOCK} ms", f"{longest:.0f} ms", longest <= MAX_BLOCK),
        Target(f"scrolled: no block above {MAX_BLOCK} ms", f"{felt:.0f} ms", felt <= MAX_BLOCK),
    ]
