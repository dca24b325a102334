"""How far out a Function can be called at all: until it raises, or takes ever longer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from ...runtime import timing
from ...runtime.failure import FunctionFailed
from ...runtime.section import Section

# Called at, ever farther apart: a cost that grows with x shows before the next is out of hand. Not at round numbers,
# which Functions with poles there answer at once.
_CROOKED = 0.9862703241
RADII = tuple(_CROOKED * each for each in (1e-2, 1, 10, 1e2, 1e3, 1e4, 1e6, 1e7, 1e8, 1e10, 1e13, 1e20, 1e40, 1e100))
# backward, which is slower, is called at some of them, and at the last.
_BACKWARD = frozenset(RADII[index] for index in (0, 3, 5, 6, 8, 10))
# A call is too long that takes so many times the usual, and so many seconds (less if every point needs its own).
_TIMES, _SECONDS, SECONDS_EACH = 20.0, 5e-3, 1e-3
# One that takes twice the usual and so many seconds more is a warning: from there on in small steps.
TWICE, _MORE, _SMALL = 2.0, 2e-5, 10**0.125
# After so many seconds the walk ends wherever it is.
_ENOUGH = 0.5
# Where a Function begins to raise is found to this ratio.
_NEAR, _HALVINGS = 1.001, 20
# Differences need room below the largest number of a dtype.
_ROOM = 0.995


@dataclass(frozen=True)
class Reach:
    """From ``low``, not above 0, to ``high``, not below, a Function can be called; 0 where not even near 0.

    ``ends`` says of either side why no farther: nothing where the numbers of the dtype end, ``slow``, or the
    kind of the exception. ``seconds`` is what a call for one or two points takes near 0.
    """

    low: float
    high: float
    ends: tuple[str, str]
    seconds: float


@dataclass(frozen=True)
class _End:
    radius: float
    why: str
    seconds: float


class _Refused(Exception):
    """The Function raised; the message is the kind of its exception."""


def reach_of(section: Section, reference: Section, grad_output: float) -> Reach:
    """How far out ``section`` and its double precision ``reference`` can be called, from 0 in both directions.

    Some 20 calls of one or two points. Where the cost grows with x it takes up to half a second.
    """
    top = float(torch.finfo(section.dtype).max) * _ROOM
    least = _SECONDS if section.stacked else SECONDS_EACH

    def walk(*signs: float) -> _End:
        def call(radius: float, deep: bool) -> None:
            t = section.snap(radius * np.array(signs))
            try:
                if deep:
                    section.backward(t, grad_output)
                if not deep or reference is not section:
                    reference.forward(t)
            except SystemExit as end:
                raise _Refused("SystemExit") from end
            except FunctionFailed as failed:
                raise _Refused(failed.failure.kind) from failed

        return _walk(call, top, least)

    both = walk(-1.0, 1.0)
    if not both.why:
        return Reach(-top, top, ("", ""), both.seconds)
    below, above = walk(-1.0), walk(1.0)
    seconds = min(below.seconds, above.seconds)
    return Reach(0.0 - below.radius, above.radius, (below.why, above.why), seconds if seconds < np.inf else 0.0)


def _walk(call: Callable[[float, bool], None], top: float, least: float) -> _End:
    """Outwards from 0 as far as ``call(radius, whether backward too)`` goes without raising or taking too long."""
    begun, spent, good, careful = timing.now(), 0.0, 0.0, False
    usual = {True: np.inf, False: np.inf}
    while good < top:
        radius = min(good * _SMALL, top) if careful else _next(good, top)
        deep = careful or radius in _BACKWARD or radius == top
        too_long = max(_TIMES * usual[deep], least)
        try:
            laps = [timing.taken(partial(call, radius, deep))]
            if not good or laps[0] > too_long:  # the first is slow, and any may be kept waiting
                laps.append(timing.passed(partial(call, radius, deep)))
        except _Refused as refused:
            return _End(_last(call, good, radius), str(refused), usual[True])
        seconds, spent = min(laps), spent + sum(laps)
        if seconds > too_long or (spent > _ENOUGH and timing.now() - begun > _ENOUGH):
            return _End(good, "slow", usual[True])
        usual[deep] = min(usual[deep], seconds)
        careful = seconds > TWICE * usual[deep] + _MORE
        good = radius
    return _End(good, "", usual[True])


def _next(radius: float, top: float) -> float:
    return next((each for each in RADII if radius < each < top), top)


def _last(call: Callable[[float, bool], None], good: float, bad: float) -> float:
    """The last radius at which the Function does not raise."""
    for _ in range(_HALVINGS if good else 0):
        if bad <= _NEAR * good:
            break
        middle = good * (bad / good) ** 0.5
        try:
            call(middle, True)
        except _Refused:
            bad = middle
        else:
            good = middle
    return good
