"""A figure as one file: asked for, stored, and opened from disk."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
from playwright.sync_api import Browser, Page

from support import http
from support.browser import POLICY, WINDOW


def got(server: str, address: str, **headers: str) -> httpx2.Response:
    return http.get(server + address, headers=headers)


def stored(html: str) -> dict[str, Any]:
    """What the page holds beside the figure that it opens with."""
    found = re.search(r'<script type="application/json" id="answers">(.*?)</script>', html)
    assert found is not None
    answers: dict[str, Any] = json.loads(found[1])
    return answers


@contextmanager
def from_disk(browser: Browser, path: Path, **options: Any) -> Iterator[Page]:
    """The file opened without any network; nothing may go wrong in it, and it may ask for nothing."""
    context = browser.new_context(viewport=WINDOW, offline=True, **options)
    context.set_default_timeout(20_000)
    context.add_init_script(POLICY)
    page, complaints, asked = context.new_page(), list[str](), list[str]()
    page.on("console", lambda message: complaints.append(message.text) if message.type != "log" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    yield page
    assert complaints == []
    assert [url for url in asked if not url.startswith("data:")] == [path.as_uri()]
    context.close()
