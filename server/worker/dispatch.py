"""Dispatches the requests to a worker: loads its collection of ops, and replies to each with a frame."""

from __future__ import annotations

import logging
from typing import Any

from ..inference.recipe.recipe import BadRecipe
from ..protocol.errors import BadQuestion, Unsolved
from ..protocol.frames import BadFrame, Frame, pack
from ..protocol.job import Job
from ..protocol.question import Element, Question
from . import answer
from .child_processes import child_pids, end_children, referenced_children
from .registry import Gallery, OpCollection

_LONGEST = 2000  # characters of a sentence about a fault
_PATIENCE = 0.05  # seconds for child processes to end, once the Function has returned
_LEFT_ONE = "The Function started a process that outlived it; it was ended."
_LEFT_SOME = "The Function started {} processes that outlived it; they were ended."


class Dispatcher:
    """Replies to requests about the ops of a job; raises ``LoadFailed`` or ``BadDeclaration`` if they do not load."""

    def __init__(self, work: Job) -> None:
        answer.warm_up()
        self._collection = _collection(work)
        self._known = set(child_pids())
        self._kept = set[int]()  # later ones that user code still refers to

    def hello(self) -> bytes:
        """The greeting, as a frame: catalogue, devices and notes."""
        told = self._collection.hello()
        try:
            return pack(Frame(told | {"device": answer.device_summary()}))
        except BadFrame as problem:
            largest = max(told["catalogue"], key=lambda op: len(str(op)))
            raise BadFrame(f"what the ops declare is too large, most of all {largest['file']}: {problem}") from None

    def respond(self, asked: dict[str, Any]) -> bytes:
        """The reply to one request, as a frame; ``read`` lists the user files that were read meanwhile."""
        try:
            answered = self._alone(self._answered(asked))
            late = self._collection.late()
            return pack(Frame(answered.header | ({"read": late} if late else {}), answered.columns))
        except (BadQuestion, BadRecipe, Unsolved) as problem:
            return pack(Frame({"bad": str(problem)}))
        except BadFrame as problem:
            (about,) = asked.values()
            named = about["op"]
            return pack(Frame({"bad": f"What was found of {named} cannot be sent: {problem}; ask for fewer points."}))
        except Exception as problem:
            logging.exception("a fault of Gradloupe itself")
            return pack(Frame({"fault": f"{type(problem).__name__}: {problem}"[:_LONGEST]}))

    def _answered(self, asked: dict[str, Any]) -> Frame:
        for what, told in (("describe", self._described), ("test", self._test)):
            if what in asked:
                return told(**asked[what])
        plain = dict(asked["question"])
        before = plain.pop("before", "")
        question = _question(plain)
        header, columns = answer.answer_question(question, self._collection.op(question.op, question.recipe, before))
        header["notes"] += self._collection.notes
        return Frame(header, {name: column.data for name, column in columns.items()})

    def _alone(self, answered: Frame) -> Frame:
        """The same answer, with a note where the Function has left processes behind, which are ended.

        A pool or helper process that it keeps for its next call stays.
        """
        here, ended = set(child_pids()), 0
        if here - self._known - self._kept:
            self._kept = here & referenced_children()
            ended = end_children(self._known | self._kept, _PATIENCE)
        if ended and "notes" in answered.header:
            answered.header["notes"].append(_LEFT_ONE if ended == 1 else _LEFT_SOME.format(ended))
        return answered

    def _described(self, op: str, recipe: str, before: str = "") -> Frame:
        try:
            return Frame({"op": self._collection.described(op, recipe, before)})
        except Unsolved as unsolved:
            return Frame({"unsolved": unsolved.told})

    def _test(self, op: str, recipe: str, before: str = "") -> Frame:
        try:
            return Frame({"test": self._collection.test(op, recipe, before)})
        except Unsolved as unsolved:
            return Frame({"unsolved": unsolved.told})


def _collection(work: Job) -> OpCollection:
    if not work.targets:
        return Gallery()
    from ..user_code.registry import UserFunctions

    return UserFunctions(work.targets, work.again)


def _question(plain: dict[str, Any]) -> Question:
    named = {key: plain[key] for key in ("wrt", "of", "wrt2") if plain[key]}
    elements = {key: Element(each["name"], tuple(each["index"])) for key, each in named.items()}
    inputs = {name: tuple(values) for name, values in plain["inputs"].items()}
    return Question(**{**plain, **elements, "inputs": inputs})
