"""The outcome of both descents in words: where they lead, and what stops one of them."""

from __future__ import annotations

import numpy as np

from ...runtime.arrays import Array
from ..formatting.numbers import format_distinct, format_number
from ..tolerance import ALIKE_SHARE
from .descent import DescentPair
from .optimizer import REACHED, DescentOutcome, DescentRun


@np.errstate(all="ignore")  # a descent may leave all numbers behind
def descent_sentence(pair: DescentPair) -> str:
    """What the descent with this backward leads to, compared with the one along the true derivative."""
    mine, true = _run_text(pair, pair.returned), _run_text(pair, pair.true)
    if _same_path(pair):
        parts = [f"With this backward, as with the true derivative, {true}."]
    elif mine == true:
        parts = [f"With this backward, much as with the true derivative, {true}."]
    else:
        parts = [f"With this backward {mine}; with the true derivative {true}."]
    notes = ["At a kink the slope of the downhill side counts as the true derivative."] * pair.bent
    notes += ["forward draws random numbers, in each step the same for both runs."] * pair.random
    return " ".join([*parts, *_unmoved_elements(pair), *notes])


def _run_text(pair: DescentPair, run: DescentRun) -> str:
    outcome = _outcome_text(pair, run, run.ending)
    return f"{outcome}, and there was time for {_steps(run.steps)} only" if run.late else outcome


def _outcome_text(pair: DescentPair, run: DescentRun, outcome: DescentOutcome) -> str:
    name, last = pair.section.wrt, format_number(run.last)
    match outcome:
        case "there":
            return "the loss is 0 from the start"
        case "reached":
            step = int(np.argmax(run.losses <= REACHED * run.losses[0]))
            return f"{_loss_change(run, step)} in {_steps(step)}: the goal is reached"
        case "falls" | "rises":
            return f"{_loss_change(run)} in {_steps(run.steps)}"
        case "level":
            return f"{name} moves{_path(run)} in {_steps(run.steps)}, and the loss stays {last}"
        case "stays":
            why = "the gradient is zero there" if pair.flat else _zero_gradient(pair, run)
            return f"{name} stays{_position(run)} forever: {why}"
        case "stuck":
            step = int(np.flatnonzero(run.moved.any(axis=1))[-1]) + 1
            stops = f"{name} moves{_path(run)} in {_steps(step)} and stays there, where {_zero_gradient(pair, run)}"
            return f"{stops}: {_loss_change(run)}"
        case "small":
            return f"{name} stays{_position(run)}: the steps are too small for the numbers of its dtype"
        case "settles":
            return f"{name} settles{_position(run)}: {_loss_change(run)} in {_steps(run.steps)}"
        case "oscillates":
            half = run.positions[run.steps // 2 :]
            between = _places(run, " between {} and {}", half.min(axis=0), half.max(axis=0))
            return f"{name} goes back and forth{between}: {_loss_change(run)}, and does not settle"
        case "diverges":
            return f"{_loss_change(run)} in {_steps(run.steps)}: it diverges"
        case "infinite":
            return f"it diverges: after {_steps(run.steps)} the numbers are too large for their dtype"
        case "nan":
            which = "gradient" if run.lost else "loss"
            return f"the descent ends in step {run.steps + run.lost}, where the {which} is NaN"
        case "bare":
            return f"{name} does not move: {_no_gradient(pair)}"
        case "failed":
            assert run.failure is not None
            message = run.failure.message.splitlines()[0].rstrip(".")
            where = f"in step {run.steps + 1}" if run.failure.phase == "backward" else f"after {_steps(run.steps)}"
            return f"the descent ends {where}, where {run.failure.phase} raises {run.failure.kind} ({message})"


def _loss_change(run: DescentRun, step: int = -1) -> str:
    first, last = float(run.losses[0]), float(run.losses[step])
    if abs(last - first) <= ALIKE_SHARE * abs(first):
        return f"the loss stays {format_number(first)}"
    moves = "falls" if last < first else "grows"
    return f"the loss {moves} from {format_distinct(first, last)} to {format_distinct(last, first)}"


def _steps(count: int) -> str:
    return "1 step" if count == 1 else f"{count} steps"


def _position(run: DescentRun) -> str:
    return _places(run, " at {}", run.positions[-1])


def _path(run: DescentRun) -> str:
    return _places(run, " from {} to {}", run.positions[0], run.positions[-1])


def _places(run: DescentRun, words: str, *places: Array) -> str:
    """Where a single number is; a tensor has no place to be told."""
    return "" if run.positions.shape[1] > 1 else words.format(*(format_number(float(each[0])) for each in places))


def _zero_gradient(pair: DescentPair, run: DescentRun) -> str:
    if run is pair.returned:
        return "backward returns 0"
    return "the slope is too small to be measured" if pair.rounded else "the slope is 0"


def _no_gradient(pair: DescentPair) -> str:
    if pair.section.sweeps_parameter:
        return "it is a parameter, for which backward returns no gradient"
    if pair.whole:
        return f"{pair.section.of} holds whole numbers ({pair.whole}), which carry no gradient"
    return "no gradient arrives at it"


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
    short = int((still & ~pair.there).sum())  # of the goal
    if still.all() or not short:
        return []
    return [f"{short} of {still.size} elements of {pair.section.wrt} never move."]
