"""A site as somebody publishes it of five Functions of her own, and the static host that serves it below a path."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

PLACE = "/courses/dl/"  # where the host has it
MY_OPS = '''
import torch


class LeakySTE(torch.autograd.Function):
    """Rounds, and lets gradient through.

    Gradloupe: x: float64[]; leak = 0.1
    """

    @staticmethod
    def forward(ctx, x, leak=0.1):
        ctx.save_for_backward(x)
        ctx.leak = leak
        return x.round()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x.abs() <= 1, grad_output, ctx.leak * grad_output), None


class Swish(torch.autograd.Function):
    """A ReLU with a soft knee. Gradloupe: x: float64[]; beta = 1.0"""

    @staticmethod
    def forward(ctx, x, beta=1.0):
        ctx.save_for_backward(x)
        ctx.beta = beta
        return x * torch.sigmoid(beta * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(ctx.beta * x)
        return grad_output * (s + ctx.beta * x * s * (1 - s)), None


class swish(Swish):
    """Its name differs but for case. Gradloupe: x: float64[]; beta = 2.0"""


class Raises(torch.autograd.Function):
    """Gradloupe: x: float64[]"""

    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad_output):
        raise RuntimeError("not today")


class Unknown(torch.autograd.Function):
    @staticmethod
    def forward(ctx, thing):
        return thing.frobnicate(3).wobble

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output
'''
LESSON = """
title = "How much leaks?"
address = "/ops/LeakySTE?stop=2"
control = "leak"
text = "Drag leak, and read the lower curve at 1.5."
reveal = "Beyond 1 it is the leak that comes back."
"""
EXERCISE = """
title = "Plug the leak"
goal = "matches"
task = "No gradient shall come from beyond 1."
start = '''
import torch


class Mask(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(-1, 1)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output
'''
solution = "import torch"
"""


def written(folder: Path) -> Path:
    """A folder with these Functions, a lesson about one of them, and an exercise."""
    (folder / "my_ops.py").write_text(MY_OPS)
    (folder / "01_leak.toml").write_text(LESSON)
    (folder / "02_plug.toml").write_text(EXERCISE)
    return folder


@dataclass(frozen=True)
class Host:
    """Where the site is, and how many bytes it has sent of what, compressed as such hosts do."""

    url: str
    sent: dict[str, int]


@contextmanager
def hosting_site(folder: Path) -> Iterator[Host]:
    """A host that knows nothing but files: it serves ``folder`` below ``PLACE``, and nothing else."""
    sent = dict[str, int]()

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            place = urlsplit(self.path).path
            path = folder / unquote(place.removeprefix(PLACE))
            if not place.startswith(PLACE) or not path.is_file():
                return self.send_error(404)
            content = gzip.compress(path.read_bytes(), 6)
            sent[path.relative_to(folder).as_posix()] = len(content)
            self.send_response(200)
            self.send_header("Content-Type", self.guess_type(path))
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Cache-Control", "max-age=600")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield Host(f"http://127.0.0.1:{server.server_port}{PLACE}", sent)
        finally:
            server.shutdown()
            thread.join()


class _Addresses(HTMLParser):
    """What the elements of a page lead to."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        places = ("href", "src", "data-sections", "data-plotly-curves")
        self.found += [text for name, text in attrs if name in places and text]


def crawled(folder: Path, start: str = "index.html") -> tuple[set[str], list[str]]:
    """The pages that are reached from ``start``, and what is wrong with the addresses in them."""
    seen, waiting, wrong = set[str](), [start], list[str]()
    while waiting:
        page = waiting.pop()
        if page in seen:
            continue
        seen.add(page)
        for address in _Addresses((folder / page).read_text("utf-8")).found:
            parts = urlsplit(address)
            target = urljoin(page, unquote(urldefrag(address)[0]).partition("?")[0]) if parts.path else page
            if parts.scheme or parts.netloc or address.startswith("/") or not (folder / target).is_file():
                wrong.append(f"{page}: {address}")
            elif target.endswith(".html"):
                waiting.append(target)
    return seen, wrong
