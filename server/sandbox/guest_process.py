"""A guest as its worker holds it: forked, asked one thing at a time within a limit of time, ended and forked anew."""

import os
import select
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import torch

from ..protocol.stack_dump import DUMP_SIGNAL, StackFrame, last_line, parse_stack_dump
from ..runtime.timeouts import NeverReturned, TookTooLong
from .guest import FILE, Claims, become_guest
from .layers import Limits
from .wire import PREFIX, BadReply, Reading, packed, parsed, sizes

_SECONDS = 2.0  # for one call of edited code, in which waiting for a processor does not count
_PATIENCE = 2.0  # times as long it may take by the clock, which is less than a question may
_START = 20.0  # seconds to be forked and confined
_MUCH, _LAST = 0.3, 19  # seconds of a processor for one call, and the priority from then on
_MOST_GUESTS = 8  # forked for one question
_MOST_RECEIVED = 2**18  # bytes at once
_PULSE, _DUMP_TIME, _MAX_DUMP = 0.05, 2.0, 2**15


_Result = TypeVar("_Result")


class GuestLost(Exception):
    """The guest has ended, or was ended, before it answered; it was ``running`` these functions and lines of the text.

    The outermost comes first.
    """

    def __init__(self, sentence: str, stack: Sequence[StackFrame] = ()) -> None:
        super().__init__(sentence + last_line(stack, FILE))
        self.running = [(call.function, call.line) for call in reversed(stack) if call.lies_in(FILE)]


class TimedOut(GuestLost, NeverReturned):
    """It was ended at its limit of time."""


