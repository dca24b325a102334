"""The range of magnitudes at which a Function can be called: outwards from 0, until it raises or becomes too slow."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch

from . import timing
from .arrays import Array
from .call_cost import step_limit
from .failure import FunctionFailed
from .section import BackwardResult, Section
from .timeouts import TookTooLong, time_limit

_IRREGULAR = 0.9862703241  # sample: at a round number a Function with a pole there might return at once
# sample: the radii of the calls, ever farther apart: a growing cost shows before the next call takes too long.
_RADII = tuple(_IRREGULAR * each for each in (1, 1e2, 1e4, 1e6, 1e8, 1e10, 1e13, 1e20, 1e40, 1e100))
# sample: the radii at which backward, which is slower, is called too; also at the last. A cost of its own shows, as
# that of forward does, before the next call takes a hundred times as long.
_BACKWARD = frozenset(_RADII[:6])
_SMALLEST = 1e-2 * _IRREGULAR  # sample: where the Function refuses the first of them, the least that is tried
_OWN_CODE = str(Path(__file__).parent)  # of which a call runs as much for any numbers
_MOST_STEPS = 20_000  # budget: the lines of Python that a call for numbers of all magnitudes may run
# budget: a call is too slow if it takes this multiple of the usual time, and these seconds (fewer if points are not
# batched), in each of this many calls.
_SLOW_RATIO, _SECONDS, _SECONDS_ALONE, _REPEATS = 20.0, 5e-3, 1e-3, 3
# budget: a call of this multiple of the usual time, and these seconds more, is a warning: small steps follow.
_WARNING_RATIO, _WARNING_SECONDS, _SMALL_STEP = 2.0, 2e-5, 10**0.125
_BUDGET = 0.5  # budget: the time limit of a walk, in seconds; checked between its calls
# sample: the radius beyond which a Function raises is found as a power of this number, so that it does not depend on
# the steps taken.
_RATIO = 1.001
_MARGIN = 0.995  # sample: the share of the largest number of a dtype that is reached: differences need a margin


@dataclass(frozen=True)
class DomainReach:
    """The range ``low`` ≤ 0 ≤ ``high`` in which a Function can be called; 0 where it cannot even near 0.

    ``ends`` says for either side why the range ends there: empty where the dtype ends, ``slow``, or the kind of the
    exception.
    """

    low: float
    high: float
    ends: tuple[str, str]


@dataclass(frozen=True)
class _End:
    radius: float
    why: str


class _Refused(Exception):
    """Raised when the Function raised; the message is the kind of its exception."""


def full_reach(dtype: torch.dtype) -> DomainReach:
    """The range of a Function that can be called with all numbers of a dtype."""
    top = float(torch.finfo(dtype).max) * _MARGIN
    return DomainReach(-top, top, ("", ""))


def backward_everywhere(section: Section, reference: Section, grad_output: float, x: Array) -> BackwardResult | None:
    """What backward returns at the points ``x``, in one call with numbers of all magnitudes; None where it cannot.

    That is where points do not share calls, the Function raises anywhere, or runs ever more lines of Python.
    """
    top = full_reach(section.dtype).high
    radii = np.array([each for each in _RADII if each < top] + [top])
    t = np.concatenate((x, section.snap(np.concatenate((-radii, radii)))))
    if not (section.stacked and reference.stacked) or t.size > min(section.batch_size, reference.batch_size):
        return None
    try:
        with time_limit(_BUDGET), step_limit(_MOST_STEPS, but=_OWN_CODE):
            returned = section.backward_in_one_call(t, grad_output)
            if reference is not section:
                reference.in_one_call(t)
    except (FunctionFailed, SystemExit, TookTooLong):
        return None
    return returned.at(slice(x.size))


def find_reach(section: Section, reference: Section, grad_output: float) -> DomainReach:
    """The range in which ``section`` and its double-precision ``reference`` can be called, from 0 in both directions.

    It takes eleven calls of one or two points where the Function raises nowhere.
    """
    top = full_reach(section.dtype).high
    min_seconds = _SECONDS if section.stacked else _SECONDS_ALONE

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

        return _walk(call, top, min_seconds)

    both = walk(-1.0, 1.0)
    if not both.why:
        return full_reach(section.dtype)
    below, above = walk(-1.0), walk(1.0)
    return DomainReach(0.0 - below.radius, above.radius, (below.why, above.why))


def _walk(call: Callable[[float, bool], None], top: float, least: float) -> _End:
    """Outwards from 0 as far as ``call(radius, whether backward too)`` goes without raising or taking too long."""
    spent, reached, cautious = 0.0, 0.0, False
    usual = {True: math.inf, False: math.inf}
    while reached < top:
        radius = next((each for each in _RADII if reached < each < top), top)
        radius = min(reached * _SMALL_STEP, top) if cautious else radius
        deep = cautious or radius in _BACKWARD or radius == top
        known = usual[True] if deep else min(usual.values())  # forward alone takes no longer than backward too
        too_long = max(_SLOW_RATIO * known, least)
        try:
            times = _times(partial(call, radius, deep), too_long)
        except _Refused as refused:
            return _End(_last_callable(call, reached, radius), str(refused))
        seconds, spent = min(times), spent + sum(times)
        if seconds > too_long or spent > _BUDGET:
            # Where a call becomes too slow is known to within its jitter only: so the radius is a rounded one.
            power = math.floor(math.log10(reached / _IRREGULAR) + 1e-9) if reached else -math.inf
            return _End(_IRREGULAR * 10.0**power, "slow")
        usual[deep] = min(usual[deep], seconds)
        cautious = seconds > _WARNING_RATIO * min(known, seconds) + _WARNING_SECONDS
        reached = radius
    return _End(reached, "")


def _times(call: Callable[[], object], enough: float) -> list[float]:
    """The seconds of a call; of several, as any may be delayed, where it took more than ``enough``."""
    times: list[float] = []
    while not times or (len(times) < _REPEATS and min(times) > enough and sum(times) < _BUDGET):
        times.append(timing.time_of(call))
    return times


def _last_callable(call: Callable[[float, bool], None], callable_at: float, refused: float) -> float:
    """The last radius, a power of 1.001, at which the Function does not raise; 0 where it does at the smallest."""
    try:
        if not callable_at:
            callable_at = _SMALLEST
            call(callable_at, True)
    except _Refused:
        return 0.0
    low, high = math.floor(math.log(callable_at, _RATIO)), math.ceil(math.log(refused, _RATIO))
    while high - low > 1:
        middle = (low + high) // 2
        try:
            call(_RATIO**middle, True)
        except _Refused:
            high = middle
        else:
            low = middle
    return float(_RATIO**low)
