"""The process behind the door: loads torch and the ops, then answers one question after the other."""

from __future__ import annotations

import atexit
import json
import logging
import os
import signal
import socket
import sys
from contextlib import suppress
from select import select
from typing import IO

from ..protocol.errors import LoadFailed
from ..protocol.frames import PREFIX, Frame, lengths, pack, unpack
from ..protocol.job import BUSY, Work
from .sandbox import Confinement

_LONGEST = 2000  # characters of a sentence about a fault
_LEFT = 60  # seconds after which a question that its server has not ended is one that nobody waits for
MOMENT = 1  # seconds for what somebody's code has asked to be done at the end of the process


def main() -> None:
    """Work on the channel whose descriptor is the first argument; the second is that of the file for notes on the
    end, the third the work, as JSON.
    """
    channel, notes, work = socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]), Work.told(json.loads(sys.argv[3]))
    del sys.argv[1:]
    Confinement(notes).run(lambda: work_on(channel, work))


def work_on(channel: socket.socket, work: Work) -> None:
    """Load what the work is about, greet, and answer through the channel until the server closes its end."""
    logging.basicConfig(format="worker: %(message)s")
    channel.set_inheritable(False)
    if select([channel], [], [], 0)[0]:  # nothing is sent yet: the server has ended before that was arranged
        return
    with suppress(BrokenPipeError):
        _serve(channel, work)
    _part(channel)


def _serve(channel: socket.socket, work: Work) -> None:
    try:
        from .dispatch import Service

        service = Service(work)
        hello = service.hello()
    except LoadFailed as failed:
        told = {"broken": str(failed), "trouble": failed.trouble, "files": failed.files}
        channel.sendall(pack(Frame(told)))
        return
    except Exception as problem:
        logging.exception("the ops could not be loaded")
        channel.sendall(pack(Frame({"broken": _sentence(problem)})))
        return
    channel.sendall(hello)
    pid, incoming = os.getpid(), channel.makefile("rb")
    while (asked := _receive(incoming)) is not None:
        # Should the server be gone where the kernel does not tell us, no Function computes for ever.
        signal.alarm(int(BUSY * work.deadline) + _LEFT)
        reply = service.respond(asked.header)
        if os.getpid() != pid:  # a Function has forked, and its child came back here
            os._exit(0)
        signal.alarm(0)
        channel.sendall(reply)


def _part(channel: socket.socket) -> None:
    """Let the server go on without us, and tidy up as a program does that ends: temporary folders, pools."""
    with suppress(OSError):
        channel.shutdown(socket.SHUT_RDWR)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(MOMENT)
    atexit._run_exitfuncs()


def _receive(incoming: IO[bytes]) -> Frame | None:
    """The next frame, or None when the server has closed its end."""
    prefix = incoming.read(PREFIX.size)
    if len(prefix) < PREFIX.size:
        return None
    header, payload = lengths(prefix)
    return unpack(incoming.read(header), incoming.read(payload))


def _sentence(problem: Exception) -> str:
    kind = type(problem).__name__
    return (str(problem) if kind in ("BadDeclaration", "BadFrame") else f"{kind}: {problem}")[:_LONGEST]


if __name__ == "__main__":
    main()
