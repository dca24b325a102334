"""The site of somebody else: pages with a strict policy, on another port, into which figures are put."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from playwright.sync_api import Frame, Page

from support.browser import watched

SHARED = "/ops/clamp_with_grad?min=-2&grad_output=-1"  # the figure whose snippets are pasted
# The frame is as high as what is in it, and no higher.
FITS = """() => { const { scrollHeight } = document.documentElement;
return scrollHeight === innerHeight && Math.ceil(document.body.getBoundingClientRect().height) === innerHeight }"""


@dataclass
class Host:
    """Where it answers, the HTML of its pages by path, and whose scripts and frames they admit.

    One that is not ``strict`` admits everything, its own inline scripts too.
    """

    url: str
    pages: dict[str, str] = field(default_factory=dict)
    friends: list[str] = field(default_factory=list)
    strict: bool = True

    @property
    def policy(self) -> str:
        friends = " ".join(self.friends)
        return f"default-src 'none'; script-src {friends}; frame-src {friends}; img-src {friends}; style-src 'self'"


@contextmanager
def hosting(*friends: str, strict: bool = True) -> Iterator[Host]:
    """A site that trusts these servers, and nothing inline; or, not being ``strict``, one that does what it likes."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = host.pages.get(self.path)
            self.send_response(404 if page is None else 200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            if host.strict:
                self.send_header("Content-Security-Policy", host.policy)
            self.end_headers()
            self.wfile.write((page or "").encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        host = Host(f"http://127.0.0.1:{server.server_port}", friends=list(friends), strict=strict)
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield host
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def visiting(page: Page, host: Host, body: str) -> Iterator[Page]:
    """It shows a page of the host with this body; at the end no error and no violation of anybody's policy was seen."""
    host.pages["/"] = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Course</title><body>{body}'
    with watched(page, host.url, *host.friends):
        page.set_viewport_size({"width": 900, "height": 800})
        page.goto(host.url)
        yield page


def framed(page: Page) -> Frame:
    """The only frame with a figure."""
    (found,) = (each for each in page.frames if "/embed/" in each.url)
    return found


def fitted(page: Page) -> None:
    """Waits until the frame with the figure has the height that the figure has told."""
    framed(page).wait_for_function(FITS)
