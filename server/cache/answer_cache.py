"""LRU cache of the engine's answers; equal questions at the same time are asked once (single flight)."""

import asyncio
from functools import partial

from cachetools import LRUCache

from ..protocol.answer import Answer
from ..protocol.errors import EngineBusy, UnknownOp
from ..protocol.fingerprint import fingerprint
from ..protocol.question import Question
from ..reload.composite_engine import AnyEngine
from ..schema.op import DeviceSummary, OpDescription
from ..supervisor.single_flight import IsDisconnected, SingleFlight
from .visitor import Shares, Visitor

_MAX_BYTES = 32 * 2**20
# Bytes that an answer takes as Python objects, for each byte of its header as JSON, and for each column.
_PER_JSON, _PER_COLUMN = 4, 500
_SHARE = "One address may have {} new questions under way at once; ask again in a second, when some are answered."


class AnswerCache:
    """Answers by op, device and question. A failure is not kept: the next attempt may succeed.

    One visitor may have ``share`` questions under way that nobody else has asked; 0 means no limit.
    """

    def __init__(self, engine: AnyEngine, share: int = 0, kept: int = _MAX_BYTES) -> None:
        self._engine = engine
        self._answers: LRUCache[str, Answer] = LRUCache(kept, _size)
        self._flights: SingleFlight[Answer] = SingleFlight()
        self.shares = Shares(share, _SHARE)
        self.hits, self.asked = 0, 0

    async def of(self, op: OpDescription, device: DeviceSummary, question: Question, visitor: Visitor) -> Answer:
        """The answer to ``question``; raises what ``Engine.answer`` raises, and ``EngineBusy`` beyond the share.

        A question is dropped once all who wait for it have disconnected.
        """
        key = _key(op, device, question)
        answer = self._find(key)
        if answer is not None:
            return answer
        return await asyncio.shield(self._join(key, op, question, visitor.address, visitor.gone))

    async def soon(
        self, op: OpDescription, device: DeviceSummary, question: Question, patience: float, visitor: Visitor
    ) -> Answer | None:
        """The answer if it is there within ``patience`` seconds; else None, and it is cached for the next request.

        Raises what ``Engine.answer`` raises, but for ``EngineBusy``.
        """
        key = _key(op, device, question)
        answer = self._find(key)
        if answer is not None:
            return answer
        task = self._join(key, op, question, visitor.address, None)
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

    def _join(
        self, key: str, op: OpDescription, question: Question, address: str, gone: IsDisconnected | None
    ) -> asyncio.Task[Answer]:
        return self._flights.join(key, partial(self._ask, key, op["digest"], question, address), gone)

    async def _ask(self, key: str, digest: str, question: Question, address: str, deserted: IsDisconnected) -> Answer:
        with self.shares.one(address):
            self.asked += 1
            answer = await self._engine.answer(question, deserted, address)
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
    columns = answer.columns.values()
    return _PER_JSON * answer.header_bytes + _PER_COLUMN * len(columns) + sum(column.nbytes for column in columns)
