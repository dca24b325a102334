"""What several tests of pages look at."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from support.browser import alone, opened, visitor, watched
from support.embedding_site import SHARED, Host, hosting

TOLD = re.compile(r'height="(?!480")[0-9]+"')  # the height of the preview: 480 is what it has until it has said its own


@pytest.fixture(scope="session")
def snippets(browser: Browser, server: str) -> dict[str, str]:
    """By place, what the dialog that shares gives to paste."""
    with alone(browser, server) as page:
        opened(page, SHARED).get_by_role("button", name="Share").click()
        text = page.get_by_role("textbox", name="What to paste")
        expect(text).to_have_value(TOLD)
        found = {}
        for place in page.locator("#sharing [name=place]").all():
            place.press("Space")
            found[place.get_attribute("value") or ""] = text.input_value()
        return found


@pytest.fixture(scope="session")
def unscripted(browser: Browser, server: str) -> Iterator[Page]:
    """One page without JavaScript."""
    with visitor(browser, server, java_script_enabled=False) as page:
        yield page


@pytest.fixture
def plain(unscripted: Page, server: str) -> Iterator[Page]:
    """That page, watched."""
    with watched(unscripted, server) as page:
        yield page


@pytest.fixture(scope="session")
def host(server: str) -> Iterator[Host]:
    """The site of somebody else, who trusts the server of all tests."""
    with hosting(server) as host:
        yield host
