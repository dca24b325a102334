"""Answers a question: chooses the device, evaluates the view, and returns header and columns as plain data."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch

from ...ops import Input, Op
from ..numerics.curve.evaluate import evaluate
from ..numerics.sampling.grid import Grid
from ..numerics.verdict.verdict import judge
from ..protocol.answer_header import common_header, empty_answer
from ..protocol.errors import BadQuestion
from ..protocol.question import Question
from ..runtime.devices import TORCH_DTYPES, Device, devices
from ..runtime.failure import Failure, FunctionFailed
from ..runtime.section import Section
from ..views import VIEW_FUNCTIONS, second_order
from ..views.columns import ColumnArrays, curve_columns

torch.set_num_threads(1)


def device_summary() -> dict[str, Any]:
    """The torch version, the available devices and the one that ``auto`` takes."""
    found = devices()
    return {"torch": torch.__version__, "devices": [asdict(each) for each in found], "auto": found[0].kind}


@np.errstate(all="ignore")  # an overflow becomes a gap with its reason
def answer_question(question: Question, op: Op) -> tuple[dict[str, Any], ColumnArrays]:
    """One view of a section of ``op``: the header, and its columns of float64 (status: uint8).

    Raises ``BadQuestion`` for a device or dtype that is not there. A Function that fails is an answer.
    """
    place, notes = choose_device(question, devices())
    _check_grad_output(question)
    _check_range(question)
    question = _complete(question, op)
    asked = common_header(question, op.title, op.claim, {"kind": place.kind, "name": place.name}, notes)
    try:
        found, drawn = _look(_section(op, question, place), question)
    except FunctionFailed as error:
        return asked | _nothing(error.failure, question.view), {}
    return asked | found | {"notes": notes + found.get("notes", [])}, drawn


def _look(section: Section, question: Question) -> tuple[dict[str, Any], ColumnArrays]:
    view = VIEW_FUNCTIONS[question.view]
    return view(section, question) if question.order == 1 else second_order.second_order_view(view, section, question)


def warm_up() -> None:
    """Evaluate a harmless function, so that the first user does not pay for what torch loads lazily."""
    op = Op(torch.autograd.Function, "warm-up", "", "", "", (Input("x"),), call=torch.relu)
    section = Section(op, op, "x", (), "y", (), (("x", (1.0,)),), ())
    evaluation = evaluate(section, Grid(-1.0, 1.0, 401))
    curve_columns(evaluation, judge(evaluation))


def choose_device(question: Question, found: tuple[Device, ...]) -> tuple[Device, list[str]]:
    """The device to use among those ``found``, and notes on the choice.

    Raises ``BadQuestion`` where the requested device is not there, or lacks the dtype.
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
    most = torch.finfo(TORCH_DTYPES[question.dtype]).max
    if abs(question.grad_output) > most:
        raise BadQuestion(
            f"grad_output: {question.dtype} holds numbers up to {most:.4g}, and {question.grad_output:.4g} is more; "
            "choose a smaller one, or dtype=float64."
        )


def _check_range(question: Question) -> None:
    start, stop = torch.tensor([question.start, question.stop], dtype=torch.float64).to(TORCH_DTYPES[question.dtype])
    if start == stop:
        raise BadQuestion(
            f"start: {question.dtype} cannot tell {question.start:g} from {question.stop:g}; "
            "widen the range, or choose dtype=float64."
        )


def _complete(question: Question, op: Op) -> Question:
    """The question with a value for every input and parameter of the op, given or default."""
    return replace(
        question,
        inputs={each.name: tuple(question.inputs.get(each.name, each.values)) for each in op.inputs},
        parameters={each.name: question.parameters.get(each.name, each.default) for each in op.parameters},
    )


def _section(op: Op, question: Question, place: Device) -> Section:
    return Section(
        op=op,
        call=op,
        wrt=question.wrt.name,
        wrt_index=question.wrt.index,
        of=question.of.name,
        of_index=question.of.index,
        inputs=tuple(question.inputs.items()),
        parameters=tuple(question.parameters.items()),
        dtype=TORCH_DTYPES[question.dtype],
        device=place.kind,
    )


def _nothing(failure: Failure, view: str) -> dict[str, Any]:
    """The view's members of the header where forward itself failed."""
    return empty_answer(failure.first, asdict(failure), view)
