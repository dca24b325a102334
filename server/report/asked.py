"""What a report asks of one Function: its curves at their usual place, by its other inputs, and the contract X-ray."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import replace
from math import isfinite
from typing import Any, Protocol

from ..address import Address, default
from ..checked import checked, uncalled
from ..denial import BadQuestion, EngineFault, Unsolved
from ..elements import named
from ..frames import Frame
from ..question import Element, Question
from ..swept import element, shapes, sweepable
from .found import Found

# Seconds that a Function may have taken before it is no longer asked by its other inputs, and how many of these.
ENOUGH, OTHERS = 5.0, 7
SAY = "Write that as a line `Gradloupe: ...` into its docstring, or what you would pass into example_inputs."
HELD = re.compile(r"\s*(\w+)\s*:[^;]*\bnograd\b")


class Door(Protocol):
    """What answers: an ``Engine``, or the process of a notebook itself."""

    async def stub(self, name: str) -> dict[str, Any]:
        """What is known of an op without calling it."""
        ...

    async def op(self, name: str, recipe: str = "") -> dict[str, Any]:
        """What is known of it whole."""
        ...

    async def answer(self, question: Question) -> Frame:
        """One view of one of its sections."""
        ...


async def asked(
    engine: Door,
    name: str,
    allowed: Collection[str] = (),
    chosen: Callable[[dict[str, Any]], Address] | None = None,
) -> Found:
    """What is found of the op of that name; what goes wrong with it is a result. Raises ``EngineBroken``.

    ``allowed`` are the ids of what is no fault of it. ``chosen`` makes of its description the address to look at, and
    only there; it may raise ``BadQuestion``.
    """
    stub = await engine.stub(name)
    try:
        op = stub | await engine.op(name)
    except Unsolved as unsolved:
        told = stub | unsolved.told
        return Found(uncalled(told, f"{told['sentence']} {SAY}" if told.get("sayable") else told["sentence"]), told)
    except (BadQuestion, EngineFault) as problem:
        return Found(uncalled(stub, str(problem)), stub)
    try:
        address = chosen(op) if chosen else default(op)
    except BadQuestion as problem:
        return Found(uncalled(op, str(problem)), op)
    try:
        return await _looked_at(engine, op, address, allowed, chosen is None)
    except (BadQuestion, EngineFault) as problem:
        return Found(uncalled(op, str(problem), "failed"), op)


async def _looked_at(
    engine: Door, op: dict[str, Any], address: Address, allowed: Collection[str], others: bool
) -> Found:
    began, usual = time.monotonic(), address.question
    curves = await engine.answer(usual)
    headers = [curves.header]
    if _lost(curves):  # and would be again
        return Found(checked(op, headers, None, allowed), op, curves)
    contract = await engine.answer(replace(usual, view="contract"))
    if others and not curves.header["failure"] and not _lost(contract):
        async for other in _by_others(engine, op, usual, began):
            headers.append(other.header)
    return Found(checked(op, headers, contract.header, allowed), op, curves, contract.header)


async def _by_others(engine: Door, op: dict[str, Any], usual: Question, began: float) -> AsyncIterator[Frame]:
    """The curves by every other input, as long as that is cheap, each of the output that it moves most."""
    held = set(HELD.findall(op["usual_recipe"]))
    others = [each["name"] for each in op["inputs"] if each["values"] and each["name"] != usual.wrt.name]
    for name in [each for each in others if each not in held][:OTHERS]:
        if time.monotonic() - began > ENOUGH:
            return
        question = default(op, _first(op, name)).question
        pair = _most(await engine.answer(replace(question, view="jacobian")), op)
        answer = await engine.answer(replace(default(op, pair[0]).question, of=pair[1]) if pair else question)
        yield answer
        if _lost(answer):
            return


def _first(op: dict[str, Any], name: str) -> Element:
    shape = sweepable(op)[name]
    return Element(name, (0,) * len(shape))


def _most(jacobian: Frame, op: dict[str, Any]) -> tuple[Element, Element] | None:
    """The input and the output of the cell in which differences are largest; None where none is known."""
    header, columns = jacobian.header, jacobian.columns
    known = [(abs(each), row) for row, each in enumerate(columns.get("numerical", ())) if isfinite(each)]
    if header["failure"] or not known:
        return None
    row = max(known, key=lambda each: (each[0], -each[1]))[1]
    (of,) = named(header["rows"]["name"], header["rows"]["shape"], [columns["row"][row]])
    (wrt,) = named(header["across"]["name"], header["across"]["shape"], [columns["column"][row]])
    return element("wrt", wrt, sweepable(op)), element("of", of, shapes(op["outputs"]))


def _lost(answer: Frame) -> bool:
    failure = answer.header["failure"]
    return failure is not None and failure["phase"] == "worker"
