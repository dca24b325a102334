"""Keyword arguments of ``check`` and ``look``: values of the Function's own arguments go into the recipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..inference.construction.op import free_names
from ..inference.recipe.recipe import Constant, Recipe
from ..inference.source.signature import SignatureArgument
from ..protocol.errors import BadQuestion
from ..protocol.suggest import closest_match
from ..url.parse import _QUERY_NAMES
from ..user_code.example_inputs import constant_from_value


def recipe_with_values(
    recipe: Recipe, values: Mapping[str, Any], arguments: tuple[SignatureArgument, ...]
) -> tuple[Recipe, list[str]]:
    """The recipe with the given values of its constants, and the names that were used.

    An int becomes a float where the recipe has a float. Arguments that the recipe leaves out are added, with the
    defaults of those between. A tensor's value is not part of a recipe; None, a bool or a string for it is.
    """
    recipe = _longer(recipe, values, arguments)
    names = free_names(each.name for each in recipe.arguments)
    given = {each.name: values[names[each.name]] for each in recipe.arguments if names[each.name] in values}
    taken = {
        each.name: _like(each, given[each.name])
        for each in recipe.arguments
        if each.name in given and (isinstance(each, Constant) or _is_no_tensor(given[each.name]))
    }
    changed = Recipe(tuple(taken.get(each.name, each) for each in recipe.arguments))
    return changed, [names[name] for name in taken]


def check_names(name: str, values: Mapping[str, Any], there: list[str]) -> None:
    """Raise ``BadQuestion`` for a name that is neither an argument nor a parameter of a URL."""
    for each in values:
        if each not in (*there, *_QUERY_NAMES):
            close = closest_match(each, [*there, *_QUERY_NAMES])
            hint = f"; did you mean {close}? It has" if close else "; it has"
            raise BadQuestion(f"{name} has no argument {each}{hint} {', '.join(there)}.")


def _longer(recipe: Recipe, values: Mapping[str, Any], arguments: tuple[SignatureArgument, ...]) -> Recipe:
    known, rest = {each.name for each in recipe.arguments}, list[Constant]()
    added = recipe
    for each in arguments:
        if each.name in known:
            continue
        if each.star or (each.required and each.name not in values):
            break
        rest.append(constant_from_value(each.name, values.get(each.name, each.default)))
        if each.name in values and each.name not in _QUERY_NAMES:
            added = Recipe((*recipe.arguments, *rest))
    return added


def _like(before: Any, value: Any) -> Constant:
    whole = isinstance(before, Constant) and type(before.value) is float and type(value) is int
    return constant_from_value(before.name, float(value) if whole else value)


def _is_no_tensor(value: Any) -> bool:
    return value is None or isinstance(value, bool | str)
