"""Examines one Function for a report: its default section, sections by its other inputs, the contract X-ray."""

import logging
import re
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from dataclasses import replace
from math import isfinite
from typing import Protocol

from ..protocol.answer import Answer, curves_of
from ..protocol.errors import (
    BadQuestion,
    EngineBroken,
    EngineBusy,
    EngineFault,
    Unsolved,
    describe_internal_error,
)
from ..protocol.listed import listed
from ..protocol.question import Element, Question, element_names
from ..schema.op import OpDescription, OpStub, is_described
from ..schema.section import SectionRecord
from ..schema.views import HIDDEN_ID, ContractRecord, ProofRecord
from ..url.address import Address, default_address
from ..url.swept_elements import read_element, shapes_by_name, sweepable_shapes
from .findings import UNJUDGED_WORDS
from .result import ExaminedFunction
from .summarize import is_lost, summarize, summarize_uncalled

# Further inputs that are swept, however long that takes: no verdict depends on the clock. With more it is undecided.
MAX_OTHER_INPUTS = 63
_OUR_FAULT = (
    "This is an error of Gradloupe itself, and says nothing about the Function: {}. Please report it, with the "
    "Function and how it is called{}."
)
_ADVICE = (
    "Say it by --recipe, by a line `Gradloupe: ...` in its docstring, or by what you would pass in example_inputs."
)
_NO_GRADIENT = re.compile(r"\s*(\w+)\s*:[^;]*\bnograd\b")


class _Engine(Protocol):
    """What can answer: an ``Engine``, or the process of a notebook itself."""

    async def stub(self, name: str) -> OpStub:
        """What is known of an op without calling it."""

    async def op(self, name: str, recipe: str = "") -> OpDescription:
        """Its full description."""

    async def answer(self, question: Question) -> Answer:
        """One view of a section."""


async def examine_function(
    engine: _Engine,
    name: str,
    allowed: Collection[str] = (),
    chosen: Callable[[OpDescription], Address] | None = None,
    strict: bool = False,
) -> ExaminedFunction:
    """Examine the op of that name; whatever goes wrong with it is a result. Raises ``EngineBroken``.

    ``allowed`` are the ids of checks that may fail. ``chosen`` makes the address of the only section to look at from
    the description of the op; it may raise ``BadQuestion``. ``strict`` makes failures of warnings.
    """
    stub = await engine.stub(name)
    try:
        return await _examine(engine, stub, allowed, chosen, strict)
    except (EngineBroken, EngineBusy):
        raise
    except EngineFault as fault:
        return _our_fault(stub, str(fault))
    except Exception as problem:
        logging.exception("a fault of Gradloupe itself")
        return _our_fault(stub, describe_internal_error(problem))


async def _examine(
    engine: _Engine,
    stub: OpStub,
    allowed: Collection[str],
    chosen: Callable[[OpDescription], Address] | None,
    strict: bool,
) -> ExaminedFunction:
    try:
        op = await engine.op(stub["name"])
    except Unsolved as unsolved:
        told = unsolved.told
        checked = summarize_uncalled(told, told["sentence"])
        return ExaminedFunction(checked, told, tried=told["tried"], sayable=told["recipe"] * told["sayable"])
    except BadQuestion as problem:
        return ExaminedFunction(summarize_uncalled(stub, str(problem)), stub)
    try:
        address = chosen(op) if chosen else default_address(op)
    except BadQuestion as problem:
        return ExaminedFunction(summarize_uncalled(op, str(problem)), op)
    try:
        return await _examine_sections(engine, op, address, allowed, strict, chosen is None)
    except EngineFault as fault:
        return _our_fault(op, str(fault))
    except BadQuestion as problem:
        return ExaminedFunction(summarize_uncalled(op, str(problem), "failed"), op)


def _our_fault(op: OpStub, fault: str) -> ExaminedFunction:
    called = op["recipe"] or op["usual_recipe"] if is_described(op) else ""
    sentence = _OUR_FAULT.format(fault.rstrip("."), f", {called}" if called else "")
    return ExaminedFunction(summarize_uncalled(op, sentence, "undecided"), op)


