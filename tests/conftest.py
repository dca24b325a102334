import gc
import os
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from playwright.sync_api import Browser, Page, expect
from support.browser import WITHIN, chromium, visitor, watched
from support.clock import SetClock
from support.servers import HERE, InThread, copy_of_the_package, serving_in_thread

from gradloupe.server.runtime import timing

# Two threads take ten times as long for tensors of a few numbers; whoever is started by a test inherits this.
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

# Servers of tests have one worker for the gallery, as many tests run at once; those of many workers say how many.
os.environ.setdefault("GRADLOUPE_WORKERS", "1")

# What `make quick` runs: the claims of the gallery, the judge, the X-ray, addresses and documents.
CORE = {
    *("ops/test_claims.py", "ops/test_declaration.py", "ops/test_seed_values.py", "numerics/verdict/test_judge.py"),
    *("numerics/linearity/test_linearity.py", "numerics/sentences/test_verdict_sentence.py", "contract/test_xray.py"),
    *("url/test_address.py", "url/test_representations.py", "config/test_target.py"),
    *(
        "inference/test_recipe_text.py",
        "views/test_contents.py",
        "documents/test_compact.py",
        "http/test_allowed_hosts.py",
    ),
}

gc.disable()  # nothing that is collected here is garbage, and the collector need not look at it again

expect.set_options(timeout=1000 * WITHIN)
# How long an example takes on a busy machine says nothing about what is tested.
settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a browser, itself or by what it uses, and what `make quick` runs."""
    for item in items:
        if item.path.relative_to(HERE / "tests").as_posix() in CORE:
            item.add_marker("core")
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")


def pytest_collection_finish() -> None:
    """What has been imported and collected stays: the collector looks at what tests make alone."""
    gc.freeze()
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The seconds that the tests of each package took, the slowest first."""
    seconds: Counter[str] = Counter()
    for report in chain.from_iterable(terminalreporter.stats.values()):
        if isinstance(report, pytest.TestReport):
            seconds[Path(report.nodeid.partition("::")[0]).parts[1]] += report.duration
    if seconds:
        terminalreporter.section("seconds of each package")
    for package, total in seconds.most_common():
        terminalreporter.line(f"{total:7.1f}  {package}")


@pytest.fixture(scope="session")
def running() -> Iterator[InThread]:
    """One server for all the tests that leave it as it is; torch is loaded."""
    with serving_in_thread() as server:
        server.wait_until_ready()
        yield server


@pytest.fixture(scope="session")
def server(running: InThread) -> str:
    """The address of that server, without a slash at the end."""
    return running.url


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    """The clock by which calls are timed, at a standstill."""
    monkeypatch.setattr(timing, "clock", clock := SetClock())
    return clock


@pytest.fixture
def package_copy(tmp_path: Path) -> Path:
    """A copy of the package that a test may change."""
    return copy_of_the_package(tmp_path)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all the tests."""
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def window(browser: Browser, server: str) -> Iterator[Page]:
    """One page for all the tests, so that plotly is parsed only once; it may use the clipboard."""
    with visitor(browser, server, permissions=["clipboard-read", "clipboard-write"]) as page:
        yield page


@pytest.fixture
def page(window: Page, server: str) -> Iterator[Page]:
    """That page, watched: no error, no violation of the policy, no request to another host."""
    with watched(window, server) as page:
        yield page
