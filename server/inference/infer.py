"""Entry point of inference: a recipe that a Function can be called with, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..runtime import timing
from .recipe.recipe import NotInferred, Recipe, TensorArgument
from .search.choices import said_of_values
from .search.failure import not_inferred
from .search.held_tensors import settle_held_tensors
from .search.on_gpu import here_or_on_gpu
from .search.queue import RecipeStep
from .search.search import RecipeSearch
from .search.trial import state_restored
from .source.collect import collect_evidence
from .source.signature import signature_of

__all__ = ["InferredRecipe", "NotInferred", "infer", "settled_example"]

_BUDGET = 4.0


@dataclass(frozen=True)
class InferredRecipe:
    """A recipe that works, the reason for each argument, the number of trials ``tried``, and the ``seconds`` it took.

    ``trouble`` is the error with which torch rejects the gradients of ``backward`` for any recipe, or which
    ``backward`` raises for any argument. ``passed_over`` is the likelier recipe that forward runs with and backward
    does not, with what that raises, empty where there is none. ``doubt`` is what says that another is meant.
    """

    recipe: Recipe
    because: tuple[tuple[str, str], ...]
    tried: int
    seconds: float
    trouble: str = ""
    passed_over: tuple[str, str] = ("", "")
    doubt: str = ""


def infer(function: Callable[..., Any], budget: float = _BUDGET) -> InferredRecipe:
    """A recipe that ``function``, a Function class or a plain function of tensors, can be called with.

    One that no call is found for is tried on the GPU, where there is one: a kernel may run nowhere else.

    Forward has to return finite floating numbers that require grad, and backward a gradient for them (or gradients
    that torch rejects, such as one too few: ``trouble``). Preferred are recipes that keep the declared defaults, and
    among those the likeliest in which forward does something; whether backward is right has no say. ``budget`` is in
    seconds. The state of torch and the random state are restored. Raises ``NotInferred``, whatever the Function raises.
    """
    return here_or_on_gpu(function, lambda called: _inferred(called, budget))


def _inferred(function: Callable[..., Any], budget: float) -> InferredRecipe:
    begun = timing.now()
    with state_restored():
        signature = signature_of(function)
        search = RecipeSearch(signature, collect_evidence(signature), budget)
        search.run()
        if search.found is None and search.rejected is None:
            raise not_inferred(function, search)
        step, trouble = (search.found[0], "") if search.found else (search.rejected[0], search.rejected[1].message)  # type: ignore[index]
        if search.found:
            held = settle_held_tensors(function, signature, step.recipe)
            step = replace(step, recipe=held.recipe, because=step.because | held.because)
        passed = search.passed_over
    raised = (passed[0].recipe.text(), passed[1].message) if passed else ("", "")
    because = tuple(_because(step, search))
    recipe = replace(step.recipe, like=True)
    return InferredRecipe(recipe, because, search.trials, timing.now() - begun, trouble, raised, search.doubt)


def settled_example(function: Callable[..., Any], recipe: Recipe) -> Recipe:
    """A recipe that says ``like`` as inference would give it, in which ``nograd`` declares nothing; others as they are.

    Raises ``NotInferred`` where there is nothing to call.
    """
    if not recipe.like:
        return recipe
    with state_restored():
        return settle_held_tensors(function, signature_of(function), recipe).recipe


def _because(step: RecipeStep, search: RecipeSearch) -> list[tuple[str, str]]:
    reasons = []
    for each in step.recipe.arguments:
        reason = step.because.get(each.name, "") or "its name"
        evidence = search.evidence.of(each.name)
        if isinstance(each, TensorArgument) and evidence.rank_reason and evidence.rank_reason not in reason:
            reason = f"{reason}; {evidence.rank_reason}"
        tied = search.evidence.notes.relations.reason_for(each.name) if isinstance(each, TensorArgument) else ""
        reason = f"{reason}; {tied}" if tied else reason
        if isinstance(each, TensorArgument) and each.is_complex and evidence.complex not in reason:
            reason = f"{reason}; complex, because {evidence.complex}"
        values = said_of_values(evidence, each.fill) if isinstance(each, TensorArgument) else ""
        reason = f"{reason}; {values}" if values else reason
        reasons.append((each.name, reason))
    return reasons
