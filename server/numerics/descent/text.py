"""The outcome of both descents in words: where they lead, and what stops one of them."""

from __future__ import annotations

import numpy as np

from ...runtime.arrays import Array
from ..formatting.numbers import format_distinct, format_number
from ..tolerance import ALIKE_SHARE
from .descent import DescentPair
from .optimizer import DescentOutcome, DescentRun

_MOVES = "{loss} in {steps}"
_OUTCOMES: dict[DescentOutcome, str] = {
    "there": "the loss is 0 from the start",
    "reached": f"{_MOVES}: the goal is reached",
    "falls": _MOVES,
    "rises": _MOVES,
    "level": _MOVES,
    "diverges": f"{_MOVES}: it diverges",
    "stays": "{name} stays{start} forever: {still}",
    "stuck": "{name} moves{path} in {steps} and gets no further, as {still}: {loss}",
    "oscillates": "{name} goes back and forth{turns}: {loss}, and does not settle",
    "nan": "the descent ends in step {next}, where the {lost} is NaN",
    "bare": "{name} does not move: {bare}",
    "failed": "the descent ends in step {next}, where {failure}",
}


@np.errstate(all="ignore")  # a descent may leave all numbers behind
def descent_sentence(pair: DescentPair) -> str:
    """What the descent with this backward leads to, compared with the one along the true derivative."""
    mine, true = _outcome(pair, pair.returned), _outcome(pair, pair.true)
    if _same_path(pair):
        parts = [f"With this backward, as with the true derivative, {mine}."]
    elif mine == true:
        parts = [f"With this backward, much as with the true derivative, {true}."]
    else:
        parts = [f"With this backward {mine}; with the true derivative {true}."]
    notes = ["At a kink the slope of the downhill side counts as the true derivative."] * pair.bent
    notes += ["forward draws random numbers, in each step the same for both runs."] * pair.random
    return " ".join([*parts, *_unmoved_elements(pair), *notes])


def _outcome(pair: DescentPair, run: DescentRun) -> str:
    half, count = run.positions[run.steps // 2 :], run.arrival
    outcome = _OUTCOMES[run.ending].format(
        name=pair.section.wrt,
        loss=_loss_change(run, count),
        steps=_steps(count),
        start=_places(" at {}", run.positions[0]),
        path=_places(" from {} to {}", run.positions[0], run.positions[-1]),
        turns=_places(" between {} and {}", half.min(axis=0), half.max(axis=0)),
        still=_why_still(pair, run),
        bare=_why_no_gradient(pair),
        next=run.steps + 1,
        lost="gradient" if run.lost else "loss",
        failure=_failure(run),
    )
    return f"{outcome}, and there was time for {_steps(run.steps)} only" if run.late else outcome


def _loss_change(run: DescentRun, step: int) -> str:
    first, last = float(run.losses[0]), float(run.losses[step])
    if abs(last - first) <= ALIKE_SHARE * abs(first):
        return f"the loss stays at {format_number(first)}"
    moves = "falls" if last < first else "grows"
    return f"the loss {moves} from {format_distinct(first, last)} to {format_distinct(last, first)}"


def _steps(count: int) -> str:
    return "1 step" if count == 1 else f"{count} steps"


def _places(words: str, *places: Array) -> str:
    """Where a single number is; a tensor has no place to be told."""
    return "" if places[0].size > 1 else words.format(*(format_number(float(each[0])) for each in places))


def _why_still(pair: DescentPair, run: DescentRun) -> str:
    if run.gradients[max(0, run.steps - 1)].any():
        return "the steps are next to nothing"
    return "backward returns 0 there" if run is pair.returned else "no slope leads down there"


def _why_no_gradient(pair: DescentPair) -> str:
    if pair.section.sweeps_parameter:
        return "it is a parameter, for which backward returns no gradient"
    if pair.whole:
        return f"{pair.section.of} holds whole numbers ({pair.whole}), which carry no gradient"
    return "no gradient arrives at it"


def _failure(run: DescentRun) -> str:
    if run.failure is None:
        return ""
    return f"{run.failure.phase} raises {run.failure.kind} ({run.failure.cause})"


def _same_path(pair: DescentPair) -> bool:
    one, other = pair.returned, pair.true
    if one.positions.shape != other.positions.shape or one.ending != other.ending:
        return False
    away = np.abs(one.positions - one.positions[0])
    length = float(away.max(initial=0.0, where=np.isfinite(away)))
    return bool(
        np.allclose(one.positions, other.positions, rtol=ALIKE_SHARE, atol=ALIKE_SHARE * length, equal_nan=True)
    )


def _unmoved_elements(pair: DescentPair) -> list[str]:
    still = ~pair.returned.moved.any(axis=0)
    short = int((still & ~pair.resting).sum())  # of the goal
    if still.all() or not short:
        return []
    return [f"{short} of {still.size} elements of {pair.section.wrt} never {'moves' if short == 1 else 'move'}."]
