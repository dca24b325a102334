"""Behind the door: a question in, what the numerics found of it out, as plain data and columns."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import torch

from ..ops import OPS, Input, Op
from .blank import blank
from .columns import Columns, columns, finite, gaps, marks
from .numerics.evaluate import Evaluation, evaluate
from .numerics.failure import Failure, FunctionFailed
from .numerics.grid import Grid
from .numerics.hardware import DTYPES, Device, devices
from .numerics.judge import Verdict, judge, judged_by
from .numerics.section import Section
from .numerics.sentence import Names, sentence
from .numerics.status import Status
from .question import Question

torch.set_num_threads(1)


class BadQuestion(Exception):
    """Asked for what this machine cannot do; the message says what it can."""


def device() -> dict[str, Any]:
    """The torch version, the devices at hand and the one ``auto`` takes."""
    found = devices()
    return {"torch": torch.__version__, "devices": [asdict(each) for each in found], "auto": found[0].kind}


@np.errstate(all="ignore")  # what overflows is no accident but a gap with its reason
def answer(question: Question) -> tuple[dict[str, Any], Columns]:
    """Everything measured of one section: the header, and columns of one float64 (status: uint8) a row.

    Raises ``BadQuestion`` for a device or dtype that is not there. A Function that fails is an answer.
    """
    op = OPS[question.op]
    place, notes = place_for(question, devices())
    _check_grad_output(question)
    section = _section(op, question, place)
    header: dict[str, Any] = {
        "op": op.name,
        "title": op.title,
        "claim": op.claim,
        "wrt": str(question.wrt),
        "of": str(question.of),
        "start": question.start,
        "stop": question.stop,
        "count": question.count,
        "grad_output": question.grad_output,
        "parameters": dict(section.parameters),
        "inputs": {name: list(values) for name, values in section.inputs},
        "dtype": question.dtype,
        "device": {"kind": place.kind, "name": place.name},
        "notes": notes,
    }
    grid = Grid(question.start, question.stop, question.count)
    try:
        evaluation = evaluate(section, grid, question.grad_output, question.step)
    except FunctionFailed as error:
        return header | _nothing(error.failure), {}
    verdict = judge(evaluation, question.atol, question.rtol)
    header["notes"] = notes + _notes(evaluation, section)
    drawn = columns(evaluation, verdict)
    header |= {"gaps": gaps(evaluation, drawn), "marks": marks(evaluation)}
    return header | _found(evaluation, verdict, question, op), drawn


def warm_up() -> None:
    """One look at a harmless function, so that the first user does not pay for what torch loads lazily."""
    op = Op(torch.autograd.Function, "warm-up", "", "", "", (Input("x"),), call=torch.relu)
    section = Section(op, op, "x", (), "y", (), (("x", (1.0,)),), ())
    evaluation = evaluate(section, Grid(-1.0, 1.0, 401))
    columns(evaluation, judge(evaluation))


def place_for(question: Question, found: tuple[Device, ...]) -> tuple[Device, list[str]]:
    """The one of the devices ``found`` to use, and what there is to say about the choice.

    Raises ``BadQuestion`` where the device asked for is not there, or has not the dtype.
    """
    if question.device == "auto":
        chosen = next(each for each in found if question.dtype in each.dtypes)
        if chosen is not found[0]:
            return chosen, [f"{found[0].name} has no {question.dtype}, so {chosen.name} was used instead."]
        return chosen, []
    named = [each for each in found if each.kind == question.device]
    if not named:
        there = ", ".join(each.kind for each in found)
        raise BadQuestion(f"device: there is no {question.device} on this machine; choose auto or one of {there}.")
    if question.dtype not in named[0].dtypes:
        raise BadQuestion(
            f"dtype: {named[0].name} ({named[0].kind}) has no {question.dtype}; "
            f"choose one of {', '.join(named[0].dtypes)}, or device=cpu."
        )
    return named[0], []


def _check_grad_output(question: Question) -> None:
    most = torch.finfo(DTYPES[question.dtype]).max
    if abs(question.grad_output) > most:
        raise BadQuestion(
            f"grad_output: {question.dtype} holds numbers up to {most:.4g}, and {question.grad_output:.4g} is more; "
            "choose a smaller one, or dtype=float64."
        )


def _section(op: Op, question: Question, place: Device) -> Section:
    return Section(
        op=op,
        call=op,
        wrt=question.wrt.name,
        wrt_index=question.wrt.index,
        of=question.of.name,
        of_index=question.of.index,
        inputs=tuple((each.name, tuple(question.inputs.get(each.name, each.values))) for each in op.inputs),
        parameters=tuple((each.name, question.parameters.get(each.name, each.default)) for each in op.parameters),
        dtype=DTYPES[question.dtype],
        device=place.kind,
    )


def _notes(evaluation: Evaluation, section: Section) -> list[str]:
    notes = []
    if evaluation.returned_none:
        notes.append(f"backward returns None for {section.wrt}; autograd treats that as 0.")
    if evaluation.numerical.slopes.precision > 2.0**-30:
        notes.append("forward computes in low precision inside, so the differences take wider steps.")
    if evaluation.numerical.unseen:
        notes.append("forward moves in steps that lie closer together than the points; zoom in to see them.")
    if evaluation.numerical_dtype != torch.float64:
        kind = str(evaluation.numerical_dtype).removeprefix("torch.")
        notes.append(f"forward refuses float64, so the numerical gradient is computed in {kind} too.")
    return notes


def _nothing(failure: Failure) -> dict[str, Any]:
    """The rest of the header where forward itself failed."""
    said = f"{failure.phase} raised {failure.kind}: {failure.message.splitlines()[0]}"
    return blank(said, asdict(failure))


def _found(evaluation: Evaluation, verdict: Verdict, question: Question, op: Op) -> dict[str, Any]:
    slopes, against = evaluation.numerical.slopes, verdict.against
    parameter = any(each.name == question.wrt.name for each in op.parameters)
    names = Names(str(question.wrt), str(question.of), op.claim, parameter)
    return {
        "numerical": {
            "dtype": str(evaluation.numerical_dtype).removeprefix("torch."),
            "device": evaluation.numerical_device,
            "forwards_per_point": slopes.forwards,
            "step": slopes.step,
        },
        "tolerance": asdict(verdict.tolerance),
        "structure": evaluation.structure,
        "verdict": {
            "word": verdict.word,
            "sentence": sentence(evaluation, verdict, names),
            "intervals": [list(each) for each in (verdict.forward if op.surrogate else against).intervals],
            "worst": _worst(evaluation, verdict),
            "judged": against.count(Status.AGREES, Status.SUBGRADIENT, Status.DIFFERS),
            "undecided": against.count(Status.UNDECIDED),
        },
        "statuses": [each.name.lower() for each in Status],
        "failure": asdict(evaluation.failure) if evaluation.failure else None,
    }


def _worst(evaluation: Evaluation, verdict: Verdict) -> dict[str, float | None] | None:
    row = verdict.against.worst
    if row is None or evaluation.analytical is None:
        return None
    slopes = judged_by(evaluation, verdict).slopes
    return {
        "x": float(evaluation.rows.x[row]),
        "analytical": finite(evaluation.analytical[row]),
        "numerical": finite(evaluation.grad_output * slopes.value[row]),
        "error": finite(abs(evaluation.grad_output) * slopes.error[row]),
    }
