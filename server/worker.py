"""The process behind the door: loads torch and the ops, then answers one question after the other."""

from __future__ import annotations

import ctypes
import logging
import os
import resource
import signal
import socket
import sys
from contextlib import suppress
from select import select
from typing import IO, TYPE_CHECKING, Any

from .frames import PREFIX, BadFrame, Frame, lengths, pack, unpack
from .question import Element, Question

if TYPE_CHECKING:
    from types import ModuleType

PR_SET_PDEATHSIG = 1
LONGEST = 2000  # characters of a sentence about a fault


def main() -> None:
    """Serve the channel whose descriptor is the first argument; the second is the deadline in seconds."""
    logging.basicConfig(format="worker: %(message)s")
    channel, deadline = socket.socket(fileno=int(sys.argv[1])), float(sys.argv[2])
    channel.set_inheritable(False)
    _keep_to_ourselves()
    if select([channel], [], [], 0)[0]:  # nothing is sent yet: the server has ended before that was arranged
        return
    with suppress(BrokenPipeError):
        _serve(channel, deadline)


def _serve(channel: socket.socket, deadline: float) -> None:
    try:
        answer, hello = _load()
    except Exception as problem:
        logging.exception("the ops could not be loaded")
        channel.sendall(pack(Frame({"broken": _sentence(problem)})))
        return
    channel.sendall(hello)
    pid, incoming = os.getpid(), channel.makefile("rb")
    while (asked := _receive(incoming)) is not None:
        # Should the server be gone where the kernel does not tell us, no Function computes for ever.
        signal.alarm(int(deadline) + 5)
        reply = _respond(answer, asked.header)
        if os.getpid() != pid:  # a Function has forked, and its child came back here
            os._exit(0)
        signal.alarm(0)
        channel.sendall(reply)


def _keep_to_ourselves() -> None:
    """Nothing that a Function prints in anybody's terminal or log, no core files, no life after the server's."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _load() -> tuple[ModuleType, bytes]:
    from . import answer
    from .catalogue import catalogue

    answer.warm_up()
    ops = catalogue()
    try:
        return answer, pack(Frame({"catalogue": ops, "device": answer.device()}))
    except BadFrame as problem:
        largest = max(ops, key=lambda op: len(str(op)))["name"]
        raise BadFrame(f"what the ops declare is too large, most of all ops/{largest}.py: {problem}") from None


def _receive(incoming: IO[bytes]) -> Frame | None:
    """The next frame, or None when the server has closed its end."""
    prefix = incoming.read(PREFIX.size)
    if len(prefix) < PREFIX.size:
        return None
    header, payload = lengths(prefix)
    return unpack(incoming.read(header), incoming.read(payload))


def _respond(answer: ModuleType, asked: dict[str, Any]) -> bytes:
    try:
        return pack(Frame(*answer.answer(_question(asked))))
    except answer.BadQuestion as problem:
        return pack(Frame({"bad": str(problem)}))
    except BadFrame as problem:
        said = f"What was found of {asked['op']} cannot be sent: {problem}; ask for fewer points."
        return pack(Frame({"bad": said}))
    except SystemExit as end:  # said by a Function; at once, before the interpreter closes the channel
        os._exit(end.code if isinstance(end.code, int) else 1)
    except Exception as problem:
        logging.exception("a fault of Gradloupe itself")
        return pack(Frame({"fault": _sentence(problem)}))


def _question(plain: dict[str, Any]) -> Question:
    named = {key: plain[key] for key in ("wrt", "of", "wrt2") if plain[key]}
    elements = {key: Element(each["name"], tuple(each["index"])) for key, each in named.items()}
    inputs = {name: tuple(values) for name, values in plain["inputs"].items()}
    return Question(**{**plain, **elements, "inputs": inputs})


def _sentence(problem: Exception) -> str:
    kind = type(problem).__name__
    return (str(problem) if kind in ("BadDeclaration", "BadFrame") else f"{kind}: {problem}")[:LONGEST]


if __name__ == "__main__":
    main()
