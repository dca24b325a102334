"""One worker: handshake, one question at a time, its limits of time and memory, and its end."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..protocol.frames import FRAME_PREFIX, BadFrame, Frame, pack, parse_prefix, unpack
from ..protocol.messages import Greeting, WorkerReply, WorkerRequest, is_greeting, is_reply
from ..protocol.stack_dump import StackFrame
from .crash_report import FORK_LIMIT, ExceededLimit, NoiseSent, WorkerLost
from .worker_process import WorkerProcess

if TYPE_CHECKING:
    from psutil import Process


_MEMORY_CHECK_INTERVAL = 0.1  # seconds between two checks of the memory of a busy worker
_DUMP_TIMEOUT, _POLL_INTERVAL = 2.0, 0.02  # seconds for a worker to dump its stack, and between two checks
_MUCH = 0.1  # share of its time that a worker has waited for a processor on a machine that is busy
_LOG = logging.getLogger("gradloupe")
_FORK_TIMEOUT = 120.0  # seconds for `import torch` on a cold disk


class Worker:
    """A worker process with the channel to it; only one question may be under way at a time."""

    def __init__(self, process: WorkerProcess) -> None:
        self._process = process
        self._reply: asyncio.Future[Frame[Any]] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._killed = False
        self._limit: ExceededLimit | None = None
        self._sends_noise = False
        self._since = time.monotonic()
        self.greeted = False
        self._compiles = False
        self._ended: asyncio.Task[str] | None = None  # the exit status, once the process is gone
        self.asked = ""  # the op that it was last asked for

    @property
    def listens(self) -> bool:
        """Whether the handshake is done and the connection open."""
        return self.greeted and not self._killed and self._writer is not None and not self._writer.is_closing()

    @property
    def pid(self) -> int:
        """The process id, 0 until it is known."""
        return self._process.pid

    @property
    def seconds(self) -> float:
        """How long ago it was last asked, or started."""
        return time.monotonic() - self._since

    async def begin(self) -> Greeting:
        """Connect, and return the greeting; raises ``WorkerLost``."""
        reply = self._expect_reply()
        reader, self._writer = await asyncio.open_unix_connection(sock=self._process.channel)
        self._ended = asyncio.create_task(self._hear_until_its_end(reader, self._writer))
        if self._process.job.text is not None:
            self._writer.write(pack(Frame({"text": self._process.job.text})))
        loading = self._process.job.loading
        await self._wait_until_forked({reply, self._ended}, max(loading, _FORK_TIMEOUT))
        left = loading if self.pid else 0.0
        frame = await self._reply_within(left, f"time of {loading:g} s to load (--loading)", reply)
        if not is_greeting(frame.header):
            raise await self._end_of_noise()
        greeting: Greeting = frame.header
        self.greeted = greeting["kind"] == "hello"
        self._compiles = greeting["kind"] == "hello" and greeting["compiles"]
        return greeting

    async def ask(self, request: WorkerRequest) -> Frame[WorkerReply]:
        """The answer; raises ``WorkerLost``. At the deadline, or when cancelled, it kills the process."""
        assert self._writer is not None
        self.asked = request["question"]["op"] if request["kind"] == "question" else request["op"]
        self._since = time.monotonic()
        reply = self._expect_reply()
        self._writer.write(pack(Frame(request)))
        deadline = self._process.job.seconds(self._compiles)
        frame = await self._reply_within(deadline, f"deadline of {deadline:g} s (--deadline)", reply)
        if not is_reply(frame.header, request):
            raise await self._end_of_noise()
        return frame

    async def close(self) -> None:
        """End the process: kill it while it is busy, else let it run its exit handlers."""
        self._killed = True
        if self._reply is None or not self._reply.done():
            self._process.kill()
        if self._writer is None or self._ended is None:
            await asyncio.to_thread(self._process.reap)
        else:
            self._writer.close()
            await self.ended()

    async def ended(self) -> str:
        """The exit status, once the process is gone; it is reaped even if the caller is cancelled."""
        assert self._ended is not None
        return await asyncio.shield(self._ended)

    async def lost(self) -> WorkerLost:
        """How it has ended, once it has; logged where no report, no load error and no caller that has gone says so."""
        await self.ended()
        lost, job, seconds = self._loss(), self._process.job, round(self.seconds, 1)
        if not (job.report or (self._killed and self._limit is None) or (job.foreign and not self.greeted)):
            since = f"it was asked for {self.asked}" if self.asked else "it was started"
            told = {"op": self.asked, "ended": lost.ended, "seconds": seconds}
            _LOG.warning("The worker process %s, %s s after %s.", lost, seconds, since, extra=told)
        return lost

    async def _end_of_noise(self) -> WorkerLost:
        """End a process that sends something else than it was asked for, and return how it was lost."""
        assert self._writer is not None
        self._sends_noise = True
        self._writer.close()
        await self.ended()
        return self._loss()

    async def _wait_until_forked(self, futures: set[asyncio.Future[Any]], seconds: float) -> None:
        """Wait until the fork server has forked the process; importing torch there is not part of its loading time."""
        now = asyncio.get_running_loop().time
        until = now() + seconds
        while not self.pid and not any(each.done() for each in futures) and now() < until:
            await asyncio.wait(futures, timeout=_POLL_INTERVAL, return_when=asyncio.FIRST_COMPLETED)

    def _expect_reply(self) -> asyncio.Future[Frame[Any]]:
        self._reply = asyncio.get_running_loop().create_future()
        return self._reply

    async def _reply_within(self, seconds: float, limit_name: str, reply: asyncio.Future[Frame[Any]]) -> Frame[Any]:
        """The reply; raises ``WorkerLost`` where the worker ends first, or is killed at a limit."""
        assert self._ended is not None
        futures: set[asyncio.Future[Any]] = {reply, self._ended}
        try:
            self._limit = await self._exceeded_limit(futures, ExceededLimit("Timeout", limit_name), seconds)
            if self._limit is not None:
                await self._locate(futures)
        finally:
            if not (reply.done() or self._ended.done()):  # a late reply would be taken for that of the next question
                self._killed = True
                self._process.kill()
        if reply.done():
            self._limit = None
            return reply.result()
        raise self._loss()

    def _loss(self) -> WorkerLost:
        """How the process has ended, or will now that it was killed."""
        ended = self._ended.result() if self._ended is not None and self._ended.done() else "signal 9, SIGKILL"
        if self._sends_noise:
            return NoiseSent(ended)
        limit = FORK_LIMIT if self._process.hit_fork_limit else self._limit
        return WorkerLost(ended, limit, self._process.stack_dump())

    async def _exceeded_limit(
        self, futures: set[asyncio.Future[Any]], time_limit: ExceededLimit, seconds: float
    ) -> ExceededLimit | None:
        """The limit, of time or of memory, that is exceeded before any of ``futures`` is done; else None.

        Time that the worker spends waiting for a CPU extends its deadline, up to ``Job.patience`` times.
        """
        now, max_memory = asyncio.get_running_loop().time, self._process.job.memory
        start, waited, most = now(), self._process.waited(), self._process.job.patience * seconds
        while (left := start + min(seconds + self._process.waited() - waited, most) - now()) > 0:
            pulse = min(left, _MEMORY_CHECK_INTERVAL) if max_memory else left
            done, _ = await asyncio.wait(futures, timeout=pulse, return_when=asyncio.FIRST_COMPLETED)
            if done:
                return None
            if max_memory and await self._is_above_memory(max_memory, futures, left):
                return ExceededLimit("Memory", f"memory limit of {max_memory} MiB (--memory)")
        if any(each.done() for each in futures):
            return None
        return replace(time_limit, waited=self._process.waited() - waited > _MUCH * (now() - start))

    async def _is_above_memory(self, max_memory: int, futures: set[asyncio.Future[Any]], seconds: float) -> bool:
        """Whether it is known to exceed ``max_memory`` MiB, before any of ``futures`` is done or the time is over."""
        check = asyncio.create_task(asyncio.to_thread(_exceeds_memory, self._process.pid, max_memory))
        # That is measured for every descendant, which takes seconds where there are thousands.
        await asyncio.wait({check, *futures}, timeout=max(seconds, 0.0), return_when=asyncio.FIRST_COMPLETED)
        return check.done() and check.result()

    async def _locate(self, futures: set[asyncio.Future[Any]]) -> None:
        """Have the worker dump its stack, and wait for that."""
        self._process.request_stack_dump()
        last_stack: tuple[StackFrame, ...] = ()
        now = asyncio.get_running_loop().time
        until = now() + _DUMP_TIMEOUT
        while now() < until:
            done, _ = await asyncio.wait(futures, timeout=_POLL_INTERVAL, return_when=asyncio.FIRST_COMPLETED)
            stack = self._process.stack_dump()
            if done or (stack and stack == last_stack):
                return
            last_stack = stack

    async def _hear_until_its_end(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        """The exit status, once the process is gone; sending what is no frame, or not asked for, ends it."""
        try:
            while True:
                header, payload = parse_prefix(await reader.readexactly(FRAME_PREFIX.size))
                frame = unpack(await reader.readexactly(header), await reader.readexactly(payload))
                if self._reply is None or self._reply.done():
                    break
                self._reply.set_result(frame)
        except BadFrame:
            self._sends_noise = True
        except (EOFError, OSError):
            pass
        finally:  # whose loop ends before it leaves no connection behind
            writer.close()
        return await asyncio.to_thread(self._process.reap)


def _exceeds_memory(pid: int, max_memory: int) -> bool:
    """Whether a process and its descendants exceed ``max_memory`` MiB of resident memory.

    Shared pages count once (PSS), where the system reports that.
    """
    import psutil  # imported late: only long questions need it

    try:
        first = psutil.Process(pid)
        family = [first, *first.children(recursive=True)]
    except psutil.Error:
        return False
    if sum(_memory_of(each, whole=True) for each in family) <= max_memory * 2**20:
        return False
    return len(family) == 1 or sum(_memory_of(each, whole=False) for each in family) > max_memory * 2**20


def _memory_of(process: Process, whole: bool) -> int:
    """Bytes of one process: RSS if ``whole``, else PSS; 0 when it has just ended."""
    import psutil

    with suppress(psutil.Error):
        info = process.memory_info() if whole else process.memory_full_info()
        return int(info.rss if whole else getattr(info, "pss", info.rss))
    return 0
