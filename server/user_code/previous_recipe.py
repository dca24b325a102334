"""Fallback to the previous recipe, for a Function whose call cannot be inferred any more after its file was saved."""

from __future__ import annotations

from typing import Any

from ..inference.recipe.grammar import parse_recipe
from ..inference.recipe.recipe import BadRecipe, NotInferred, Recipe
from ..inference.search.failure import describe_error
from ..inference.search.trial import state_restored, try_recipe
from ..inference.source.signature import signature_of


def previous_recipe_of(function: Any, before: str, problem: NotInferred) -> Recipe:
    """The recipe of ``before``, if forward still works with it; a failing backward is shown with the curve of forward.

    Raises ``NotInferred``: the ``problem``, or the error that the call raises now and did not raise before.
    """
    recipe = _recalled(function, before)
    if recipe is None:
        raise problem
    with state_restored():
        outcome = try_recipe(signature_of(function).call, recipe)
    if outcome.error is None or outcome.forward:
        return recipe
    if problem.error is not None:
        raise problem
    raise broken_since_save(outcome.error, before) from None


def broken_since_save(error: BaseException, before: str) -> NotInferred:
    """The ``NotInferred`` for an ``error`` in a call that worked before the save."""
    said = f"forward {describe_error(error)}, called with {before} as before the save; mend it."
    return NotInferred(said, recipe=before, error=error)


def _recalled(function: Any, before: str) -> Recipe | None:
    """The recipe, if it still fits the signature of the Function."""
    try:
        signature = signature_of(function)
        recipe = parse_recipe(before, signature.names) if before else None
    except (NotInferred, BadRecipe):
        return None
    given = {each.name for each in recipe.arguments} if recipe else set()
    missing = any(each.required and each.name not in given for each in signature.arguments)
    return None if missing else recipe
