"""LRU cache of the engine's answers; equal questions at the same time are asked once (single flight)."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from ..protocol.errors import EngineBusy, UnknownOp
from ..protocol.fingerprint import fingerprint
from ..protocol.question import Question
from ..reload.composite_engine import AnyEngine
from ..supervisor.engine import Answer

_MAX_BYTES = 32 * 2**20  # bytes of columns
_HEADER_BYTES = 8192  # bytes that a header takes, roughly

IsDisconnected = Callable[[], Awaitable[bool]]


@dataclass
class PendingAnswer:
    """A question under way, and for each waiting client a test of whether it has disconnected."""

    task: asyncio.Task[Answer]
    waiting: list[IsDisconnected | None] = field(default_factory=list)


class AnswerCache:
    """Answers by op, device and question. A failure is not kept: the next attempt may succeed."""

    def __init__(self, engine: AnyEngine, kept: int = _MAX_BYTES) -> None:
        self._engine = engine
        self._room = kept
        self._answers: OrderedDict[str, Answer] = OrderedDict()
        self._flights: dict[str, PendingAnswer] = {}
        self.hits, self.asked = 0, 0

    async def of(
        self, op: dict[str, Any], device: dict[str, Any], question: Question, gone: IsDisconnected | None
    ) -> Answer:
        """The answer to ``question``; raises what ``Engine.answer`` raises.

        ``gone`` tells whether this client has disconnected: a question for which nobody waits is dropped.
        """
        key = _key(op, device, question)
        answer = self._find(key)
        return await asyncio.shield(self._join(key, op, question, gone).task) if answer is None else answer

    async def soon(
        self, op: dict[str, Any], device: dict[str, Any], question: Question, patience: float
    ) -> Answer | None:
        """The answer if it is there within ``patience`` seconds; else None, and it is cached for the next request.

        Raises what ``Engine.answer`` raises, but for ``EngineBusy``.
        """
        key = _key(op, device, question)
        answer = self._find(key)
        if answer is not None:
            return answer
        task = self._join(key, op, question, None).task
        done, _ = await asyncio.wait({task}, timeout=patience)
        return None if not done or isinstance(task.exception(), EngineBusy) else task.result()

    @property
    def size(self) -> int:
        """The bytes in the cache."""
        return sum(map(_size, self._answers.values()))

    def _find(self, key: str) -> Answer | None:
        answer = self._answers.get(key)
        if answer is not None:
            self._answers.move_to_end(key)
            self.hits += 1
        return answer

    def _join(self, key: str, op: dict[str, Any], question: Question, gone: IsDisconnected | None) -> PendingAnswer:
        flight = self._flights.get(key)
        if flight is None:
            waiting: list[IsDisconnected | None] = []
            task = asyncio.create_task(self._ask(key, op["digest"], question, waiting))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())  # its client may be gone
            flight = self._flights[key] = PendingAnswer(task, waiting)
        flight.waiting.append(gone)
        return flight

    async def _ask(self, key: str, digest: str, question: Question, waiting: list[IsDisconnected | None]) -> Answer:
        async def deserted() -> bool:
            return all([gone is not None and await gone() for gone in waiting])

        self.asked += 1
        try:
            answer = await self._engine.answer(question, deserted)
        except asyncio.CancelledError:  # the server is ending
            raise EngineBusy from None
        finally:
            del self._flights[key]
        # A worker with other code may have taken over meanwhile.
        if answer.header["failure"] is None and await current_digest(self._engine, question.op) == digest:
            self._keep(key, answer)
        return answer

    def _keep(self, key: str, answer: Answer) -> None:
        self._answers[key] = answer
        self._room -= _size(answer)
        while self._room < 0:
            _, oldest = self._answers.popitem(last=False)
            self._room += _size(oldest)


async def current_digest(engine: AnyEngine, name: str) -> str:
    """The digest of the code that is loaded now for this op, empty where there is none."""
    try:
        return str((await engine.stub(name))["digest"])
    except UnknownOp:
        return ""


def _key(op: dict[str, Any], device: dict[str, Any], question: Question) -> str:
    return fingerprint(op["digest"], repr(device), repr(question))


def _size(answer: Answer) -> int:
    return _HEADER_BYTES + sum(column.nbytes for column in answer.columns.values())
