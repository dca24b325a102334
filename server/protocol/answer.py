"""An answer: the header of one view, and its columns; what the headers of all views share, and one without results."""

import re
from types import NoneType
from typing import Any, Literal, cast, get_args, get_origin

from typing_extensions import get_type_hints, is_typeddict

from ..schema.answer_notes import verdict_note
from ..schema.op import Claim
from ..schema.section import AskedRecord, FailureRecord, PlaceRecord, SectionRecord
from .frames import Frame
from .question import Question
from .views import VIEWS, AnswerRecord

Answer = Frame[AnswerRecord]
CurvesAnswer = Frame[SectionRecord]

_MOST_WORDS = 20  # of a headline


def curves_of(answer: Answer) -> CurvesAnswer:
    """The answer of the view ``curves``, as such; raises ``ValueError`` for one of another view."""
    if answer.header["view"] != "curves":
        raise ValueError(f"the view {answer.header['view']} has no curves")
    return Frame(answer.header, answer.columns, answer.header_bytes)


def asked_record(
    question: Question, title: str, claim: Claim, device: PlaceRecord, notes: list[str] | None = None
) -> AskedRecord:
    """The question as plain data, with title and claim of the op; ``device`` is the one used."""
    own = {"title": title, "claim": claim, "device": device, "notes": notes or []}
    own |= {"wrt": str(question.wrt), "of": str(question.of)}
    own |= {"inputs": {name: list(values) for name, values in question.inputs.items()}}
    names = AskedRecord.__annotations__
    return cast(AskedRecord, {name: own[name] if name in own else getattr(question, name) for name in names})


def empty_answer(
    question: Question, asked: AskedRecord, sentence: str, failure: FailureRecord | None = None
) -> AnswerRecord:
    """The header of a view without any results: the sentence why, the failure; curves get the verdict ``failed``."""
    hints = get_type_hints(VIEWS[question.view].header)
    blank = {name: _blank(hint) for name, hint in hints.items() if name not in asked}
    header = cast(AnswerRecord, {**asked, **blank, "failure": failure})
    if header["view"] == "curves":
        header["verdict"] |= {"word": "failed", "headline": _headline_of(sentence, failure), "sentence": sentence}
        header["verdict"]["note"] = verdict_note("failed", failure=failure)
    else:
        header["sentence"] = sentence
    if header["view"] in ("step", "node"):
        header["at"] = question.place
    elif header["view"] in ("surface", "proof"):
        header["wrt2"] = None if question.wrt2 is None else str(question.wrt2)
        header["start2"], header["stop2"] = question.start2, question.stop2
    return header


def _headline_of(sentence: str, failure: FailureRecord | None) -> str:
    """What happened, as far as that fits into one line."""
    first = re.split(r"\n|(?<=\.) ", sentence.strip(), maxsplit=1)[0].rstrip(".:")
    first = f"Fails: {first}" if failure and first[:1].islower() else first
    return f"{first}." if 0 < len(first.split()) <= _MOST_WORDS else "The Function gave no result."


def _blank(shape: Any) -> Any:
    """Nothing in the shape of a type: null where that is allowed, else an empty list, false, 0 or an empty text."""
    if NoneType in get_args(shape):
        return None
    if is_typeddict(shape):
        return {name: _blank(each) for name, each in get_type_hints(shape).items()}
    if get_origin(shape) is tuple:
        return [_blank(each) for each in get_args(shape)]
    return (get_origin(shape) or shape)() if get_origin(shape) is not Literal else ""
