"""A visitor's Functions, and a file of them that is changed: each test finds it and its page as the first did."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from support.browser import visitor, watched
from support.command_line import NO_HURRY
from support.own_server import Own, showing
from support.saved_files import MINE


@pytest.fixture(scope="session")
def my_ops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Own]:
    """One server of a visitor's Functions whose file nobody changes."""
    with showing(tmp_path_factory.mktemp("mine"), *NO_HURRY) as server:
        yield server


@pytest.fixture(scope="session")
def my_tab(my_ops: Own, browser: Browser) -> Iterator[Page]:
    """One page of it that may use the clipboard, so that plotly is parsed only once."""
    with visitor(browser, my_ops.url, permissions=["clipboard-read", "clipboard-write"]) as page:
        yield page


@pytest.fixture
def mine(my_ops: Own, my_tab: Page) -> Iterator[Page]:
    """That page, watched."""
    with watched(my_tab, my_ops.url) as page:
        yield page


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the file is that is changed."""
    return tmp_path_factory.mktemp("changed")


@pytest.fixture(scope="module")
def showing_mine(folder: Path) -> Iterator[Own]:
    """One server of it for all tests of a module; a question may take a minute, for this machine may be busy."""
    with showing(folder, "--deadline", "60", text=MINE) as server:
        yield server


@pytest.fixture(scope="module")
def tab(showing_mine: Own, browser: Browser) -> Iterator[Page]:
    """One page for all tests."""
    with visitor(browser, showing_mine.url) as page:
        yield page


@pytest.fixture
def file(folder: Path) -> Path:
    """The file that a test changes."""
    return folder / "my_ops.py"


@pytest.fixture
def own(showing_mine: Own, file: Path) -> Own:
    """That server with ``MINE`` loaded."""
    if file.read_text() != MINE:
        file.write_text(MINE)
        ours = {"origin": showing_mine.url, "x_gradloupe_token": showing_mine.token}
        showing_mine.post("/reload", **ours).raise_for_status()
    return showing_mine


@pytest.fixture
def page(own: Own, tab: Page) -> Iterator[Page]:
    """That page, watched."""
    with watched(tab, own.url) as page:
        yield page
