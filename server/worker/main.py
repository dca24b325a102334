"""The main loop of a worker process: loads the ops, sends the greeting, then answers one request after the other."""

import atexit
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, Any

from ..protocol.errors import LoadFailed
from ..protocol.frames import FRAME_PREFIX, Frame, pack, parse_prefix, unpack
from ..protocol.job import Job
from ..protocol.messages import BrokenMessage, WorkerRequest
from ..schema.op import LoadError
from .sandbox import Sandbox

_MAX_SENTENCE = 2000  # characters of a sentence about a fault
_GRACE_PERIOD = 60  # seconds beyond its limit after which a question that the server did not end ends this process
_EXIT_TIMEOUT = 1  # seconds for the exit handlers of user code


def main() -> None:
    """Run a worker; arguments: the descriptors of its channel and of the file for its stack dump, the job as JSON."""
    channel, notes, job = (
        socket.socket(fileno=int(sys.argv[1])),
        int(sys.argv[2]),
        Job.from_json(json.loads(sys.argv[3])),
    )
    del sys.argv[1:]
    Sandbox(notes).run(lambda: run_worker(channel, job))


def run_worker(channel: socket.socket, job: Job) -> None:
    """Load the ops, send the greeting, and answer requests until the server closes its end."""
    logging.basicConfig(format="worker: %(message)s")
    channel.set_inheritable(False)
    with suppress(BlockingIOError):
        if not channel.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT):  # the server is gone
            return
    with suppress(BrokenPipeError):
        _serve(channel, job)
    _disconnect(channel)


def _serve(channel: socket.socket, job: Job) -> None:
    pid, incoming = os.getpid(), channel.makefile("rb")
    try:
        from .dispatch import Dispatcher

        dispatcher = Dispatcher(job, lambda: _received_text(incoming))
        hello = dispatcher.hello()
    except LoadFailed as failed:
        channel.sendall(_broken(str(failed), failed.trouble, failed.files))
        return
    except Exception as problem:
        logging.exception("the ops could not be loaded")
        channel.sendall(_broken(_sentence(problem)))
        return
    channel.sendall(hello)
    while (request := _receive(incoming)) is not None:
        # A watchdog for the case that the server is gone and the kernel does not signal that (PR_SET_PDEATHSIG).
        signal.alarm(int(job.patience * job.seconds(dispatcher.compiles)) + _GRACE_PERIOD)
        reply = dispatcher.respond(request.header)
        if os.getpid() != pid:  # a forked copy has returned here from user code
            os._exit(0)
        signal.alarm(0)
        channel.sendall(reply)
        if dispatcher.lost_gpu:
            return


def _disconnect(channel: socket.socket) -> None:
    """Close the channel, then run the exit handlers of user code: temporary folders, pools."""
    with suppress(OSError):
        channel.shutdown(socket.SHUT_RDWR)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(_EXIT_TIMEOUT)
    atexit._run_exitfuncs()


def _broken(sentence: str, trouble: LoadError | None = None, files: Sequence[str] = ()) -> bytes:
    message: BrokenMessage = {"kind": "broken", "sentence": sentence, "trouble": trouble, "files": list(files)}
    return pack(Frame(message))


def _receive(incoming: IO[bytes]) -> Frame[WorkerRequest] | None:
    """The next frame, or None when the server has closed its end."""
    prefix = incoming.read(FRAME_PREFIX.size)
    if len(prefix) < FRAME_PREFIX.size:
        return None
    header, payload = parse_prefix(prefix)
    return unpack(incoming.read(header), incoming.read(payload))


def _received_text(incoming: IO[bytes]) -> str:
    """The code that was edited; ends the process where the server is gone before there is one."""
    frame: Frame[Any] | None = _receive(incoming)
    if frame is None:
        sys.exit()
    return str(frame.header["text"])


def _sentence(problem: Exception) -> str:
    kind = type(problem).__name__
    return (str(problem) if kind in ("BadDeclaration", "BadFrame") else f"{kind}: {problem}")[:_MAX_SENTENCE]


if __name__ == "__main__":
    main()
