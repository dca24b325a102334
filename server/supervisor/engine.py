"""The engine: puts questions to its workers, one at a time to each, and replaces those that end."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace

from cachetools import LRUCache

from ..protocol.answer import Answer
from ..protocol.errors import OUTCOMES, BadQuestion, EngineBroken, EngineBusy, EngineFault, Refusal, UnknownOp, Unsolved
from ..protocol.frames import Frame
from ..protocol.job import Job
from ..protocol.load_error import load_error
from ..protocol.messages import (
    BrokenMessage,
    DescribedMessage,
    DescribeRequest,
    Greeting,
    HelloMessage,
    QuestionRequest,
    UnsolvedMessage,
    WorkerReply,
    WorkerRequest,
)
from ..protocol.question import Question
from ..schema.op import DeviceSummary, LoadError, OpDescription, OpStub, is_described
from .crash_report import GpuLost, WorkerLost, crash_answer, inference_crash, startup_crash
from .single_flight import IsDisconnected, SingleFlight
from .turns import Turns
from .worker import Worker
from .worker_process import WorkerProcess

QUEUE_SIZE = 64  # questions for each worker
MAX_FAILED_STARTS = 3  # workers in a row that may die while they load, or before any question
RESTART_PAUSE = 1.0  # seconds before a restart, where a worker could not be started or died unasked
CLOSED = "The worker that was asked has made room for a newer one, or the server is ending; ask again."
_LOG = logging.getLogger("gradloupe")
_RETRY_AFTER = 60.0  # seconds until inference that has crashed its worker is tried again
_ON_THE_CPU = (
    "On the GPU it caused “{}”, after which a process cannot use the GPU any more; so the CPU was used instead."
)
_MAX_DESCRIBED = 512  # cached descriptions of user Functions, one a recipe

Catalogue = dict[str, OpStub]


@dataclass
class EngineCounters:
    """Counters that outlive a worker, shared by engines one after the other; they never go back.

    ``outcomes`` of the questions, ``restarts`` of workers. ``late`` is called with the paths of user files that a
    worker read while it answered, and the time of that question.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    restarts: int = 0
    late: Callable[[list[str], float], None] = lambda files, since: None


