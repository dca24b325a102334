"""Examines one Function for a report: its default section, sections by its other inputs, the contract X-ray."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any, Protocol

from ..protocol.errors import BadQuestion, EngineFault, Unsolved
from ..protocol.frames import Frame
from ..protocol.question import Element, Question, element_names
from ..url.address import Address, default_address
from ..url.swept_elements import read_element, shapes_by_name, sweepable_shapes
from .report_data import ExaminedFunction
from .summarize import summarize, summarize_uncalled

# Further inputs that are swept, however long that takes: no verdict depends on the clock.
MAX_OTHER_INPUTS = 7
_SAY = "Write that as a line `Gradloupe: ...` into its docstring, or what you would pass into example_inputs."
_HELD = re.compile(r"\s*(\w+)\s*:[^;]*\bnograd\b")


class _Door(Protocol):
    """What can answer: an ``Engine``, or the process of a notebook itself."""

    async def stub(self, name: str) -> dict[str, Any]:
        """What is known of an op without calling it."""
        ...

    async def op(self, name: str, recipe: str = "") -> dict[str, Any]:
        """Its full description."""
        ...

    async def answer(self, question: Question) -> Frame:
        """One view of a section."""
        ...


async def examine_function(
    engine: _Door,
    name: str,
    allowed: Collection[str] = (),
    chosen: Callable[[dict[str, Any]], Address] | None = None,
) -> ExaminedFunction:
    """Examine the op of that name; whatever goes wrong with it is a result. Raises ``EngineBroken``.

    ``allowed`` are the ids of checks that may fail. ``chosen`` makes the address of the only section to look at from
    the description of the op; it may raise ``BadQuestion``.
    """
    stub = await engine.stub(name)
    try:
        op = stub | await engine.op(name)
    except Unsolved as unsolved:
        told = stub | unsolved.told
        return ExaminedFunction(
            summarize_uncalled(told, f"{told['sentence']} {_SAY}" if told.get("sayable") else told["sentence"]), told
        )
    except (BadQuestion, EngineFault) as problem:
        return ExaminedFunction(summarize_uncalled(stub, str(problem)), stub)
    try:
        address = chosen(op) if chosen else default_address(op)
    except BadQuestion as problem:
        return ExaminedFunction(summarize_uncalled(op, str(problem)), op)
    try:
        return await _looked_at(engine, op, address, allowed, chosen is None)
    except (BadQuestion, EngineFault) as problem:
        return ExaminedFunction(summarize_uncalled(op, str(problem), "failed"), op)


async def _looked_at(
    engine: _Door, op: dict[str, Any], address: Address, allowed: Collection[str], others: bool
) -> ExaminedFunction:
    usual = address.question
    curves = await engine.answer(usual)
    headers, names = [curves.header], list[str]()
    if _lost(curves):  # it would crash again
        return ExaminedFunction(summarize(op, headers, None, allowed), op, curves)
    contract = await engine.answer(replace(usual, view="contract"))
    if others and not curves.header["failure"]:
        names = _others(op, usual, contract.header)
        async for other in _by(engine, op, () if _lost(contract) else names[:MAX_OTHER_INPUTS]):
            headers.append(other.header)
    left_out = names[len(headers) - 1 :]
    return ExaminedFunction(summarize(op, headers, contract.header, allowed, left_out), op, curves, contract.header)


def _others(op: dict[str, Any], usual: Question, contract: Mapping[str, Any]) -> list[str]:
    """All inputs but the default one and those without a gradient; first those with an error in the contract."""
    held = set(_HELD.findall(op["usual_recipe"])) | {usual.wrt.name}
    names = [each["name"] for each in op["inputs"] if each["values"] and each["name"] not in held]
    accused = {each["element"].partition("[")[0] for each in contract["checks"] if each["level"] == "error"}
    return sorted(names, key=lambda name: name not in accused)


async def _by(engine: _Door, op: dict[str, Any], names: Sequence[str]) -> AsyncIterator[Frame]:
    """The curves by these inputs, each of the output that it changes most; stops when the worker crashes."""
    for name in names:
        question = default_address(op, _first(op, name)).question
        pair = _most(await engine.answer(replace(question, view="jacobian")), op)
        answer = await engine.answer(replace(default_address(op, pair[0]).question, of=pair[1]) if pair else question)
        yield answer
        if _lost(answer):
            return


def _first(op: dict[str, Any], name: str) -> Element:
    shape = sweepable_shapes(op)[name]
    return Element(name, (0,) * len(shape))


def _most(jacobian: Frame, op: dict[str, Any]) -> tuple[Element, Element] | None:
    """The input and output of the cell with the largest numerical derivative; None where none is known."""
    header, columns = jacobian.header, jacobian.columns
    known = [(abs(each), row) for row, each in enumerate(columns.get("numerical", ())) if isfinite(each)]
    if header["failure"] or not known:
        return None
    row = max(known, key=lambda each: (each[0], -each[1]))[1]
    (of,) = element_names(header["rows"]["name"], header["rows"]["shape"], [columns["row"][row]])
    (wrt,) = element_names(header["across"]["name"], header["across"]["shape"], [columns["column"][row]])
    return read_element("wrt", wrt, sweepable_shapes(op)), read_element("of", of, shapes_by_name(op["outputs"]))


def _lost(answer: Frame) -> bool:
    failure = answer.header["failure"]
    return failure is not None and failure["phase"] == "worker"
