"""How a descent ended, in one word: reached, stuck, oscillates, diverges and so on."""

from __future__ import annotations

from typing import Literal

import numpy as np

from .optimizer import DescentRun

_Going = Literal["falls", "rises", "level", "oscillates", "diverges"]
_Still = Literal["there", "reached", "stays", "stuck", "small", "settles"]
_Ended = Literal["infinite", "nan", "bare", "failed"]
DescentOutcome = _Going | _Still | _Ended

# The goal is reached where the loss is below this share of the first one.
REACHED = 1e-6
# A loss that has grown by this factor, and still grows, diverges.
_GROWN = 1e3
# Of the last half of the steps this share turn back, and the loss falls by less than this share meanwhile.
_TURNS, _LESS = 0.2, 0.1
# A run has settled if in the last quarter of its steps it moves by less than this share of its whole path.
_NOWHERE = 1e-6
# Too few steps to tell whether they go back and forth.
_FEW = 6
# Losses nearer to each other than this share of the first are the same.
_SAME = 1e-9


@np.errstate(all="ignore")  # a descent may leave all numbers behind
def descent_outcome(run: DescentRun) -> DescentOutcome:
    """The first of the endings that fits.

    ``there``: at the goal from the start; ``reached``: got there; ``stays``: gradient 0 at the start; ``stuck``:
    gradient 0 later on; ``small``: steps too small to change anything; ``settles``: no longer gets on, short of the
    goal; ``level``: moves, and the loss does not.
    """
    if run.bare:
        return "there" if run.losses[0] == 0 else "bare"
    if run.failure:
        return "failed"
    last, first = float(run.losses[-1]), float(run.losses[0])
    if not np.isfinite(last):
        return "infinite" if np.isinf(last) or np.isinf(run.positions[-1]).any() else "nan"
    if run.lost:
        return "nan"
    if last <= REACHED * first:
        return "there" if first == 0 else "reached"
    moved = np.asarray(run.moved.any(axis=1))
    if run.steps and not moved[-1]:
        pulled = bool(run.gradients[run.steps - 1].any())
        return ("settles" if pulled else "stuck") if moved.any() else "small" if pulled else "stays"
    if last > _GROWN * first and last == run.losses.max():
        return "diverges"
    if _settled(run):
        return "settles"
    if _turns(run):
        return "oscillates"
    if abs(last - first) <= _SAME * first:
        return "level"
    return "falls" if last < first else "rises"


def _settled(run: DescentRun) -> bool:
    """Whether it has gone next to nowhere for the last quarter of its steps."""
    late = run.positions[-1 - run.steps // 4 :]
    way = float(np.ptp(run.positions, axis=0).max())
    return run.steps >= _FEW and float(np.ptp(late, axis=0).max()) <= _NOWHERE * way


def _turns(run: DescentRun) -> bool:
    """Whether it goes back and forth, and loses nothing by it."""
    half = run.steps // 2
    if half < _FEW:
        return False
    moved, losses = run.moved[half:], run.losses[half:]
    back = (moved[1:] * moved[:-1]).sum(axis=1) < 0
    middle = len(losses) // 2
    return bool(back.mean() >= _TURNS and losses[middle:].mean() > (1 - _LESS) * losses[:middle].mean())
