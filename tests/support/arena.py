"""Runs guests in a process of its own, which has one thread, and prints how each has ended; texts are JSON lines."""

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO

from psutil import Process

from gradloupe.server.protocol.job import ONE_THREAD

MAX_GROWTH = 16 * 2**20  # bytes by which it may have grown, whatever it was asked


class Arena:
    """A process that executes texts in guests, one after the other."""

    def __init__(self, channel: subprocess.Popen[str]) -> None:
        self._channel = channel

    def outcome(self, text: str, without: Iterable[str] = (), seconds: float = 2.0) -> str:
        """How a guest with this text has ended: ``loaded``, ``raised …``, ``lost …`` or ``bad reply …``."""
        assert self._channel.stdin
        assert self._channel.stdout
        print(json.dumps([text, list(without), seconds]), file=self._channel.stdin, flush=True)
        said = str(json.loads(self._channel.stdout.readline()))
        return said


@contextmanager
def arena() -> Iterator[Arena]:
    """An arena; at the end it has no child left, and no descriptor that it did not begin with."""
    import os

    process = subprocess.Popen(
        [sys.executable, "-m", "support.arena"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | ONE_THREAD | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with process:
        yield Arena(process)
        assert process.stdin
        process.stdin.close()
        assert process.stdout
        left = json.loads(process.stdout.readline())
        assert (left["children"], left["descriptors"]) == (0, 0)
        assert left["memory"] < MAX_GROWTH
    assert process.returncode == 0


def _serve(requests: IO[str]) -> None:
    import os

    import torch

    from gradloupe.server.sandbox import guest
    from gradloupe.server.sandbox.guest_process import GuestLost, GuestProcess
    from gradloupe.server.sandbox.wire import BadReply

    torch.set_num_threads(1)
    guest.preload()
    exec(__import__("sandbox.attacks", fromlist=["PRELUDE"]).PRELUDE, {})  # noqa: S102 what attacks import is there
    began, held = len(os.listdir("/proc/self/fd")), Process().memory_info().rss
    for line in requests:
        text, without, seconds = json.loads(line)
        process = GuestProcess(seconds, without=frozenset(without))
        try:
            header = process.load(text).header
            said = header["kind"] if header["kind"] == "loaded" else f"raised {header.get('message')}"[:200]
        except GuestLost as lost:
            said = f"lost {lost}"
        except BadReply as bad:
            said = f"bad reply {bad}"
        finally:
            process.close()
        print(json.dumps(said), flush=True)
    try:
        children = 1 + os.waitpid(-1, os.WNOHANG)[0]
    except ChildProcessError:
        children = 0
    memory = Process().memory_info().rss - held
    print(json.dumps({"children": children, "descriptors": len(os.listdir("/proc/self/fd")) - began, "memory": memory}))


if __name__ == "__main__":
    _serve(sys.stdin)
