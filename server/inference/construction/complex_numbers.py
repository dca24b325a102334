"""A call that takes or returns complex numbers as one of real numbers: each complex tensor is two, its parts.

A gradient by torch's convention is ∂L/∂Re z + i ∂L/∂Im z, so that all that holds for real numbers holds for the parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from ...runtime.arguments import (
    PARTS,
    BoundArgument,
    BoundFunction,
    ComplexArgument,
    ConstantArgument,
    PassedArgument,
    complex_parts,
    is_complex_tensor,
    result_tuple,
)
from ..recipe.recipe import COMPLEX, Constant, Recipe, TensorArgument
from ..search.trial import RepeatableCall


def of_real_numbers(attempt: RepeatableCall, returned: Any) -> RepeatableCall:
    """The call with the two parts in place of each complex tensor; the same where no tensor, returned too, is complex.

    ``returned`` is what the call returns.
    """
    recipe = attempt.recipe
    if not any(map(is_complex_tensor, (*attempt.values.values(), *result_tuple(returned)))):
        return attempt
    real = real_recipe(recipe)
    plain = [PassedArgument(place) for place in range(len(real.arguments))]
    bound = BoundFunction(attempt.function, joined_arguments(recipe, plain), in_parts=True)
    return replace(attempt, function=bound, recipe=real, values=real_values(attempt.values))


def real_recipe(recipe: Recipe) -> Recipe:
    """The recipe with the real and the imaginary part in place of each complex tensor."""
    return Recipe(tuple(part for each in recipe.arguments for part in _real_arguments(each)))


def _real_arguments(each: TensorArgument | Constant) -> Iterator[TensorArgument | Constant]:
    if isinstance(each, TensorArgument) and each.is_complex:
        yield from (replace(each, name=each.name + part, dtype=COMPLEX[each.dtype]) for part in PARTS)
    else:
        yield each


def real_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by name, with the real and the imaginary part in place of each complex tensor."""
    found = dict[str, Any]()
    for name, value in values.items():
        if is_complex_tensor(value):
            found |= {name + part: one.clone() for part, one in zip(PARTS, complex_parts(value), strict=True)}
        else:
            found[name] = value
    return found


def joined_arguments(recipe: Recipe, parts: Sequence[PassedArgument | ConstantArgument]) -> tuple[BoundArgument, ...]:
    """The arguments of a recipe, put together from those of its ``real_recipe``."""
    left = iter(parts)
    return tuple(
        ComplexArgument(next(left), next(left)) if isinstance(each, TensorArgument) and each.is_complex else next(left)
        for each in recipe.arguments
    )


def joined_tensors(recipe: Recipe, tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The tensors of a recipe by name, put together from those of its ``real_recipe``."""
    return {
        each.name: torch.complex(*(tensors[each.name + part] for part in PARTS))
        if each.is_complex
        else tensors[each.name]
        for each in recipe.arguments
        if isinstance(each, TensorArgument)
    }
