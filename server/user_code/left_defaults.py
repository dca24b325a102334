"""What a verdict has to say of an inferred call: the declared defaults that it leaves, callables of our own in it, and
a likelier one it is not.
"""

from __future__ import annotations

from textwrap import shorten
from typing import Any

import torch

from ..inference.infer import InferredRecipe
from ..inference.recipe.recipe import Constant, Recipe, TensorArgument, literal, name_of_value
from ..inference.source.signature import LEFT_OUT, NO_DEFAULT, SignatureArgument, signature_of

_MAX_LENGTH = 160  # of what backward raises


def passed_over_sentence(guess: InferredRecipe) -> str:
    """The sentence on a likelier call that only backward fails in; empty where there is none."""
    recipe, raised = guess.passed_over
    said = shorten(raised, _MAX_LENGTH, placeholder=" …").rstrip(".")
    return f"forward runs with `{recipe}`, and backward raises {said}." if recipe else ""


def made_up_callables(function: Any, recipe: Recipe) -> tuple[str, ...]:
    """The arguments of an inferred recipe that are callables of our own: neither declared, nor given by the user."""
    defaults = {each.name: each.default for each in signature_of(function).arguments}
    constants = [each for each in recipe.arguments if isinstance(each, Constant)]
    return tuple(each.name for each in constants if callable(each.value) and each.value is not defaults.get(each.name))


def left_defaults(function: Any, recipe: Recipe) -> tuple[tuple[str, str], ...]:
    """The arguments that a recipe gives another value than their declared default, each with a sentence.

    A tensor in the place of None or of a tensor leaves nothing: it is one more input to look at, and the default is
    among the other calls; nor does the CPU for a GPU.
    """
    given = {each.name: each for each in recipe.arguments}
    return tuple(
        (each.name, _sentence(each.name, given[each.name], each.default))
        for each in signature_of(function).arguments
        if each.name in given and _leaves(each, given[each.name])
    )


def _leaves(argument: SignatureArgument, given: Constant | TensorArgument) -> bool:
    default = argument.default
    if argument.star or default is NO_DEFAULT or default is LEFT_OUT or str(default).startswith("cuda"):
        return False
    if isinstance(given, TensorArgument):
        return default is not None and not isinstance(default, torch.Tensor)
    return given.value is not default and _text(given.value) != _text(default)


def _sentence(name: str, given: Constant | TensorArgument, default: Any) -> str:
    called = f"{name} = {_text(given.value)}" if isinstance(given, Constant) else f"the tensor {given.text}"
    return f"That is with {called}: no call was found with the declared default of {name}, {_text(default)}."


def _text(value: Any) -> str:
    """A value as a recipe writes it; a number without the zeros that tell a float from an int."""
    return name_of_value(value) or literal(value).removesuffix(".0")
