"""The same page, a slider and three curves of 1000 points, as ours and in Dash, Streamlit and Gradio."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles

from house import House, house
from ours import READY, commands
from playwright.sync_api import Browser
from report import Report, Table, Target
from tab import Tab, Traffic, chromium, tab

HERE = Path(__file__).with_name("peers")
VENVS = Path(sys.prefix) / "peers"
VISITS, ROUNDS, KEYS = 3, 9, 5
PAGE = "/ops/clipped_relu?count=1000"


@dataclass(frozen=True)
class Maker:
    """How one page is served, where it is, its slider, and what answers when the server has all it needs."""

    command: list[str]
    page: str
    slider: str
    ready: str = "/"
    environment: dict[str, str] = field(default_factory=dict)


@dataclass
class Found:
    """Milliseconds to the first plot with an empty cache and in a reload, of every redraw; traffic; seconds of CPU."""

    cold: list[float] = field(default_factory=list)
    warm: list[float] = field(default_factory=list)
    redraws: list[float] = field(default_factory=list)
    first: Traffic = field(default_factory=Traffic)
    later: Traffic = field(default_factory=Traffic)
    cpu: float = 0.0


def measure() -> Report:
    """The table of pages; T16 and T17."""
    makers = _makers()
    found = {name: Found() for name in makers}
    with ExitStack() as stack:
        houses = {
            name: stack.enter_context(house(each.command, each.page, HERE, **each.environment))
            for name, each in makers.items()
        }
        for name, each in makers.items():
            houses[name].get(each.ready)
        browser = stack.enter_context(chromium())
        for _ in range(VISITS):
            for name, each in makers.items():
                _visit(browser, houses[name].url + each.page, found[name])
        _slide(browser, makers, houses, found)
        table = _table(houses, found)
    return Report([table], _targets(found))


def _makers() -> dict[str, Maker]:
    makers = {name: Maker(command, PAGE, "[data-slider=clip]", READY) for name, command in commands().items()}
    run = ["-m", "streamlit", "run", "streamlit_page.py", "--server.port", "PORT", "--server.address", "127.0.0.1"]
    run += ["--server.headless", "true", "--browser.gatherUsageStats", "false"]
    quiet = {"GRADIO_ANALYTICS_ENABLED": "False"}
    return makers | {
        "Dash 4.4.1": Maker([_python("dash"), "dash_page.py", "PORT"], "/", "[role=slider]"),
        "Streamlit 1.67.0": Maker([_python("streamlit"), *run], "/", "input[type=range]"),
        "Gradio 6.31.0": Maker(
            [_python("gradio"), "gradio_page.py", "PORT"], "/", "input[type=range]", environment=quiet
        ),
    }


def _python(peer: str) -> str:
    """The Python of a peer's own environment, which is made the first time, and whenever what it needs has changed."""
    wanted, venv = HERE / f"{peer}.txt", VENVS / peer
    there = venv / "installed.txt"
    if not there.is_file() or there.read_text() != wanted.read_text():
        subprocess.run([sys.executable, "-m", "venv", "--clear", venv], check=True)
        subprocess.run([venv / "bin" / "pip", "install", "--quiet", "-r", wanted], check=True, stdout=sys.stderr)
        there.write_text(wanted.read_text())
    return str(venv / "bin" / "python")


def _visit(browser: Browser, address: str, found: Found) -> None:
    with tab(browser) as visitor:
        found.cold.append(visitor.open(address))
        visitor.page.wait_for_load_state("networkidle")
        found.first = visitor.forget()
        found.warm.append(visitor.again())


def _slide(browser: Browser, makers: dict[str, Maker], houses: dict[str, House], found: dict[str, Found]) -> None:
    with ExitStack() as stack:
        tabs = {name: _opened(stack, browser, houses[name].url + each.page) for name, each in makers.items()}
        for turn in range(ROUNDS):
            for name, each in makers.items():
                tabs[name].page.bring_to_front()
                before = houses[name].spent()
                key = "ArrowRight" if turn % 3 else "ArrowLeft"
                found[name].redraws += [tabs[name].press(each.slider, key) for _ in range(KEYS)]
                found[name].cpu += houses[name].spent() - before
        for name, visitor in tabs.items():
            found[name].later = visitor.forget()


def _opened(stack: ExitStack, browser: Browser, address: str) -> Tab:
    visitor: Tab = stack.enter_context(tab(browser))
    visitor.open(address)
    visitor.page.wait_for_load_state("networkidle")
    visitor.rest()
    visitor.forget()
    return visitor


def _table(houses: dict[str, House], found: dict[str, Found]) -> Table:
    rows = []
    for name, each in found.items():
        changes = len(each.redraws)
        rows.append(
            (
                name,
                f"{1e3 * houses[name].start:.0f} ms",
                f"{median(each.cold):.0f} ms",
                f"{median(each.warm):.0f} ms",
                f"{each.first.sent / 1e3:.0f} kB",
                f"{each.first.requests}",
                f"{median(each.redraws):.0f} / {_p95(each.redraws):.0f} ms",
                f"{each.later.sent / changes / 1e3:.1f} kB",
                f"{1e3 * each.cpu / changes:.1f} ms",
                f"{houses[name].memory().rss:.0f} MiB",
            )
        )
    headings = (
        "",
        "process start to first page",
        "first plot",
        "in a reload",
        "transferred",
        "requests",
        "slider to redraw, p50 / p95",
        "bytes a change",
        "server CPU a change",
        "RSS",
    )
    note = (
        f"One slider, three curves of 1000 points in two panels, the same formulas, in turns in one Chromium: {VISITS} "
        f"visits with an empty cache, then {ROUNDS * KEYS} steps of the slider by keyboard, each timed from the key to "
        "the frame after the lines have changed. The peers compute theirs in numpy; ours runs the Function in torch "
        "in a second process, with its error bounds, verdict and surrogate. Every server is up when it is visited."
    )
    return Table("The same page elsewhere (T16, T17)", headings, rows, note)


def _targets(found: dict[str, Found]) -> list[Target]:
    ours, *others = found
    peers = [name for name in others if not name.startswith("ours")]
    mine = found[ours]
    targets = []
    for name, redraw, size in zip(peers, (0.65, 0.3, 0.3), (0.1, 0.1, 0.3), strict=True):
        slower = median(mine.redraws) / median(found[name].redraws)
        larger = mine.first.sent / found[name].first.sent
        targets += [
            Target("T16", f"slider to redraw at most {redraw:g} × {name}", f"{slower:.2f}", slower <= redraw),
            Target("T17", f"transferred at most {size:g} × {name}", f"{larger:.2f}", larger <= size),
        ]
    sent, best = mine.first.sent / 1e3, min(median(found[name].cold) for name in peers)
    sooner = median(mine.cold) / best
    return [
        *targets,
        Target("T17", "transferred at most 450 kB", f"{sent:.0f} kB", sent <= 450),
        Target("T17", "first plot at most 0.4 × the best of the three", f"{sooner:.2f}", sooner <= 0.4),
    ]


def _p95(values: list[float]) -> float:
    return quantiles(values, n=20)[-1]
