"""A server that shows the Functions of a file, as somebody who wrote one would start it."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

from support import http
from support.servers import InThread, serving_in_thread

MY_OPS = '''import torch
from torch.autograd import Function


class Clamp(Function):
    """A clamp with a mask.

    Between its bounds gradient passes.
    """

    @staticmethod
    def forward(ctx, x, low=-1.0, high=1.0):
        ctx.low, ctx.high = low, high
        ctx.save_for_backward(x)
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ((x >= ctx.low) & (x <= ctx.high)), None, None


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x**2 * grad_output


class Fused(Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad_output):
        if grad_output.abs().max() > 1e12:
            raise ArithmeticError("it went off")
        return 2 * grad_output


class Configured(Function):
    """What it does is said in words that nobody guesses."""

    @staticmethod
    def forward(ctx, x, config):
        word, _, number = config.partition(" by ")
        if word != "".join(reversed("elacs")):
            raise ValueError("config is to be a verb and a number")
        ctx.factor = float(number)
        return ctx.factor * x

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.factor * grad_output, None
'''
FUNCTIONS = ("Clamp", "Cube", "Fused", "Configured")


@dataclass(frozen=True)
class Own(InThread):
    """A server of a visitor's own Functions, and the token that it would have printed."""

    def post(self, address: str, **headers: str) -> httpx2.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return http.post(self.url + address, headers=named)


def showing(folder: Path, *arguments: str, text: str = MY_OPS) -> AbstractContextManager[Own]:
    """What ``gradloupe my_ops.py`` serves where the file holds ``text``, as ``showing_all``."""
    return showing_all(folder, {"my_ops.py": text}, *arguments)


@contextmanager
def showing_all(folder: Path, files: dict[str, str], *arguments: str) -> Iterator[Own]:
    """What ``gradloupe one.py another.py`` serves, started in ``folder`` in a thread of the tests; all are loaded."""
    for name, text in files.items():
        (folder / name).write_text(text)
    with serving_in_thread(*files, *arguments, cwd=folder) as server:
        own = Own(server.url, server.door, server.token)
        own.get("/own?wait=1")
        yield own
