"""Proof view: what is proved of a section, stretch by stretch."""

from __future__ import annotations

import numpy as np

from ..numerics.sentences.names import section_names
from ..numerics.sentences.proof_sentence import (
    NOT_INSTALLED,
    NOTHING_TO_PROVE,
    proof_line,
    proof_meaning,
    proof_sentence,
)
from ..proof import Held, Proof, prove
from ..proof.certificate import BadCertificate, certify, written
from ..protocol.question import Question
from ..runtime.section import Section
from ..schema.section import AskedRecord
from ..schema.views import Sent
from .common import ViewAnswer, view_answer


def proof_view(section: Section, question: Question, asked: AskedRecord) -> ViewAnswer:
    """The document: a header alone, with the stretches in order. Raises ``FunctionFailed``."""
    surrogate = section.op.surrogate_for(section.wrt, question.grad_output)
    start, stop = question.start, question.stop
    held = _held(question)
    found = prove(section, surrogate, start, stop, question.grad_output, question.boxes, held)
    if found is None:
        found = Proof("", start, stop, reason=NOT_INSTALLED, held=held)
    elif question.grad_output == 0:
        found = Proof("nothing", start, stop, reason=NOTHING_TO_PROVE, undecided=((start, stop),), held=held)
    if found.reason and not section.sweeps_parameter:
        section.backward(np.array([question.place]), question.grad_output)  # which tells of one that fails
    names = section_names(section)
    return view_answer(
        asked,
        found,
        line=proof_line(found, names),
        sentence=proof_sentence(found, names, question.grad_output),
        meaning=proof_meaning(found, names, question.grad_output, question.dtype),
        holds_for=found.grad_output,
        wrt2=None if held is None else str(question.wrt2),
        start2=question.start2,
        stop2=question.stop2,
        stretches=_stretches(found),
        certificate=_certificate(found, section, question),
        failure=None,
    )


def _held(question: Question) -> Held | None:
    if question.wrt2 is None or question.start2 is None or question.stop2 is None:
        return None
    return Held(question.wrt2.name, question.wrt2.index, question.start2, question.stop2)


def _certificate(proof: Proof, section: Section, question: Question) -> str:
    if not proof.proved:
        return ""
    try:
        return written(certify(proof, section, question.grad_output, question.recipe)).decode()
    except BadCertificate:  # it is in no file
        return ""


def _stretches(proof: Proof) -> list[Sent]:
    """All stretches from left to right, each with what is said of it."""
    kinds = {"proved": proof.proved, "refuted": proof.refuted, "bends": proof.points, "undecided": proof.undecided}
    rows = sorted((stretch, kind) for kind, stretches in kinds.items() for stretch in stretches)
    return [{"start": start, "stop": stop, "known": kind} for (start, stop), kind in rows]
