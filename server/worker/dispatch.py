"""Dispatches the requests to a worker: loads its collection of ops, and replies to each with a frame."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from ...ops import OPS, Op
from ..catalogue.op_description import op_descriptions
from ..inference.recipe.recipe import BadRecipe
from ..protocol.errors import BadQuestion, Unsolved, describe_internal_error
from ..protocol.frames import BadFrame, Frame, pack
from ..protocol.job import Job
from ..protocol.messages import (
    AnswerMessage,
    DescribedMessage,
    DescribeRequest,
    HelloMessage,
    UnsolvedMessage,
    WorkerReply,
    WorkerRequest,
    WorkerResult,
)
from ..protocol.question import Question
from ..runtime.compilers import loaded_compilers
from ..runtime.devices import gpu_error, without_gpu
from ..runtime.failure import TOOK_TOO_LONG, Failure, spoiled
from ..runtime.settings import SETTINGS, Change, SavedSettings
from ..runtime.timeouts import TookTooLong, answered_within
from ..schema.op import OpDescription
from ..views.common import ViewAnswer
from . import answer
from .attributes import ATTRIBUTES
from .sandbox import child_pids, end_children, referenced_children

if TYPE_CHECKING:
    from ..user_code.user_functions import UserFunctions

_MAX_MESSAGE = 2000  # characters of a sentence about a fault
_EXIT_TIMEOUT = 0.05  # seconds for child processes to end, once the Function has returned
# They look into the process in which a Function runs, and edited code runs in another.
_UNSUPPORTED = ("contract", "node")
_UNSUPPORTED_VIEW = (
    "view: {} is unsupported for edited code, which could alter what is seen; save it as a file, and run gradloupe on "
    "that."
)
_INCONSISTENT = (
    "This code does something else each time it is called, so far as can be seen, so nothing can be said of it."
)
_LEFT_ONE = "The Function started a process that outlived it; it was ended."
_LEFT_SOME = "The Function started {} processes that outlived it; they were ended."


class Dispatcher:
    """Replies to requests about the ops of a job; raises ``LoadFailed`` or ``BadDeclaration`` if they do not load.

    ``text`` waits for code that was edited in a page, where the job is that.
    """

    def __init__(self, job: Job, text: Callable[[], str]) -> None:
        answer.warm_up()
        before = loaded_compilers()
        self._collection = _collection(job, text)
        self.compiles = bool(loaded_compilers() - before)
        # Ops of the gallery leave them alone.
        self._settings = SavedSettings((ATTRIBUTES, *SETTINGS) if job.targets else ())
        self._edited = job.text is not None
        self._seconds = job.seconds(self.compiles)
        self._initial = set(child_pids())
        self._referenced = set[int]()  # later ones that user code still refers to
        self.lost_gpu = ""  # the error after which this process can use its GPU no more

    def hello(self) -> bytes:
        """The greeting, as a frame: catalogue, devices and notes."""
        greeting: HelloMessage = {
            "kind": "hello",
            "catalogue": self._collection.catalogue,
            "files": self._collection.files,
            "notes": self._collection.notes,
            "device": answer.device_summary(),
            "compiles": self.compiles,
        }
        try:
            return pack(Frame(greeting))
        except BadFrame as problem:
            largest = max(greeting["catalogue"], key=lambda op: len(str(op)))
            raise BadFrame(f"what the ops declare is too large, most of all {largest['file']}: {problem}") from None

    def respond(self, request: WorkerRequest) -> bytes:
        """The reply to one request, as a frame.

        It is that the GPU is lost where the Function has broken it: nothing after that can be believed.
        """
        reply = self._reply(request)
        self._collection.rest()
        self.lost_gpu = gpu_error()
        return _packed({"kind": "lost gpu", "sentence": self.lost_gpu}) if self.lost_gpu else reply

    def _reply(self, request: WorkerRequest) -> bytes:
        try:
            frame = self._result(request)
            self._end_leftovers(frame.header)
            frame.header["read"] = self._collection.late()
            return pack(frame)
        except BadQuestion as problem:
            return _packed({"kind": "refused", "refusals": problem.refusals})
        except (BadRecipe, Unsolved) as problem:
            return _packed({"kind": "refused", "refusals": [("recipe", str(problem))]})
        except BadFrame as problem:
            op = request["op"] if request["kind"] == "describe" else request["question"]["op"]
            sentence = f"What was found of {op} cannot be sent: {problem}; ask for fewer points."
            return _packed({"kind": "refused", "refusals": [("count", sentence)]})
        except Exception as problem:
            if self._edited:  # it may answer differently each time, on purpose
                logging.info("edited code could not be looked at", exc_info=True)
                return _packed({"kind": "refused", "refusals": [("", _INCONSISTENT)]})
            if not gpu_error():
                logging.exception("a fault of Gradloupe itself")
            return _packed({"kind": "fault", "sentence": describe_internal_error(problem)[-_MAX_MESSAGE:]})

    def _result(self, request: WorkerRequest) -> Frame[WorkerResult]:
        if request["kind"] == "describe":
            return Frame(self._described(request))
        header, columns = self._answered(Question.from_plain(request["question"]), request["before"])
        header["notes"] += self._collection.notes
        message: AnswerMessage = {"kind": "answer", "header": header, "read": []}
        return Frame(message, {name: column.data for name, column in columns.items()})

    def _answered(self, question: Question, before: str) -> ViewAnswer:
        """The answer, with a note on each setting of this process that the Function has changed for others.

        Where Gradloupe cannot go on because of such a change, that is the answer.
        """
        if self._edited and question.view in _UNSUPPORTED:
            raise BadQuestion(_UNSUPPORTED_VIEW.format(question.view), "view")
        changes: list[Change] = []
        try:
            with (
                answered_within(self._seconds),
                self._settings.restored() as changes,
                warnings.catch_warnings(),
            ):
                header, columns = answer.answer_question(
                    question, self._collection.op(question.op, question.recipe, before)
                )
        except (BadQuestion, BadRecipe, Unsolved):
            raise
        except TookTooLong as late:
            op = self._collection.op(question.op, question.recipe, before)
            why = Failure("forward", TOOK_TOO_LONG, f"The Function takes too long: {late}{late.place}.")
            return answer.failed_answer(question, op, why)
        except Exception as problem:
            if not changes:
                raise
            op = self._collection.op(question.op, question.recipe, before)
            return answer.failed_answer(question, op, spoiled(" ".join(_notes(changes, question)), problem))
        header["notes"] += _notes(changes, question)
        return header, columns

    def _described(self, request: DescribeRequest) -> DescribedMessage | UnsolvedMessage:
        try:
            gpu = nullcontext() if request["gpu"] else without_gpu()
            with gpu, self._settings.restored(), warnings.catch_warnings():
                op = self._collection.described(request["op"], request["recipe"], request["before"])
            return {"kind": "described", "op": op, "read": []}
        except Unsolved as unsolved:
            return {"kind": "unsolved", "op": unsolved.told, "read": []}

    def _end_leftovers(self, message: WorkerResult) -> None:
        """End processes that the Function has left behind, and say so in an answer.

        A pool or helper process that it keeps for its next call stays.
        """
        children, ended = set(child_pids()), 0
        if children - self._initial - self._referenced and not self._edited:  # whose guest may have been forked anew
            self._referenced = children & referenced_children()
            ended = end_children(self._initial | self._referenced, _EXIT_TIMEOUT)
        if ended and message["kind"] == "answer":
            message["header"]["notes"].append(_LEFT_ONE if ended == 1 else _LEFT_SOME.format(ended))


def _notes(changes: Sequence[Change], question: Question) -> list[str]:
    return [each.note(question.op, "when it is called", "for other Functions") for each in changes]


def _packed(reply: WorkerReply) -> bytes:
    return pack(Frame(reply))


def _collection(job: Job, text: Callable[[], str]) -> Gallery | UserFunctions:
    if not job.foreign:
        return Gallery()
    from ..user_code.load import load_targets
    from ..user_code.user_functions import EditedFunctions, UserFunctions

    if job.text is not None:
        return EditedFunctions(text)
    return UserFunctions(load_targets(job.targets, job.again, dict(job.recipes), job.data))


class Gallery:
    """The ops of ``ops/``, with the methods of ``UserFunctions``; raises ``BadDeclaration`` for an invalid one."""

    def __init__(self) -> None:
        self.catalogue = op_descriptions()
        self.files: list[str] = []
        self.notes: list[str] = []

    def late(self) -> list[str]:
        """Empty: files of the gallery are not watched."""
        return []

    def rest(self) -> None:
        """Nothing: none of its code runs between two questions."""

    def op(self, name: str, recipe: str = "", before: str = "") -> Op:
        """The op of that name; it has no other recipe than its own."""
        return OPS[name]

    def described(self, name: str, recipe: str = "", before: str = "") -> OpDescription:
        """Its entry in the catalogue."""
        return next(each for each in self.catalogue if each["name"] == name)
