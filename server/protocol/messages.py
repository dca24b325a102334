"""The messages between server and worker, each told apart by its ``kind``.

A worker greets once, then replies to one request after the other. A message travels as the header of a frame, an answer
with its columns.
"""

from collections.abc import Sequence
from typing import Any, Literal

from typing_extensions import TypedDict

from ..schema.op import DeviceSummary, LoadError, OpDescription, OpStub, UnsolvedOp
from .fits import fits
from .views import AnswerRecord


class HelloMessage(TypedDict):
    """The worker is ready: its ops, the user's files that it has read, and notes on them.

    ``compiles`` says that these have loaded a compiler, which takes seconds whenever it meets another shape.
    """

    kind: Literal["hello"]
    catalogue: Sequence[OpStub]
    files: list[str]
    notes: list[str]
    device: DeviceSummary
    compiles: bool


class BrokenMessage(TypedDict):
    """The ops cannot be loaded; ``trouble`` is the load error of a user's file."""

    kind: Literal["broken"]
    sentence: str
    trouble: LoadError | None
    files: list[str]


class QuestionRequest(TypedDict):
    """Asks for an answer. ``question`` has the fields of a ``Question``, ``before`` is the recipe before a save."""

    kind: Literal["question"]
    question: dict[str, Any]
    before: str


class DescribeRequest(TypedDict):
    """Asks how an op is called by this recipe, or by its default one.

    ``gpu`` says whether what does not run on the CPU may be tried on a GPU.
    """

    kind: Literal["describe"]
    op: str
    recipe: str
    before: str
    gpu: bool


class AnswerMessage(TypedDict):
    """An answer; ``read`` are the user's files that were read for it."""

    kind: Literal["answer"]
    header: AnswerRecord
    read: list[str]


class DescribedMessage(TypedDict):
    """How an op is called."""

    kind: Literal["described"]
    op: OpDescription
    read: list[str]


class UnsolvedMessage(TypedDict):
    """No call of an op was found."""

    kind: Literal["unsolved"]
    op: UnsolvedOp
    read: list[str]


class RefusedMessage(TypedDict):
    """The op or this machine does not allow what was asked: a sentence for each parameter that is at fault."""

    kind: Literal["refused"]
    refusals: Sequence[tuple[str, str]]


class FaultMessage(TypedDict):
    """A fault of our own."""

    kind: Literal["fault"]
    sentence: str


class LostGpuMessage(TypedDict):
    """The worker can use its GPU no more after this error, and ends."""

    kind: Literal["lost gpu"]
    sentence: str


Greeting = HelloMessage | BrokenMessage
WorkerRequest = QuestionRequest | DescribeRequest
WorkerResult = AnswerMessage | DescribedMessage | UnsolvedMessage
WithoutResult = RefusedMessage | FaultMessage | LostGpuMessage
WorkerReply = WorkerResult | WithoutResult


def is_greeting(message: Any) -> bool:
    """Whether a received message is the first one of a worker."""
    return fits(message, Greeting)


def is_reply(message: Any, request: WorkerRequest) -> bool:
    """Whether a received message is a reply to this request."""
    if request["kind"] == "describe":
        return fits(message, DescribedMessage | UnsolvedMessage | WithoutResult)
    if not fits(message, AnswerMessage | WithoutResult):
        return False
    return message["kind"] != "answer" or bool(message["header"]["view"] == request["question"]["view"])
