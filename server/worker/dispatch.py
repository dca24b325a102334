"""Dispatches the requests to a worker: loads its collection of ops, and replies to each with a frame."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from ...ops import OPS, Op
from ..catalogue.op_description import op_descriptions
from ..inference.recipe.recipe import BadRecipe
from ..protocol.errors import BadQuestion, Unsolved, describe_internal_error
from ..protocol.frames import BadFrame, Frame, pack
from ..protocol.job import Job
from ..protocol.question import Element, Question
from ..runtime.devices import gpu_error
from . import answer
from .child_processes import child_pids, end_children, referenced_children

if TYPE_CHECKING:
    from ..user_code.user_functions import UserFunctions

_MAX_MESSAGE = 2000  # characters of a sentence about a fault
_EXIT_TIMEOUT = 0.05  # seconds for child processes to end, once the Function has returned
_LEFT_ONE = "The Function started a process that outlived it; it was ended."
_LEFT_SOME = "The Function started {} processes that outlived it; they were ended."


class Dispatcher:
    """Replies to requests about the ops of a job; raises ``LoadFailed`` or ``BadDeclaration`` if they do not load."""

    def __init__(self, job: Job) -> None:
        answer.warm_up()
        self._collection = _collection(job)
        self._initial = set(child_pids())
        self._referenced = set[int]()  # later ones that user code still refers to
        self.lost_gpu = ""  # the error after which this process can use its GPU no more

    def hello(self) -> bytes:
        """The greeting, as a frame: catalogue, devices and notes."""
        greeting = self._collection.hello()
        try:
            return pack(Frame(greeting | {"device": answer.device_summary()}))
        except BadFrame as problem:
            largest = max(greeting["catalogue"], key=lambda op: len(str(op)))
            raise BadFrame(f"what the ops declare is too large, most of all {largest['file']}: {problem}") from None

    def respond(self, request: dict[str, Any]) -> bytes:
        """The reply to one request, as a frame; ``read`` lists the user files that were read meanwhile.

        It is ``lost_gpu`` alone where the Function has broken the GPU: nothing after that can be believed.
        """
        reply = self._reply(request)
        self.lost_gpu = gpu_error()
        return pack(Frame({"lost_gpu": self.lost_gpu})) if self.lost_gpu else reply

    def _reply(self, request: dict[str, Any]) -> bytes:
        try:
            frame = self._with_leftovers_ended(self._answer(request))
            late = self._collection.late()
            return pack(Frame(frame.header | ({"read": late} if late else {}), frame.columns))
        except (BadQuestion, BadRecipe, Unsolved) as problem:
            return pack(Frame({"bad": str(problem)}))
        except BadFrame as problem:
            (fields,) = request.values()
            op = fields["op"]
            return pack(Frame({"bad": f"What was found of {op} cannot be sent: {problem}; ask for fewer points."}))
        except Exception as problem:
            if not gpu_error():
                logging.exception("a fault of Gradloupe itself")
            return pack(Frame({"fault": describe_internal_error(problem)[-_MAX_MESSAGE:]}))

    def _answer(self, asked: dict[str, Any]) -> Frame:
        try:
            if "describe" in asked:
                return Frame({"op": self._collection.described(*_recipe_arguments(asked["describe"]))})
        except Unsolved as unsolved:
            return Frame({"unsolved": unsolved.told})
        fields = dict(asked["question"])
        before = fields.pop("before", "")
        question = _question(fields)
        header, columns = answer.answer_question(question, self._collection.op(question.op, question.recipe, before))
        header["notes"] += self._collection.notes
        return Frame(header, {name: column.data for name, column in columns.items()})

    def _with_leftovers_ended(self, frame: Frame) -> Frame:
        """The same answer, with a note where the Function has left processes behind, which are ended.

        A pool or helper process that it keeps for its next call stays.
        """
        children, ended = set(child_pids()), 0
        if children - self._initial - self._referenced:
            self._referenced = children & referenced_children()
            ended = end_children(self._initial | self._referenced, _EXIT_TIMEOUT)
        if ended and "notes" in frame.header:
            frame.header["notes"].append(_LEFT_ONE if ended == 1 else _LEFT_SOME.format(ended))
        return frame


def _recipe_arguments(request: dict[str, str]) -> tuple[str, str, str]:
    return request["op"], request["recipe"], request.get("before", "")


def _collection(job: Job) -> Gallery | UserFunctions:
    if not job.targets:
        return Gallery()
    from ..user_code.user_functions import UserFunctions

    return UserFunctions(job.targets, job.again)


def _question(plain: dict[str, Any]) -> Question:
    named = {key: plain[key] for key in ("wrt", "of", "wrt2") if plain[key]}
    elements = {key: Element(each["name"], tuple(each["index"])) for key, each in named.items()}
    inputs = {name: tuple(values) for name, values in plain["inputs"].items()}
    return Question(**{**plain, **elements, "inputs": inputs})


class Gallery:
    """The ops of ``ops/``, with the methods of ``UserFunctions``; raises ``BadDeclaration`` for an invalid one."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._catalogue = op_descriptions()

    def hello(self) -> dict[str, Any]:
        """The descriptions of all ops."""
        return {"catalogue": self._catalogue}

    def late(self) -> list[str]:
        """Empty: files of the gallery are not watched."""
        return []

    def op(self, name: str, recipe: str = "", before: str = "") -> Op:
        """The op of that name; it has no other recipe than its own."""
        return OPS[name]

    def described(self, name: str, recipe: str = "", before: str = "") -> dict[str, Any]:
        """Its entry in the catalogue."""
        return next(each for each in self._catalogue if each["name"] == name)
