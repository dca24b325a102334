"""LRU cache of the engine's answers; equal questions at the same time are asked once (single flight)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from cachetools import LRUCache

from ..protocol.answer import Answer
from ..protocol.errors import EngineBusy, UnknownOp
from ..protocol.fingerprint import fingerprint
from ..protocol.question import Question
from ..reload.composite_engine import AnyEngine
from ..schema.op import DeviceSummary, OpDescription

_MAX_BYTES = 32 * 2**20
_OBJECTS_PER_JSON = 3  # bytes that a header takes as Python objects, for each byte of its JSON

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
        self._answers: LRUCache[str, Answer] = LRUCache(kept, _size)
        self._flights: dict[str, PendingAnswer] = {}
        self.hits, self.asked = 0, 0

    async def of(
        self, op: OpDescription, device: DeviceSummary, question: Question, gone: IsDisconnected | None
    ) -> Answer:
        """The answer to ``question``; raises what ``Engine.answer`` raises.

        ``gone`` tells whether this client has disconnected: a question for which nobody waits is dropped.
        """
        key = _key(op, device, question)
        answer = self._find(key)
        return await asyncio.shield(self._join(key, op, question, gone).task) if answer is None else answer

    async def soon(
        self, op: OpDescription, device: DeviceSummary, question: Question, patience: float
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
        return int(self._answers.currsize)

    def _find(self, key: str) -> Answer | None:
        answer = self._answers.get(key)
        self.hits += answer is not None
        return answer

    def _join(self, key: str, op: OpDescription, question: Question, gone: IsDisconnected | None) -> PendingAnswer:
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
        if is_lasting(answer, question) and await current_digest(self._engine, question.op) == digest:
            self._answers[key] = answer
        return answer


def is_lasting(answer: Answer, question: Question) -> bool:
    """Whether the same answer would be given again: nothing has failed, and no time ran out for torch.compile."""
    header = answer.header
    if header["failure"] is not None:
        return False
    badges = header["badges"] if question.compile and header["view"] == "contract" else []
    return all(each["name"] != "compile" or each["state"] != "unknown" for each in badges)


async def current_digest(engine: AnyEngine, name: str) -> str:
    """The digest of the code that is loaded now for this op, empty where there is none."""
    try:
        return str((await engine.stub(name))["digest"])
    except UnknownOp:
        return ""


def _key(op: OpDescription, device: DeviceSummary, question: Question) -> str:
    return fingerprint(op["digest"], repr(device), repr(question))


def _size(answer: Answer) -> int:
    return _OBJECTS_PER_JSON * answer.header_bytes + sum(column.nbytes for column in answer.columns.values())
