"""What several test files share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from playwright.sync_api import Browser, Page, expect
from support.browser import WITHIN, chromium, visitor, watched
from support.servers import InThread, copy_of_the_package, serving_in_thread

from gradloupe.server.protocol.python_command import ONE_THREAD

# Two threads take ten times as long for tensors of a few numbers; whoever is started by a test inherits this.
os.environ |= ONE_THREAD
# What `make quick` leaves out: folders whose tests start and end processes, and files that look at one fact again and
# again, for every Function that is right or wrong, in every dtype, or for every request that nobody should send.
SLOW_FOLDERS = {"notebook", "png", "reload", "report", "supervisor", "user_code", "worker"}
SLOW_FILES = {
    *("test_bad_input", "test_capabilities", "test_diagnosis", "test_examination", "test_hostile_requests"),
    *("test_learned_scalars", "test_linearity", "test_planted_bugs", "test_right_functions", "test_same_answers"),
    *("test_scene", "test_shutdown", "test_sliders", "test_slow_clients", "test_symmetric_inputs", "test_timing"),
    *("test_views", "test_whole_range"),
}

expect.set_options(timeout=1000 * WITHIN)
# How long an example takes on a busy machine says nothing about what is tested.
settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a browser, itself or by what it uses, and what is slow."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
        if item.path.stem in SLOW_FILES or item.path.parent.name in SLOW_FOLDERS:
            item.add_marker("slow")


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
    """One page for all the tests, so that plotly is parsed only once."""
    with visitor(browser, server) as page:
        yield page


@pytest.fixture
def page(window: Page, server: str) -> Iterator[Page]:
    """That page, watched: no error, no violation of the policy, no request to another host."""
    with watched(window, server) as page:
        yield page
