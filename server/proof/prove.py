"""What is proved of a section, once it is known that the stand-in does what tensors do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from ..runtime.section import Section
from .decisions import Undecided
from .record import Given, Proof, Word, merged
from .search import Search
from .trust import control, functions_of, refuse_what_tells, stateless

_CONTROLS = 16  # sample: of the boxes that are decided
_ROUNDING = 2.0**-53  # bound: of the largest slope; what differs by less is rounding, and nobody is accused


def searched(
    section: Section,
    surrogate: Callable[..., Any] | None,
    start: float,
    stop: float,
    grad_output: float,
    boxes: int,
) -> Proof:
    """The proof, as far as so many boxes go."""
    search = Search(section, surrogate, grad_output, start, stop, boxes)
    try:
        if section.sweeps_parameter or section.mirror or section.order != 1 or section.dtype != torch.float64:
            raise Undecided("only what is swept in float64, in one element of an input, is enclosed")
        functions = functions_of(section, surrogate)
        refuse_what_tells(functions)
        with stateless(functions, section):
            search.run()
            witness = search.witness()
            search.repeat()
            curve = section if surrogate is None else replace(section, call=surrogate)
            control(section, curve, grad_output, search.middles[:: 1 + len(search.middles) // _CONTROLS])
    except Undecided as undecided:
        nothing = ((start, stop),)
        return Proof("nothing", start, stop, reason=str(undecided), undecided=nothing, boxes=search.boxes)
    refuted = [box for off, box in search.refuted if off > _ROUNDING * search.largest]
    small = [box for off, box in search.refuted if not off > _ROUNDING * search.largest]
    left = merged([*(box for box, _ in search.todo), *search.unknown, *small])
    return Proof(
        _word(bool(refuted), bool(search.proved), bool(left)),
        start,
        stop,
        proved=tuple(merged(search.proved)),
        refuted=tuple(merged(refuted)),
        witness=witness if refuted else None,
        points=tuple(merged(search.points)),
        undecided=tuple(left),
        epsilon=search.epsilon,
        grad_output=_given(search),
        boxes=search.boxes,
        bits=search.bits,
    )


def _word(refuted: bool, proved: bool, undecided: bool) -> Word:
    if refuted:
        return "refuted"
    return "proved" if not undecided else "in part" if proved else "nothing"


def _given(search: Search) -> Given:
    """Of a backward that is proportional to grad_output, one of them says all with its sign."""
    if search.mixed or search.section.op.follows_sign or not search.grad_output:
        return "this"
    if not search.signed:
        return "every"
    return "every positive" if search.grad_output > 0 else "every negative"