class Engine:
    """As many workers as its job says. All of it runs in the event loop that called ``connect``.

    ``broken`` is the sentence that says why nothing can be answered; empty while something can.
    """

    def __init__(self, process: WorkerProcess, counters: EngineCounters | None = None) -> None:
        self.job: Job = process.job
        self._workers = [Worker(process)]
        self._turns = Turns(QUEUE_SIZE * self.job.workers)
        self._counters = counters or EngineCounters()
        self.outcomes = self._counters.outcomes
        self._attending: list[asyncio.Task[None]] = []  # for each worker whoever replaces it
        self._last_hello: HelloMessage | None = None
        self._last_greeting: Greeting | None = None
        self._catalogue: Catalogue = {}
        self._given_up = self._cannot_start = ""  # why there is no worker, for good or for now
        self._change = asyncio.Condition()  # notified when a worker listens, or none will
        self._described: LRUCache[tuple[str, str, str], DescribedMessage | UnsolvedMessage] = LRUCache(_MAX_DESCRIBED)
        self._descriptions: SingleFlight[None] = SingleFlight()  # under way
        self._previous_recipes: dict[tuple[str, str], str] = {}
        self.last_loss: WorkerLost | None = None  # of the last worker that did not survive a question

    @classmethod
    def spawn(cls, job: Job | None = None) -> Engine:
        """Start the first worker, by default that of the gallery; it loads torch while the caller goes on."""
        return cls(WorkerProcess(job or Job()))

    async def connect(self) -> None:
        """Connect to the first worker, and replace those that end from now on; the others follow when it listens."""
        self._attending.append(asyncio.create_task(self._attend(self._workers[0])))

    async def close(self) -> None:
        """End all workers and release everything; callers that still wait get ``EngineBroken``."""
        self._given_up = self._given_up or CLOSED
        for each in self._attending:
            each.cancel()
        await asyncio.gather(*self._attending, return_exceptions=True)
        await asyncio.gather(*(worker.close() for worker in self._workers))
        await self._notify()

    @property
    def broken(self) -> str:
        return self._given_up or ("" if self._serving else self._cannot_start)

    @property
    def restarts(self) -> int:
        """How many workers were replaced."""
        return self._counters.restarts

    @property
    def ready(self) -> bool:
        """Whether a worker listens and has loaded its ops."""
        return self._serving and not self.broken

    @property
    def starting(self) -> bool:
        """Whether the catalogue is not known yet; while a worker is replaced later, it is."""
        return self._last_hello is None and not self.broken

    @property
    def waiting(self) -> int:
        """How many questions are not answered yet."""
        return self._turns.waiting

    @property
    def workers(self) -> list[int]:
        """The process ids of the present workers."""
        return [worker.pid for worker in self._workers if worker.pid]

    @property
    def trouble(self) -> LoadError | None:
        """The load error of the user's file; None while nothing is broken."""
        if not self.broken:
            return None
        greeting = self._last_greeting
        known = greeting["trouble"] if greeting and greeting["kind"] == "broken" else None
        return (known or load_error(self.broken)) | {"sentence": self.broken}

    @property
    def files(self) -> list[str]:
        """The user's files that the last worker has read, as absolute paths."""
        return list(self._last_greeting["files"]) if self._last_greeting else []

    @property
    def notes(self) -> list[str]:
        """Remarks on what the user's files do when they are loaded."""
        return list(self._last_hello["notes"]) if self._last_hello else []

    async def wait_ready(self) -> None:
        """Return when a worker listens; raises ``EngineBroken`` when none will, ``EngineBusy`` at the server's end."""
        try:
            async with self._change:
                await self._change.wait_for(lambda: self._serving or self.broken)
        except asyncio.CancelledError:
            raise EngineBusy from None
        if self.broken:
            raise EngineBroken(self.broken)

    async def waits_for(self, name: str) -> bool:
        """Whether it is not known yet if there is an op of that name."""
        return self.starting

    async def idle(self) -> None:
        """Return when no question waits."""
        await self._turns.idle()

    async def catalogue(self) -> Catalogue:
        """What is known of each op without calling it, by name."""
        await self._hello()
        return self._catalogue

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

    async def answer(self, question: Question, gone: IsDisconnected | None = None, address: str = "") -> Answer:
        """The view asked for; or a crash report, where the worker did not survive the question.

        ``gone`` tells, after a wait in the queue, whether the client has disconnected; ``address`` is that of the
        client, whose questions wait longer where there are many. Raises ``BadQuestion``, ``EngineBusy``,
        ``EngineBroken`` and ``EngineFault``.
        """
        try:
            answer = await self._answer(question, gone, address)
        except WorkerLost as lost:
            self.last_loss = lost
            answer = crash_answer(lost, question, await self.stub(question.op), await self.device())
        except tuple(OUTCOMES) as problem:
            self.outcomes[OUTCOMES[type(problem)]] += 1
            raise
        failure = answer.header["failure"]
        phase = failure["phase"] if failure else ""
        self.outcomes[{"": "answered", "worker": "lost"}.get(phase, "failed")] += 1
        return answer

    async def _answer(self, question: Question, gone: IsDisconnected | None, address: str) -> Answer:
        """The answer on the device that is asked for, or on the CPU where the Function breaks the GPU."""
        before = self._previous_recipes.get((question.op, question.recipe), "")
        request: QuestionRequest = {"kind": "question", "question": asdict(question), "before": before}
        try:
            return _answer_in(await self._exchange(request, gone, address))
        except GpuLost as lost:
            request["question"]["device"] = "cpu"
            answer = _answer_in(await self._exchange(request, gone, address))
            answer.header["notes"].append(_ON_THE_CPU.format(lost.error))
            return answer

    async def _describe(self, key: tuple[str, str, str], stub: OpStub) -> None:
        """Have a user's own op described, and cache that; after a crash for a while only."""
        _, name, recipe = key
        before = self._previous_recipes.get((name, recipe), "")
        request: DescribeRequest = {"kind": "describe", "op": name, "recipe": recipe, "before": before, "gpu": True}
        try:
            try:
                frame = await self._exchange(request)
            except GpuLost:  # what is wrong with its call is known from the CPU
                frame = await self._exchange({**request, "gpu": False})
        except WorkerLost as lost:
            self.last_loss = lost
            self._described[key] = {"kind": "unsolved", "op": inference_crash(lost, stub, recipe), "read": []}
            asyncio.get_running_loop().call_later(_RETRY_AFTER, self._described.pop, key, None)
        else:
            assert frame.header["kind"] in ("described", "unsolved")
            self._described[key] = frame.header

    async def _exchange(
        self, request: WorkerRequest, gone: IsDisconnected | None = None, address: str = ""
    ) -> Frame[WorkerReply]:
        """The reply of a worker; raises ``WorkerLost`` where it, and another one, did not survive the question."""
        with self._turns.place(address):
            try:
                return await self._asked(request, address, gone)
            except (WorkerLost, EngineFault) as problem:
                if not self._may_succeed_after(problem):
                    raise
                return await self._asked(request, address, again=True)

    async def _asked(
        self, request: WorkerRequest, address: str, gone: IsDisconnected | None = None, again: bool = False
    ) -> Frame[WorkerReply]:
        """The reply of the next free worker; raises ``BadQuestion``, ``EngineBroken``, ``EngineFault``, ``WorkerLost``.

        After a fault a worker with user code in it is ended: that code may have spoiled it for all.
        """
        if self.broken:
            raise EngineBroken(self.broken)
        async with self._turns.worker(request, address, gone, again) as worker:
            since = time.time()
            frame = await worker.ask(request)
            reply = frame.header
            if reply["kind"] == "refused":
                raise BadQuestion.of(Refusal(*each) for each in reply["refusals"])
            if reply["kind"] == "lost gpu":
                raise GpuLost(await worker.ended(), reply["sentence"])
            if reply["kind"] == "fault":
                if self.job.targets:
                    await worker.close()
                raise EngineFault(reply["sentence"])
            if reply["read"]:
                self._counters.late(reply["read"], since)
            return frame

    def _may_succeed_after(self, problem: WorkerLost | EngineFault) -> bool:
        """Whether to ask another worker once more: questions are idempotent, and something else may have spoiled this.

        A report asks once more by itself when nothing else is under way.
        """
        if isinstance(problem, EngineFault):
            return bool(self.job.targets)
        return not (problem.at_limit or self.job.report)

    async def _hello(self) -> HelloMessage:
        if self.broken or self._last_hello is None:
            await self.wait_ready()
        assert self._last_hello is not None
        return self._last_hello

    @property
    def _serving(self) -> bool:
        """Whether a worker listens."""
        return any(worker.listens for worker in self._workers)

    async def _attend(self, worker: Worker | None = None) -> None:
        """Have this worker, or another one, listen, and one after the other in its place, until the ops are broken."""
        failed_starts = idle_deaths = 0
        try:
            worker = worker or await self._next()
            while True:
                await self._listen(worker)
                lost = await worker.lost()
                idle_deaths = 0 if worker.asked else idle_deaths + 1
                failed_starts = 0 if worker.greeted else failed_starts + 1
                users_fault = self.job.foreign and worker.pid and lost.kind != "SIGKILL"
                if not self._given_up and (failed_starts >= MAX_FAILED_STARTS or (failed_starts and users_fault)):
                    await self._give_up(startup_crash(lost, self.job))
                if self._given_up:
                    return
                await asyncio.sleep(RESTART_PAUSE if max(failed_starts, idle_deaths) >= MAX_FAILED_STARTS else 0.0)
                worker = await self._next(worker)
        except Exception as problem:
            logging.getLogger("uvicorn.error").exception("no worker is attended to any more")
            sentence = f"A fault of Gradloupe ({type(problem).__name__}: {problem}); see the log, and restart it."
            await self._give_up({"kind": "broken", "sentence": sentence, "trouble": None, "files": []})

    async def _listen(self, worker: Worker) -> None:
        """Do the handshake; with the first worker that can load its ops, start the others."""
        try:
            greeting = await worker.begin()
        except WorkerLost as lost:
            if lost.at_limit:
                await self._give_up(startup_crash(lost, self.job))
            return
        if greeting["kind"] == "broken":
            await self._give_up(greeting)
            return
        catalogue = {op["name"]: op for op in greeting["catalogue"]}
        if self._catalogue and catalogue != self._catalogue:  # it has other code, which all are to have
            await asyncio.gather(*(each.close() for each in self._workers if each is not worker))
        self._last_hello = self._last_greeting = greeting
        self._catalogue = catalogue
        self._turns.add(worker)
        await self._notify()
        while len(self._attending) < self.job.workers:
            self._attending.append(asyncio.create_task(self._attend()))

    async def _next(self, last: Worker | None = None) -> Worker:
        """Start another worker, in the place of the ``last`` one; retried every second where the system refuses."""
        while True:
            try:
                worker = Worker(WorkerProcess(replace(self.job, warm=self.job.workers > 1)))
            except OSError as problem:
                self._cannot_start = f"No worker process can be started ({problem}); that is tried again every second."
                await self._notify()
                await asyncio.sleep(RESTART_PAUSE)
            else:
                self._cannot_start = ""
                if last is not None:
                    self._workers.remove(last)
                    self._counters.restarts += 1
                self._workers.append(worker)
                return worker

    async def _give_up(self, greeting: BrokenMessage) -> None:
        """Answer nothing any more, unless another worker does."""
        if self._serving:
            _LOG.warning(greeting["sentence"])
            return
        self._last_greeting, self._given_up = greeting, greeting["sentence"]
        await self._notify()

    async def _notify(self) -> None:
        if self.broken:
            self._turns.refuse(EngineBroken(self.broken))
        async with self._change:
            self._change.notify_all()


def _answer_in(frame: Frame[WorkerReply]) -> Answer:
    assert frame.header["kind"] == "answer"
    return Frame(frame.header["header"], frame.columns, frame.header_bytes)