class ProcessEnded(GuestLost):
    """Its process has ended by itself."""


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


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Hold back the alarm of a time limit, which repeats itself."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGALRM,))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@dataclass
class GuestProcess:
    """The guest that executes one text; forked when it is first asked, and again after it was lost.

    It gets ``seconds`` for each call. Layers ``without`` are left out, which is for tests of the others. ``claims`` is
    asked there what a Function claims of itself.
    """

    seconds: float = _SECONDS
    limits: Limits = field(default_factory=Limits)
    without: frozenset[str] = frozenset()
    claims: Claims = lambda function: None
    text: str = ""
    pid: int = 0
    forked: int = 0  # how many guests there were since the question began
    lost: dict[str, Exception] = field(default_factory=dict)  # how it was lost, by the kind of the request
    generator: torch.Tensor | None = None  # the state of torch's generator that the guest was given last
    forgotten: list[int] = field(default_factory=list)  # graphs that the guest may forget

    def begin(self) -> None:
        """Begin another question: what has gone wrong before may be tried again."""
        self.forked, self.lost = 0, {}
        if self.pid and self._scheduled()[0] > self.limits.cpu / 2:  # else it might be ended in the middle
            self.close()
        if self.pid:
            os.kill(self.pid, signal.SIGCONT)

    def pause(self) -> None:
        """Stop the guest until the next question, which it might not wait for without using a processor."""
        if self.pid:
            os.kill(self.pid, signal.SIGSTOP)

    def prepare(self) -> None:
        """Fork the guest, before there is a text. Raises ``GuestLost`` and ``BadReply``."""
        with self._ended_on_failure("ready"):
            if not self.pid:
                self._start()

    def load(self, text: str) -> Reply:
        """What the guest has said of its text when it has executed that. Raises what ``ask`` raises."""
        self.text = text
        self.prepare()
        with self._ended_on_failure("load"):
            return self._exchange(packed({"kind": "load", "text": text}, []), "loaded")

    def ask(self, header: dict[str, Any], segments: list[bytes]) -> Reply:
        """The reply to a request. Raises ``GuestLost`` where there is none, and ``BadReply`` for a hostile one.

        Whatever is raised while it is waited for, a time limit for instance, ends the guest. Until the next question a
        request of a kind that it did not survive is not made again.
        """
        kind = header["kind"]
        if not (self.pid or kind in self.lost):
            self.load(self.text)
        with self._ended_on_failure(kind):
            return self._exchange(packed(header, segments), "returned")

    @contextmanager
    def _ended_on_failure(self, kind: str) -> Iterator[None]:
        if kind in self.lost:
            raise self.lost[kind]
        try:
            yield
        except TookTooLong as limit:
            with _undisturbed():
                limit.place = limit.place or last_line(self._stack(), FILE)
                self.close()
            raise
        except (GuestLost, BadReply) as lost:
            self.close()
            self.lost[kind] = lost
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
            self.generator, self.forgotten = None, []

    def _start(self) -> None:
        self.forked += 1
        if self.forked > _MOST_GUESTS:
            raise ProcessEnded("it ended its process again and again")
        self._channel, theirs = socket.socketpair()
        self._dumps, dumping = os.pipe()
        os.set_blocking(self._dumps, False)
        try:
            self.pid = os.fork()
            if self.pid == 0:
                become_guest(theirs.fileno(), dumping, self.limits, self.without, self.claims)
        finally:
            theirs.close()
            os.close(dumping)
        pulse = struct.pack("ll", 0, int(_PULSE * 1e6))
        self._channel.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, pulse)
        self._channel.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, pulse)
        self._buffer = bytearray()
        self._begin_limit(_START)
        ready = self._received("ready", "refused").header
        if ready["kind"] == "refused" or ready.get("parent") != os.getpid():
            raise GuestLost(f"it is not run: this system has no sandbox without {str(ready.get('without'))[:100]}")

    def _exchange(self, frame: bytes, kind: str) -> Reply:
        """The reply to a frame: of this kind, or ``raised``."""
        if self._buffer or self._has_more():
            raise BadReply("it has answered before it was asked")
        self._begin_limit(self.seconds)
        view = memoryview(frame)
        try:
            while view:
                view = view[self._within_limit(partial(self._channel.send, view)) :]
        except (BrokenPipeError, ConnectionResetError):
            raise self._end() from None
        return self._received(kind, "raised")

    def _has_more(self) -> bool:
        try:
            return bool(self._channel.recv(1, socket.MSG_DONTWAIT))
        except BlockingIOError:
            return False
        except ConnectionResetError:
            raise self._end() from None

    def _received(self, *kinds: str) -> Reply:
        """The next frame. Raises ``GuestLost`` and ``BadReply``."""
        head, payload = sizes(self._bytes(PREFIX.size))
        header, reading = parsed(self._bytes(head)), Reading(self._bytes(payload))
        if header.get("kind") not in kinds:
            raise BadReply("a reply is of another kind")
        return Reply(header, reading)

    def _bytes(self, size: int) -> bytes:
        """So many bytes, of those that have come already and of those that come."""
        while len(self._buffer) < size:
            try:
                part = self._within_limit(partial(self._channel.recv, _MOST_RECEIVED))
            except ConnectionResetError:
                part = b""
            if not part:
                raise self._end()
            self._buffer += part
            if time.monotonic() > self._began + self._limit:
                self._check_time()
        taken = bytes(memoryview(self._buffer)[:size])
        del self._buffer[:size]
        return taken

    def _begin_limit(self, seconds: float) -> None:
        self._limit, self._began = seconds, time.monotonic()
        self._at_first: tuple[float, float] | None = None

    def _within_limit(self, act: Callable[[], _Result]) -> _Result:
        """What an act on the channel returns, which is tried until the time is up. Raises ``TimedOut``."""
        while True:
            try:
                return act()
            except BlockingIOError:
                self._check_time()

    def _check_time(self) -> None:
        ran, waited = self._scheduled()
        self._at_first = self._at_first or (ran, waited)
        if ran - self._at_first[0] > _MUCH:  # others come first
            os.setpriority(os.PRIO_PROCESS, self.pid, _LAST)
        more = min(waited - self._at_first[1], (_PATIENCE - 1) * self._limit)
        if time.monotonic() - self._began > self._limit + more:
            raise TimedOut(f"it did not return within {self._limit:g} s", self._stack())

    def _scheduled(self) -> tuple[float, float]:
        """Seconds for which the guest has run, and could have run while other processes had the CPU."""
        try:
            ran, waited, _ = Path(f"/proc/{self.pid}/schedstat").read_text().split()
        except (OSError, ValueError):
            return 0.0, 0.0
        return 1e-9 * int(ran), 1e-9 * int(waited)

    def _end(self) -> ProcessEnded:
        """How the guest has ended by itself."""
        self._channel.close()
        until = time.monotonic() + _DUMP_TIME
        while not (ended := os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)):
            if time.monotonic() > until:
                return ProcessEnded("it closed the channel of its process")
            time.sleep(_PULSE / 10)
        if ended.si_code == os.CLD_EXITED:
            return ProcessEnded(f"it ended its process with exit code {ended.si_status}", self._stack())
        named = ended.si_status in signal.valid_signals()
        name = signal.Signals(ended.si_status).name if named else f"signal {ended.si_status}"
        return ProcessEnded(f"it ended its process by {name}", self._stack())

    def _stack(self) -> tuple[StackFrame, ...]:
        """The stack that is running, or was when the process ended, innermost first."""
        if not self.pid:
            return ()
        os.kill(self.pid, DUMP_SIGNAL)
        dump, until = b"", time.monotonic() + _DUMP_TIME
        while len(dump) < _MAX_DUMP and time.monotonic() < until:
            if select.select([self._dumps], [], [], _PULSE)[0]:
                part = os.read(self._dumps, _MAX_DUMP)
                dump += part
                if not part:
                    break
            elif dump:  # it is written line by line
                break
        return parse_stack_dump(dump.decode("ascii", "replace"))
