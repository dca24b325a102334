"""The engine: puts questions to a worker process, and limits the queue; the worker may die and is replaced."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict

from cachetools import LRUCache

from ..protocol.answer import Answer
from ..protocol.errors import OUTCOMES, BadQuestion, EngineBusy, EngineFault, Refusal, UnknownOp, Unsolved
from ..protocol.frames import Frame
from ..protocol.job import Job
from ..protocol.load_error import load_error
from ..protocol.messages import (
    DescribedMessage,
    HelloMessage,
    QuestionRequest,
    UnsolvedMessage,
    WorkerRequest,
    WorkerResult,
)
from ..protocol.question import Question
from ..schema.op import DeviceSummary, LoadError, OpDescription, OpStub, is_described
from .crash_report import GpuLost, WorkerLost, crash_answer, inference_crash
from .single_flight import IsDisconnected, SingleFlight
from .supervisor import EngineCounters, Supervisor
from .worker_process import WorkerProcess

QUEUE_SIZE = 64
_RETRY_AFTER = 60.0  # seconds until inference that has crashed its worker is tried again
_ON_THE_CPU = (
    "On the GPU it caused “{}”, after which a process cannot use the GPU any more; so the CPU was used instead."
)
_MAX_DESCRIBED = 512  # cached descriptions of user Functions, one a recipe

Catalogue = dict[str, OpStub]


class Engine:
    """Asks one worker process at a time. All of it runs in the event loop that called ``connect``."""

    def __init__(self, process: WorkerProcess, counters: EngineCounters | None = None) -> None:
        self._supervisor = Supervisor(process, counters or EngineCounters())
        self.outcomes = self._supervisor.counters.outcomes
        self._described: LRUCache[tuple[str, str, str], DescribedMessage | UnsolvedMessage] = LRUCache(_MAX_DESCRIBED)
        self._descriptions: SingleFlight[None] = SingleFlight()  # under way
        self._previous_recipes: dict[tuple[str, str], str] = {}
        self.last_loss: WorkerLost | None = None  # of the last worker that did not survive a question
        self._waiting = 0
        self._idle = asyncio.Event()  # set while no question waits
        self._turn = asyncio.Lock()

    @classmethod
    def spawn(cls, job: Job | None = None) -> Engine:
        """Start the worker, by default that of the gallery; it loads torch while the caller goes on."""
        return cls(WorkerProcess(job or Job()))

    async def connect(self) -> None:
        """Connect to the worker, and supervise it from now on."""
        self._supervising = asyncio.create_task(self._supervisor.supervise())

    async def close(self) -> None:
        """End the worker and release everything."""
        self._supervising.cancel()
        with suppress(asyncio.CancelledError):
            await self._supervising
        await self._supervisor.close()

    @property
    def job(self) -> Job:
        """The job of its workers."""
        return self._supervisor.job

    @property
    def broken(self) -> str:
        """The sentence that says why nothing can be answered; empty while something can."""
        return self._supervisor.broken

    @property
    def restarts(self) -> int:
        """How many workers were replaced."""
        return self._supervisor.counters.restarts

    @property
    def ready(self) -> bool:
        """Whether a worker listens and has loaded its ops."""
        return self._supervisor.connection.listens and not self.broken

    @property
    def starting(self) -> bool:
        """Whether the catalogue is not known yet; while a worker is replaced later, it is."""
        return self._supervisor.last_hello is None and not self.broken

    @property
    def waiting(self) -> int:
        """How many questions are not answered yet."""
        return self._waiting

    @property
    def worker(self) -> int:
        """The process id of the present worker."""
        return self._supervisor.connection.pid

    @property
    def trouble(self) -> LoadError | None:
        """The load error of the user's file; None while nothing is broken."""
        if not self.broken:
            return None
        greeting = self._supervisor.last_greeting
        known = greeting["trouble"] if greeting and greeting["kind"] == "broken" else None
        return (known or load_error(self.broken)) | {"sentence": self.broken}

    @property
    def files(self) -> list[str]:
        """The user's files that the last worker has read, as absolute paths."""
        greeting = self._supervisor.last_greeting
        return list(greeting["files"]) if greeting else []

    @property
    def notes(self) -> list[str]:
        """Remarks on what the user's files do when they are loaded."""
        hello = self._supervisor.last_hello
        return list(hello["notes"]) if hello else []

    async def wait_ready(self) -> None:
        """Return when a worker listens; raises ``EngineBroken`` when none will, ``EngineBusy`` at the server's end."""
        try:
            await self._supervisor.listening()
        except asyncio.CancelledError:
            raise EngineBusy from None

    async def waits_for(self, name: str) -> bool:
        """Whether it is not known yet if there is an op of that name."""
        return self.starting

    async def idle(self) -> None:
        """Return when no question waits."""
        if self._waiting:
            await self._idle.wait()

    async def catalogue(self) -> Catalogue:
        """What is known of each op without calling it, by name."""
        await self._hello()
        return self._supervisor.catalogue

    async def op(self, name: str, recipe: str = "") -> OpDescription:
        """The description of an op; a user's own as called by ``recipe``, or by what inference finds where that is "".

        Raises ``UnknownOp``, ``Unsolved``, ``BadQuestion`` for an invalid recipe, and what ``answer`` raises.
        """
        stub = await self.stub(name)
        if is_described(stub):
            return stub
        key = (stub["digest"], name, recipe)
        if key not in self._described:
            await asyncio.shield(self._descriptions.join(repr(key), lambda _: self._describe(key, stub)))
        described = self._described[key]
        if described["kind"] == "unsolved":
            raise Unsolved(described["op"])
        return described["op"]

    @property
    def recipes(self) -> dict[tuple[str, str], str]:
        """By name and requested recipe: the recipe that each Function is called by, or last was when that worked."""
        recipes = {key: each["op"]["recipe"] for key, each in self._described.items() if each["kind"] == "described"}
        current = {(name, requested): used for (_, name, requested), used in recipes.items() if used}
        return dict(list({**self._previous_recipes, **current}.items())[-_MAX_DESCRIBED:])

    def inherit(self, recipes: dict[tuple[str, str], str]) -> None:
        """Start inference from the recipes that worked before the file was saved."""
        self._previous_recipes = recipes

    async def stub(self, name: str) -> OpStub:
        """What is known of an op without calling it; raises ``UnknownOp``."""
        stub = (await self.catalogue()).get(name)
        if stub is None:
            raise UnknownOp(name)
        return stub

    async def device(self) -> DeviceSummary:
        """The devices of this machine and the release of torch."""
        return (await self._hello())["device"]

    async def answer(self, question: Question, gone: IsDisconnected | None = None) -> Answer:
        """The view asked for; or a crash report, where the worker did not survive the question.

        ``gone`` tells, after a wait in the queue, whether the client has disconnected. Raises ``BadQuestion``,
        ``EngineBusy``, ``EngineBroken`` and ``EngineFault``.
        """
        try:
            frame = await self._answer(question, gone)
        except tuple(OUTCOMES) as problem:
            self.outcomes[OUTCOMES[type(problem)]] += 1
            raise
        failure = frame.header["failure"]
        phase = failure["phase"] if failure else ""
        self.outcomes[{"": "answered", "worker": "lost"}.get(phase, "failed")] += 1
        return frame

    async def _answer(self, question: Question, gone: IsDisconnected | None) -> Answer:
        before = self._previous_recipes.get((question.op, question.recipe), "")
        request: QuestionRequest = {"kind": "question", "question": asdict(question), "before": before}
        try:
            return await self._answer_on_a_device(request, gone)
        except WorkerLost as lost:
            self.last_loss = lost
            return crash_answer(lost, question, await self.stub(question.op), await self.device())

    async def _answer_on_a_device(self, request: QuestionRequest, gone: IsDisconnected | None) -> Answer:
        """The answer on the device that is asked for, or on the CPU where the Function breaks the GPU."""
        try:
            return _answer_in(await self._exchange(request, gone))
        except GpuLost as lost:
            on_the_cpu: QuestionRequest = {**request, "question": request["question"] | {"device": "cpu"}}
            answer = _answer_in(await self._exchange(on_the_cpu, gone))
            answer.header["notes"].append(_ON_THE_CPU.format(lost.error))
            return answer

    async def _describe(self, key: tuple[str, str, str], stub: OpStub) -> None:
        """Have a user's own op described, and cache that; after a crash for a while only."""
        _, name, recipe = key
        before = self._previous_recipes.get((name, recipe), "")
        try:
            frame = await self._exchange({"kind": "describe", "op": name, "recipe": recipe, "before": before}, None)
        except WorkerLost as lost:
            self.last_loss = lost
            self._described[key] = {"kind": "unsolved", "op": inference_crash(lost, stub, recipe), "read": []}
            asyncio.get_running_loop().call_later(_RETRY_AFTER, self._described.pop, key, None)
        else:
            assert frame.header["kind"] != "answer"
            self._described[key] = frame.header

    async def _exchange(self, request: WorkerRequest, gone: IsDisconnected | None) -> Frame[WorkerResult]:
        """The reply of the worker; raises ``WorkerLost`` where it did not survive the question."""
        async with self._place_in_queue():
            waited = self._turn.locked()
            async with self._turn:
                if waited and gone is not None and await gone():
                    raise EngineBusy
                try:
                    frame = await self._supervisor.ask(request)
                except (WorkerLost, EngineFault) as problem:
                    if not self._may_succeed_after(problem):
                        raise
                    frame = await self._supervisor.ask(request)
        if frame.header["kind"] == "refused":
            raise BadQuestion.of(Refusal(*each) for each in frame.header["refusals"])
        return Frame(frame.header, frame.columns, frame.header_bytes)

    def _may_succeed_after(self, problem: WorkerLost | EngineFault) -> bool:
        """Whether to ask a new worker once more: questions are idempotent, and something else may have spoiled the old.

        A report asks once more by itself when nothing else is under way.
        """
        if isinstance(problem, EngineFault):
            return bool(self.job.targets)
        return not (problem.at_limit or self.job.report)

    @asynccontextmanager
    async def _place_in_queue(self) -> AsyncIterator[None]:
        if self._waiting >= QUEUE_SIZE:
            raise EngineBusy
        self._waiting += 1
        self._idle.clear()
        try:
            yield
        except asyncio.CancelledError:  # the server is ending, and its time to finish is over
            raise EngineBusy from None
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._idle.set()

    async def _hello(self) -> HelloMessage:
        if self.broken or self._supervisor.last_hello is None:
            await self.wait_ready()
        assert self._supervisor.last_hello is not None
        return self._supervisor.last_hello


def _answer_in(frame: Frame[WorkerResult]) -> Answer:
    assert frame.header["kind"] == "answer"
    return Frame(frame.header["header"], frame.columns, frame.header_bytes)
