"""What does not depend on the grid is remembered while one zooms, pans, or drags grad_output."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from .rng import seed_all_generators
from .section import Section

_T = TypeVar("_T")
_MOST, A_FEW = 64, 16  # budget: the most results of one function that are kept, and of arrays along a grid
_WITHIN, _BEHIND = 4321, 5678  # sample: the seeds of what is computed, and of what follows it, remembered or not
_USUAL = 2.0**20  # sample: what is in proportion for grad_outputs up to this factor is asked for one of them
_KEPT: list[dict[Hashable, Any]] = []


def remembered(
    worth: Callable[[Any], bool] = lambda result: True, most: int = _MOST
) -> Callable[[Callable[..., _T]], Callable[..., _T]]:
    """Keep the last results of a function of sections and numbers that are ``worth`` it.

    The results must follow from the arguments alone, so that nobody can tell whether they were remembered: random
    numbers are seeded before and after. What cannot be hashed, as a section made with lists, is computed each time.
    Arrays are told apart by their numbers.
    """

    def keeping(function: Callable[..., _T]) -> Callable[..., _T]:
        kept: dict[Hashable, _T] = {}
        _KEPT.append(kept)

        @wraps(function)
        def ask(*arguments: Any) -> _T:
            key = tuple(map(_key, arguments))
            try:
                found = kept.get(key)
            except TypeError:
                found, key = None, ()
            if found is None:
                seed_all_generators(_WITHIN)
                found = function(*arguments)
                if key and worth(found):
                    kept[key] = found
                    if len(kept) > most:
                        del kept[next(iter(kept))]
            seed_all_generators(_BEHIND)
            return found

        return ask

    return keeping


def forget() -> None:
    """Forget all that is remembered: Functions may be other ones under the same names, or read what has changed."""
    for each in _KEPT:
        each.clear()


def stand_in(grad_output: float) -> float:
    """The grad_output that stands for all of its sign: for each of them the same is remembered.

    Beyond ordinary sizes it is that one itself.
    """
    return math.copysign(1.0, grad_output) if 1 / _USUAL <= abs(grad_output) <= _USUAL else grad_output


def _key(argument: Any) -> Hashable:
    """What tells an argument from all others: of numbers also the sign of 0 and the type, which ``==`` leaves out."""
    if isinstance(argument, np.ndarray):
        return argument.shape, argument.tobytes()
    if isinstance(argument, Section):
        zeros = [values for _, values in argument.inputs if 0.0 in values]
        return argument, repr((argument.parameters, zeros))
    return argument, repr(argument) if isinstance(argument, float) else ""
