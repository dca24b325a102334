"""What our pages weigh on the wire, and how they come up: the first visit, and every page after it."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median

from browser_tab import FIRST_LINES, PageLoad, Tab, Traffic, chromium, tab
from playwright.sync_api import Browser
from processes import READY, gradloupe_commands, web_server
from report import Report, Table, Target
from support.servers import HERE

VISITS = 3
COMPARISON = "/compare?left=clipped_relu&right=incorrect_clipped_relu"
FIRST_PAGES = {
    "gallery": "/",
    "page of an op": "/ops/clipped_relu",
    "embed": "/embed/clipped_relu",
    "comparison": COMPARISON,
}
LATER_PAGES = {
    "gallery again": "/",
    "another op": "/ops/exp",
    "a third": "/ops/heaviside_sigmoid",
    "another embed": "/embed/sinh",
}
KINDS = ("Document", "Stylesheet", "Script", "Fetch")
MAX_FIRST, MAX_LATER = 400, 30  # kB
MAX_REQUESTS = 6  # for a page that nobody has seen before
FILES = 20


@dataclass(frozen=True)
class Visit:
    """What one visit cost, how the page came up, and in how many milliseconds its curves were live."""

    traffic: Traffic
    load: PageLoad
    live: float


def measure() -> Report:
    """The tables of weights, of how pages come up, and of the heaviest files; their budgets."""
    firsts: dict[tuple[str, str], list[Visit]] = {}
    laters: dict[tuple[str, str], list[Visit]] = {}
    with ExitStack() as stack:
        urls = {
            name: stack.enter_context(web_server(each, READY, HERE)).url for name, each in gradloupe_commands().items()
        }
        browser = stack.enter_context(chromium())
        for _ in range(VISITS):
            for name, url in urls.items():
                for page, address in FIRST_PAGES.items():
                    with tab(browser) as visitor:
                        firsts.setdefault((name, page), []).append(_visit(visitor, url + address))
                for page, visit in _walk(browser, url).items():
                    laters.setdefault((name, page), []).append(visit)
    ours = next(iter(urls))
    tables = [_weights(firsts, laters), _page_loads(firsts | laters), _files(firsts[ours, "page of an op"][-1].traffic)]
    return Report(tables, _targets(ours, firsts, laters))


def _walk(browser: Browser, url: str) -> dict[str, Visit]:
    """Pages one after the other, after a first visit to the gallery and one op."""
    with tab(browser) as visitor:
        _visit(visitor, url + FIRST_PAGES["gallery"])
        _visit(visitor, url + FIRST_PAGES["page of an op"])
        return {page: _visit(visitor, url + address) for page, address in LATER_PAGES.items()}


def _visit(visitor: Tab, address: str) -> Visit:
    visitor.forget()
    visitor.visit(address)
    live = 0.0
    if visitor.page.locator("#plot").count():
        live = float(visitor.page.evaluate(FIRST_LINES))
    visitor.page.wait_for_load_state("networkidle")
    return Visit(visitor.forget(), visitor.page_load(), live)


def _weights(*found: dict[tuple[str, str], list[Visit]]) -> Table:
    rows = []
    for which, visits in zip(("first", "later"), found, strict=True):
        for (name, page), each in visits.items():
            kinds = each[-1].traffic.by_kind()
            rest = sum(kinds.values()) - sum(kinds[kind] for kind in KINDS)
            rows.append(
                (
                    f"{name}: {page}",
                    which,
                    f"**{_kB(each):.1f} kB**",
                    *(f"{kinds[kind] / 1e3:.1f}" for kind in KINDS),
                    f"{rest / 1e3:.1f}",
                    f"{each[-1].traffic.requests}",
                )
            )
    headings = ("", "visit", "transferred", "HTML", "CSS", "JavaScript", "data", "other", "requests")
    note = (
        "Bytes on the wire with their headers, as Chromium counts them, with an empty cache (first) or after the "
        "gallery and the page of one op (later)."
    )
    return Table("What a page weighs", headings, rows, note)


def _page_loads(found: dict[tuple[str, str], list[Visit]]) -> Table:
    rows = []
    for (name, page), visits in found.items():
        loads = [each.load for each in visits]
        rows.append(
            (
                f"{name}: {page}",
                f"{median(each.largest for each in loads):.0f} ms ({loads[-1].what})",
                f"{median(each.plotly for each in loads):.0f} ms",
                f"{median(each.live for each in visits):.0f} ms",
                f"{max(each.shift for each in loads):.3f}",
                f"{median(each.blocked for each in loads):.0f} ms",
                f"{median(each.longest for each in loads):.0f} ms",
            )
        )
    headings = ("", "LCP", "plotly.js loaded", "curves live", "CLS", "blocked", "longest block")
    note = (
        f"Medians of {VISITS} visits, the largest CLS. *Blocked* is what the main thread's tasks of more than 50 ms "
        "have beyond 50 ms each, up to the moment at which the network was idle."
    )
    return Table("How a page comes up", headings, rows, note)


def _files(traffic: Traffic) -> Table:
    rows = [(path.rpartition("/")[2], f"{size / 1e3:.2f} kB") for path, size in traffic.by_file().most_common(FILES)]
    return Table(f"The {FILES} heaviest files of the page of an op", ("file", "on the wire"), rows)


def _kB(visits: list[Visit]) -> float:
    return median(each.traffic.sent for each in visits) / 1e3


def _targets(ours: str, *found: dict[tuple[str, str], list[Visit]]) -> list[Target]:
    targets = []
    for most, visits in zip((MAX_FIRST, MAX_LATER), found, strict=True):
        for (name, page), each in visits.items():
            if name != ours:
                continue
            wanted = f"{page}: {'first visit' if most == MAX_FIRST else 'later'} at most {most} kB"
            targets.append(Target(wanted, f"{_kB(each):.1f} kB", _kB(each) <= most))
    for (name, page), each in found[0].items():
        if name == ours:
            count = each[-1].traffic.requests
            targets.append(Target(f"{page}: at most {MAX_REQUESTS} requests", str(count), count <= MAX_REQUESTS))
        if name == ours and each[0].live:
            largest, plotly = (median(getattr(one.load, what) for one in each) for what in ("largest", "plotly"))
            measured = f"{largest:.0f} ms, {plotly:.0f} ms"
            wanted = f"{page}: the largest paint comes before plotly.js has loaded"
            targets.append(Target(wanted, measured, largest < plotly))
            shift = max(one.load.shift for one in each)
            targets.append(Target(f"{page}: nothing moves", f"{shift:.3f}", shift == 0))
    return targets