async def _examine_sections(
    engine: _Engine, op: OpDescription, address: Address, allowed: Collection[str], strict: bool, others: bool
) -> ExaminedFunction:
    question = address.question
    curves = curves_of(await engine.answer(question))
    headers, names, questions = [curves.header], list[str](), [question]
    if is_lost(curves.header["failure"]):  # it would crash again
        return ExaminedFunction(summarize(op, headers, None, allowed, (), strict), op, curves)
    contract = (await engine.answer(replace(question, view="contract"))).header
    assert contract["view"] == "contract"
    if others and not curves.header["failure"]:
        names = _other_inputs(op, question, contract)
        looked_at = () if is_lost(contract["failure"]) else names[:MAX_OTHER_INPUTS]
        async for asked, other in _other_sections(engine, op, looked_at, bool(curves.header["hurried"])):
            headers.append(other)
            questions.append(asked)
    hidden = (each["element"] for each in contract["checks"] if each["id"] == HIDDEN_ID and each["level"] != "fine")
    left_out = [*names[len(headers) - 1 :], *hidden]
    proofs = [] if any(is_lost(each["failure"]) for each in headers) else await _proofs(engine, questions)
    checked = summarize(op, headers, contract, allowed, left_out, strict, proofs)
    if (op["made_up"] or op["doubt"]) and not checked.ok and checked.word not in UNJUDGED_WORDS:
        return ExaminedFunction(summarize_uncalled(op, _not_understood(op)), op, sayable=op["usual_recipe"])
    return ExaminedFunction(checked, op, curves, contract)


async def _proofs(engine: _Engine, questions: Sequence[Question]) -> list[ProofRecord]:
    """What is proved of each section, until one is lost."""
    found = []
    for each in questions:
        header = (await engine.answer(replace(each, view="proof"))).header
        assert header["view"] == "proof"
        found.append(header)
        if is_lost(header["failure"]):
            break
    return found


def _not_understood(op: OpDescription) -> str:
    """The sentence where backward does not fit forward in a call that is hardly the one that is meant."""
    called = op["recipe"] or op["usual_recipe"]
    if not op["made_up"]:
        return (
            f"The call was not understood: with `{called}` {op['doubt']}. That backward does not fit forward "
            "there says nothing."
        )
    return (
        f"The call was not understood: {listed(op['made_up'])} has to be a callable that only you know. With one "
        f"made up, `{called}`, backward does not fit forward, which says nothing."
    )


def with_advice(examined: ExaminedFunction, advice: str = _ADVICE) -> ExaminedFunction:
    """The result with ``advice`` behind its sentence, where how the Function is called has to be said."""
    if not examined.sayable:
        return examined
    checked = examined.checked
    return replace(examined, checked=replace(checked, sentence=f"{checked.sentence} {advice}"))


def _other_inputs(op: OpDescription, question: Question, contract: ContractRecord) -> list[str]:
    """All inputs but the default one and those without a gradient; first those with an error in the contract."""
    excluded = set(_NO_GRADIENT.findall(op["usual_recipe"])) | {question.wrt.name}
    names = [each["name"] for each in op["inputs"] if each["values"] and each["name"] not in excluded]
    accused = {each["element"].partition("[")[0] for each in contract["checks"] if each["level"] == "error"}
    return sorted(names, key=lambda name: name not in accused)


async def _other_sections(
    engine: _Engine, op: OpDescription, names: Sequence[str], hurried: bool
) -> AsyncIterator[tuple[Question, SectionRecord]]:
    """The curves by these inputs, each of the output that it changes most; stops when the worker crashes.

    Where the Function is too slow for a Jacobian, ``hurried``, they are of the output that a page shows first.
    """
    for name in names:
        first = Element(name, (0,) * len(sweepable_shapes(op)[name]))
        question = default_address(op, first).question
        cell = None if hurried else _largest_cell(await engine.answer(replace(question, view="jacobian")), op)
        asked = replace(default_address(op, cell[0]).question, of=cell[1]) if cell else question
        header = curves_of(await engine.answer(asked)).header
        yield asked, header
        if is_lost(header["failure"]):
            return


def _largest_cell(jacobian: Answer, op: OpDescription) -> tuple[Element, Element] | None:
    """The input and output of the cell with the largest numerical derivative; None where none is known."""
    header, columns = jacobian.header, jacobian.columns
    cells = [(abs(each), row) for row, each in enumerate(columns.get("numerical", ())) if isfinite(each)]
    assert header["view"] == "jacobian"
    if header["failure"] or not header["rows"] or not header["across"] or not cells:
        return None
    row = max(cells, key=lambda each: (each[0], -each[1]))[1]
    (of,) = element_names(header["rows"]["name"], header["rows"]["shape"], [columns["row"][row]])
    (wrt,) = element_names(header["across"]["name"], header["across"]["shape"], [columns["column"][row]])
    return read_element("wrt", wrt, sweepable_shapes(op)), read_element("of", of, shapes_by_name(op["outputs"]))
