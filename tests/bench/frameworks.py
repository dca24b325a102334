"""The same page, a slider and three curves of 1000 points, as ours and in Dash, Streamlit and Gradio."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles

from browser_tab import Tab, Traffic, chromium, tab
from playwright.sync_api import Browser
from processes import READY, WebServer, gradloupe_commands, web_server
from report import Report, Table, Target

PAGES = Path(__file__).with_name("framework_pages")
VENVS = Path(sys.prefix) / "frameworks"
VISITS, ROUNDS, KEYS = 3, 9, 5
PAGE = "/ops/clipped_relu?count=1000"


@dataclass(frozen=True)
class Framework:
    """How one page is served, where it is, its slider, and what answers when the server has all it needs."""

    command: list[str]
    page: str
    slider: str
    ready: str = "/"
    environment: dict[str, str] = field(default_factory=dict)


@dataclass
class PageResult:
    """Milliseconds to the first plot with an empty cache and in a reload, of every redraw; traffic; seconds of CPU."""

    cold: list[float] = field(default_factory=list)
    warm: list[float] = field(default_factory=list)
    redraws: list[float] = field(default_factory=list)
    first: Traffic = field(default_factory=Traffic)
    later: Traffic = field(default_factory=Traffic)
    cpu: float = 0.0


def measure() -> Report:
    """The table of pages."""
    frameworks = _frameworks()
    results = {name: PageResult() for name in frameworks}
    with ExitStack() as stack:
        servers = {
            name: stack.enter_context(web_server(each.command, each.page, PAGES, **each.environment))
            for name, each in frameworks.items()
        }
        for name, each in frameworks.items():
            servers[name].get(each.ready)
        browser = stack.enter_context(chromium())
        for _ in range(VISITS):
            for name, each in frameworks.items():
                _visit(browser, servers[name].url + each.page, results[name])
        _slide(browser, frameworks, servers, results)
        table = _table(servers, results)
    return Report([table], _targets(results))


def _frameworks() -> dict[str, Framework]:
    frameworks = {
        name: Framework(command, PAGE, "[data-slider=clip]", READY) for name, command in gradloupe_commands().items()
    }
    run = ["-m", "streamlit", "run", "streamlit_page.py", "--server.port", "PORT", "--server.address", "127.0.0.1"]
    run += ["--server.headless", "true", "--browser.gatherUsageStats", "false"]
    quiet = {"GRADIO_ANALYTICS_ENABLED": "False"}
    return frameworks | {
        "Dash 4.4.1": Framework([_python("dash"), "dash_page.py", "PORT"], "/", "[role=slider]"),
        "Streamlit 1.67.0": Framework([_python("streamlit"), *run], "/", "input[type=range]"),
        "Gradio 6.31.0": Framework(
            [_python("gradio"), "gradio_page.py", "PORT"], "/", "input[type=range]", environment=quiet
        ),
    }


def _python(peer: str) -> str:
    """The Python of a peer's own environment, which is made the first time, and whenever what it needs has changed."""
    wanted, venv = PAGES / f"{peer}.txt", VENVS / peer
    there = venv / "installed.txt"
    if not there.is_file() or there.read_text() != wanted.read_text():
        subprocess.run([sys.executable, "-m", "venv", "--clear", venv], check=True)
        subprocess.run([venv / "bin" / "pip", "install", "--quiet", "-r", wanted], check=True, stdout=sys.stderr)
        there.write_text(wanted.read_text())
    return str(venv / "bin" / "python")


def _visit(browser: Browser, address: str, result: PageResult) -> None:
    with tab(browser) as visitor:
        result.cold.append(visitor.open(address))
        visitor.page.wait_for_load_state("networkidle")
        result.first = visitor.forget()
        result.warm.append(visitor.again())


def _slide(
    browser: Browser, frameworks: dict[str, Framework], servers: dict[str, WebServer], results: dict[str, PageResult]
) -> None:
    with ExitStack() as stack:
        tabs = {name: _opened(stack, browser, servers[name].url + each.page) for name, each in frameworks.items()}
        for turn in range(ROUNDS):
            for name, each in frameworks.items():
                tabs[name].page.bring_to_front()
                before = servers[name].cpu_seconds()
                key = "ArrowRight" if turn % 3 else "ArrowLeft"
                results[name].redraws += [tabs[name].press(each.slider, key) for _ in range(KEYS)]
                results[name].cpu += servers[name].cpu_seconds() - before
        for name, visitor in tabs.items():
            results[name].later = visitor.forget()


def _opened(stack: ExitStack, browser: Browser, address: str) -> Tab:
    visitor: Tab = stack.enter_context(tab(browser))
    visitor.open(address)
    visitor.page.wait_for_load_state("networkidle")
    visitor.rest()
    visitor.forget()
    return visitor


def _table(servers: dict[str, WebServer], results: dict[str, PageResult]) -> Table:
    rows = []
    for name, each in results.items():
        changes = len(each.redraws)
        rows.append(
            (
                name,
                f"{1e3 * servers[name].start:.0f} ms",
                f"{median(each.cold):.0f} ms",
                f"{median(each.warm):.0f} ms",
                f"{each.first.sent / 1e3:.0f} kB",
                f"{each.first.requests}",
                f"{median(each.redraws):.0f} / {_p95(each.redraws):.0f} ms",
                f"{each.later.sent / changes / 1e3:.1f} kB",
                f"{1e3 * each.cpu / changes:.1f} ms",
                f"{servers[name].memory().rss:.0f} MiB",
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
    return Table("The same page elsewhere", headings, rows, note)


def _targets(results: dict[str, PageResult]) -> list[Target]:
    our_name, *others = results
    peers = [name for name in others if not name.startswith("ours")]
    our_result = results[our_name]
    targets = []
    for name, redraw, size in zip(peers, (0.65, 0.3, 0.3), (0.1, 0.1, 0.3), strict=True):
        slower = median(our_result.redraws) / median(results[name].redraws)
        larger = our_result.first.sent / results[name].first.sent
        targets += [
            Target(f"slider to redraw at most {redraw:g} × {name}", f"{slower:.2f}", slower <= redraw),
            Target(f"transferred at most {size:g} × {name}", f"{larger:.2f}", larger <= size),
        ]
    sent, best = our_result.first.sent / 1e3, min(median(results[name].cold) for name in peers)
    sooner = median(our_result.cold) / best
    return [
        *targets,
        Target("transferred at most 400 kB", f"{sent:.0f} kB", sent <= 400),
        Target("first plot at most 0.4 × the best of the three", f"{sooner:.2f}", sooner <= 0.4),
    ]


def _p95(values: list[float]) -> float:
    return quantiles(values, n=20)[-1]
