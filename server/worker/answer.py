"""Answers a question: chooses the device, evaluates the view, and returns header and columns as plain data."""

from dataclasses import replace

import numpy as np
import torch

from ...ops import Input, Op
from ..numerics.curve.evaluate import evaluate
from ..numerics.sampling.grid import Grid
from ..numerics.verdict.verdict import judge
from ..protocol.answer import asked_record, empty_answer
from ..protocol.errors import BadQuestion
from ..protocol.question import DEFAULT_COUNT, Question
from ..runtime.captured import only_device
from ..runtime.devices import TORCH_DTYPES, Device, devices
from ..runtime.failure import Failure, FunctionFailed
from ..runtime.rng import SEED, seed_all_generators
from ..runtime.section import Section
from ..schema.op import DeviceDescription, DeviceSummary
from ..schema.section import AskedRecord
from ..views import VIEW_FUNCTIONS
from ..views.common import ViewAnswer, failure_record
from ..views.curves import curve_columns
from ..views.second_order import second_order_view

torch.set_num_threads(1)
# Else backward runs in a thread of its own on a GPU, where no time limit interrupts it and no profiler sees it.
torch.autograd.set_multithreading_enabled(False)


def device_summary() -> DeviceSummary:
    """The torch version, the available devices and the one that ``auto`` takes."""
    available = devices()
    described: list[DeviceDescription] = [
        {"kind": each.kind, "name": each.name, "dtypes": list(each.dtypes)} for each in available
    ]
    return {"torch": torch.__version__, "devices": described, "auto": available[0].kind}


@np.errstate(all="ignore")  # an overflow becomes a gap with its reason
def answer_question(question: Question, op: Op) -> ViewAnswer:
    """One view of a section of ``op``: the header, and its columns of float64 (status: uint8).

    Raises ``BadQuestion`` for a device or dtype that is not there. A Function that fails is an answer, and one that is
    random draws the same numbers whenever this is asked.
    """
    seed_all_generators(SEED)
    device, notes = choose_device(question, devices())
    _check_grad_output(question)
    _check_range(question)
    question = _with_defaults(question, op)
    if (there := only_device(op)) not in ("", device.kind):
        notes.append(f"{op.title} runs on {there} alone, and was called there.")
    asked = _asked(question, op, device, notes)
    try:
        section, view = _section(op, question, device), VIEW_FUNCTIONS[question.view]
        if question.order == 1:
            return view(section, question, asked)
        return second_order_view(view, section, question, asked)
    except FunctionFailed as error:
        return empty_answer(question, asked, error.failure.first, failure_record(error.failure)), {}


def failed_answer(question: Question, op: Op, failure: Failure) -> ViewAnswer:
    """The answer to a question that could be asked, and had no result."""
    asked = _asked(_with_defaults(question, op), op, *choose_device(question, devices()))
    return empty_answer(question, asked, failure.first, failure_record(failure)), {}


def warm_up() -> None:
    """Evaluate a harmless function, so that the first user does not pay for what torch loads lazily."""
    op = Op(torch.autograd.Function, "warm-up", "", "", "", (Input("x"),), call=torch.relu)
    section = Section(op, op, "x", (), "y", (), (("x", (1.0,)),), ())
    evaluation = evaluate(section, Grid(-1.0, 1.0, DEFAULT_COUNT))
    curve_columns(evaluation, judge(evaluation))


def choose_device(question: Question, available: tuple[Device, ...]) -> tuple[Device, list[str]]:
    """The device to use among those ``available``, and notes on the choice.

    Raises ``BadQuestion`` where the requested device is not there, or lacks the dtype.
    """
    if question.device == "auto":
        chosen = next(each for each in available if question.dtype in each.dtypes)
        if chosen is not available[0]:
            return chosen, [f"{available[0].name} has no {question.dtype}, so {chosen.name} was used instead."]
        return chosen, []
    candidates = [each for each in available if each.kind == question.device]
    if not candidates:
        kinds = ", ".join(each.kind for each in available)
        raise BadQuestion(
            f"device: there is no {question.device} on this machine; choose auto or one of {kinds}.", "device"
        )
    if question.dtype not in candidates[0].dtypes:
        raise BadQuestion(
            f"dtype: {candidates[0].name} ({candidates[0].kind}) has no {question.dtype}; "
            f"choose one of {', '.join(candidates[0].dtypes)}, or device=cpu.",
            "dtype",
        )
    return candidates[0], []


def _asked(question: Question, op: Op, device: Device, notes: list[str]) -> AskedRecord:
    return asked_record(question, op.title, op.claim, {"kind": device.kind, "name": device.name}, notes)


def _check_grad_output(question: Question) -> None:
    largest = torch.finfo(TORCH_DTYPES[question.dtype]).max
    if abs(question.grad_output) > largest:
        raise BadQuestion(
            f"grad_output: {question.dtype} holds numbers up to {largest:.4g}, and {question.grad_output:.4g} is more; "
            "choose a smaller one, or dtype=float64.",
            "grad_output",
        )


def _check_range(question: Question) -> None:
    start, stop = torch.tensor([question.start, question.stop], dtype=torch.float64).to(TORCH_DTYPES[question.dtype])
    if start == stop:
        raise BadQuestion(
            f"start: {question.dtype} cannot tell {question.start:g} from {question.stop:g}; "
            "widen the range, or choose dtype=float64.",
            "start",
        )


def _with_defaults(question: Question, op: Op) -> Question:
    """The question with a value for every input and parameter of the op, given or default."""
    return replace(
        question,
        inputs={each.name: tuple(question.inputs.get(each.name, each.values)) for each in op.inputs},
        parameters={each.name: question.parameters.get(each.name, each.default) for each in op.parameters},
    )


def _section(op: Op, question: Question, device: Device) -> Section:
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
        device=device.kind,
    )
