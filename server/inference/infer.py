"""From nothing but a Function: a recipe it can be called with, or why there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..runtime import timing
from .recipe.recipe import NotInferred, Recipe, TensorArgument
from .search.failure import not_inferred
from .search.queue import Step
from .search.search import Search
from .search.trial import untouched
from .source.collect import gathered
from .source.signature import signature_of

__all__ = ["Guess", "NotInferred", "infer"]

_BUDGET = 4.0


@dataclass(frozen=True)
class Guess:
    """A recipe that works, with the reason for each argument, how many were ``tried``, and the ``seconds`` it took.

    ``trouble`` is what torch says of the gradients that ``backward`` returns, where it refuses them for any recipe,
    or what ``backward`` raises whatever it is given.
    """

    recipe: Recipe
    because: tuple[tuple[str, str], ...]
    tried: int
    seconds: float
    trouble: str = ""


def infer(function: Callable[..., Any], budget: float = _BUDGET) -> Guess:
    """A recipe that ``function``, a Function class or a plain function of tensors, can be called with.

    Forward has to give finite floating numbers that require grad, and backward a gradient for them (or gradients that
    torch refuses, such as one too few: ``trouble``); of several recipes one is preferred that keeps the declared
    defaults, and of those one where backward says what differences of forward say. ``budget`` is in seconds. The state
    of torch and of the random numbers is left as it was. Raises ``NotInferred``, whatever the Function raises.
    """
    begun = timing.now()
    with untouched():
        signature = signature_of(function)
        search = Search(signature, gathered(signature), budget)
        search.run()
        if search.found is None and search.refused is None:
            raise not_inferred(function, search)
    step, trouble = (search.found[0], "") if search.found else (search.refused[0], search.refused[1].message)  # type: ignore[index]
    return Guess(step.recipe, tuple(_because(step, search)), search.trials, timing.now() - begun, trouble)


def _because(step: Step, search: Search) -> list[tuple[str, str]]:
    told = []
    for each in step.recipe.arguments:
        reason = step.because.get(each.name, "") or "its name"
        known = search.gathered.of(each.name)
        if isinstance(each, TensorArgument) and known.rank_reason and known.rank_reason not in reason:
            reason = f"{reason}; {known.rank_reason}"
        told.append((each.name, reason))
    return told
