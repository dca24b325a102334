"""A guest as its worker holds it: forked, asked one thing at a time within a limit of time, ended and forked anew."""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..protocol.stack_dump import DUMP_SIGNAL, last_line, parse_stack_dump
from ..runtime.timeouts import TookTooLong
from .guest import FILE, become_guest
from .layers import Limits
from .wire import PREFIX, BadReply, Reading, packed, parsed, sizes

_SECONDS = 2.0  # for one call of edited code, in which waiting for a processor does not count
_PATIENCE = 5.0  # times as long it may take by the clock
_START = 20.0  # seconds to be forked and confined
_MOST_GUESTS = 8  # forked for one question
_PULSE, _DUMP_TIME, _MAX_DUMP = 0.05, 1.0, 2**15


class GuestLost(Exception):
    """The guest has ended, or was ended, before it answered; the message goes on after "edited code"."""


@dataclass(frozen=True)
class Reply:
    """A reply of the guest, of a kind that was asked for, and what reads its values; both may be hostile."""

    header: dict[str, Any]
    reading: Reading

    def get(self, name: str, kind: type) -> Any:
        """A field of this very type. Raises ``BadReply``."""
        value = self.header.get(name)
        if type(value) is not kind:
            raise BadReply(f"{name} is no {kind.__name__}")
        return value


@dataclass
class GuestProcess:
    """The guest that executes ``text``; forked when it is first asked, and again after it was lost.

    It gets ``seconds`` for each call. Layers ``without`` are left out, which is for tests of the others.
    """

    text: str
    seconds: float = _SECONDS
    limits: Limits = field(default_factory=Limits)
    without: frozenset[str] = frozenset()
    pid: int = 0
    forked: int = 0  # how many guests there were since the question began
    lost: GuestLost | None = None

    def begin(self) -> None:
        """Begin another question: what has gone wrong before may be tried again."""
        self.forked, self.lost = 0, None

    def load(self) -> Reply:
        """What the guest has said of the text when it has executed it. Raises what ``ask`` raises."""
        with self._ended_on_failure():
            if not self.pid:
                self._loaded = self._start()
            return self._loaded

    def ask(self, header: dict[str, Any], segments: list[bytes]) -> Reply:
        """The reply to a request. Raises ``GuestLost`` where there is none, and ``BadReply`` for a hostile one.

        Whatever is raised while it is waited for, a time limit for instance, ends the guest.
        """
        self.load()
        with self._ended_on_failure():
            return self._exchange(packed(header, segments), "returned")

    @contextmanager
    def _ended_on_failure(self) -> Iterator[None]:
        if self.lost is not None:
            raise self.lost
        try:
            yield
        except TookTooLong as limit:
            limit.place = limit.place or self._place()
            self.close()
            raise
        except GuestLost as lost:
            self.close()
            self.lost = lost
            raise
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the guest, and release everything."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = 0
            self._channel.close()
            os.close(self._dumps)

    def _start(self) -> Reply:
        self.forked += 1
        if self.forked > _MOST_GUESTS:
            raise GuestLost("has ended its process again and again; look at the first error")
        self._channel, theirs = socket.socketpair()
        self._dumps, dumping = os.pipe()
        os.set_blocking(self._dumps, False)
        try:
            self.pid = os.fork()
            if self.pid == 0:
                become_guest(theirs.fileno(), dumping, self.limits, self.without)
        finally:
            theirs.close()
            os.close(dumping)
        ready = self._received(_START, "ready", "refused").header
        if ready["kind"] == "refused" or ready.get("parent") != os.getpid():
            raise GuestLost(f"was not run: this system has no sandbox without {str(ready.get('without'))[:100]}")
        return self._exchange(packed({"kind": "load", "text": self.text}, []), "loaded")

    def _exchange(self, frame: bytes, kind: str) -> Reply:
        """The reply to a frame: of this kind, or ``raised``."""
        if select.select([self._channel], [], [], 0)[0]:
            raise BadReply("it has answered before it was asked")
        until = time.monotonic() + self.seconds * _PATIENCE
        view = memoryview(frame)
        with suppress(BrokenPipeError, ConnectionResetError):
            while view and time.monotonic() < until:
                if select.select([], [self._channel], [], _PULSE)[1]:
                    view = view[self._channel.send(view, socket.MSG_DONTWAIT) :]
        return self._received(self.seconds, kind, "raised")

    def _received(self, seconds: float, *kinds: str) -> Reply:
        """The next frame. Raises ``GuestLost`` and ``BadReply``."""
        self._began, self._waited, self._limit = time.monotonic(), self._waiting(), seconds
        head, payload = sizes(self._bytes(PREFIX.size))
        header, reading = parsed(self._bytes(head)), Reading(self._bytes(payload))
        if header.get("kind") not in kinds:
            raise BadReply("a reply is of another kind")
        return Reply(header, reading)

    def _bytes(self, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            if not select.select([self._channel], [], [], _PULSE)[0]:
                self._check_time()
                continue
            try:
                part = self._channel.recv(size - len(received))
            except ConnectionResetError:
                part = b""
            if not part:
                raise GuestLost(self._end())
            received += part
        return bytes(received)

    def _check_time(self) -> None:
        took = time.monotonic() - self._began
        if took > self._limit + min(self._waiting() - self._waited, (_PATIENCE - 1) * self._limit):
            raise GuestLost(f"did not return within {self._limit:g} s{self._place()}")

    def _waiting(self) -> float:
        """Seconds for which the guest could have run while other processes had the CPU."""
        try:
            return 1e-9 * int(Path(f"/proc/{self.pid}/schedstat").read_text().split()[1])
        except (OSError, IndexError, ValueError):
            return 0.0

    def _end(self) -> str:
        """How the guest has ended by itself, in words."""
        self._channel.close()
        time_left = time.monotonic() + _DUMP_TIME
        while not (ended := os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)):
            if time.monotonic() > time_left:
                return "closed its channel"
            time.sleep(_PULSE / 10)
        if ended.si_code == os.CLD_EXITED:
            return f"ended its process with exit code {ended.si_status}"
        name = signal.Signals(ended.si_status).name if ended.si_status in signal.valid_signals() else ended.si_status
        return f"ended its process by {name}{self._place()}"

    def _place(self) -> str:
        """The line that is running, or was when the process ended, as the end of a sentence."""
        if not self.pid:
            return ""
        with suppress(ProcessLookupError):
            os.kill(self.pid, DUMP_SIGNAL)
        dump, until = b"", time.monotonic() + _DUMP_TIME
        while len(dump) < _MAX_DUMP and time.monotonic() < until and b"\n" not in dump[-1:]:
            if select.select([self._dumps], [], [], _PULSE)[0]:
                part = os.read(self._dumps, _MAX_DUMP)
                dump += part
                if not part:
                    break
        return last_line(parse_stack_dump(dump.decode("ascii", "replace")), FILE)
