"""What a worker says that was started on a visitor's files, in a process of its own."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradloupe.server.documents.pytest_file import pytest_source
from gradloupe.server.protocol.frames import FRAME_PREFIX, Frame, pack, parse_prefix, unpack
from gradloupe.server.protocol.job import Job
from gradloupe.server.supervisor.worker_process import WorkerProcess
from gradloupe.server.url.address import default_address

SQUARE = '''import torch


class Square(torch.autograd.Function):
    """The square of each element."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output
'''


@dataclass(frozen=True)
class Worker:
    """One that has greeted with ``hello``, which is a sentence under ``broken`` if it could not load the targets."""

    hello: dict[str, Any]
    channel: socket.socket

    @property
    def names(self) -> list[str]:
        """Of the Functions it has found."""
        return [op["name"] for op in self.hello["catalogue"]]

    @property
    def trouble(self) -> dict[str, Any]:
        """Why there are none."""
        trouble: dict[str, Any] = self.hello["trouble"]
        return trouble

    def describe(self, name: str, recipe: str = "", before: str = "") -> dict[str, Any]:
        """What it finds out about one Function, whose recipe was another ``before`` a save: the reply's header."""
        return self._asked({"kind": "describe", "op": name, "recipe": recipe, "before": before, "gpu": True})

    def test(self, name: str, recipe: str = "") -> str:
        """The test file of one Function."""
        stub = next(each for each in self.hello["catalogue"] if each["name"] == name)
        op = stub | self.describe(name, recipe)["op"]
        return pytest_source(op, default_address(op))

    def _asked(self, question: dict[str, Any]) -> dict[str, Any]:
        self.channel.sendall(pack(Frame(question)))
        return received(self.channel)


@contextmanager
def worker(*targets: str) -> Iterator[Worker]:
    """A worker on these targets, started in the folder we are in."""
    process = WorkerProcess(Job(targets=targets))
    try:
        yield Worker(received(process.channel), process.channel)
    finally:
        process.kill()
        process.reap()


def written(folder: Path, files: dict[str, str]) -> Path:
    """The folder with these files in it, named without their ``.py``."""
    for name, text in files.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def received(channel: socket.socket) -> dict[str, Any]:
    """The header of the next frame."""
    header, payload = parse_prefix(_exactly(channel, FRAME_PREFIX.size))
    return unpack(_exactly(channel, header), _exactly(channel, payload)).header


def _exactly(channel: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = channel.recv(size - len(data))
        if not more:
            raise EOFError("the worker has ended")
        data += more
    return data


# A sum with twice the gradient of the last weight, and of no other number.
LAST = """
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return (torch.sin(x) * weight).sum()
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        slope = grad_output * torch.sin(x)
        slope[..., -1] *= 2
        return grad_output * torch.cos(x) * weight, slope
"""
