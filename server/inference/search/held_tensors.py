"""Which tensors a call holds without grad: those declared constant, data, and those that forward does not move with.

That backward returns None for a tensor is no evidence that it may: where forward moves with it, it is swept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch

from ...runtime.timeouts import TookTooLong, time_limit
from ..recipe.grammar import DOCSTRING_LINE
from ..recipe.recipe import Recipe, TensorArgument
from ..source.name_hints import DATA_NAME
from ..source.signature import Signature
from .trial import call_seeded, float64_output, tensors_within, try_recipe

_SECONDS = 1.0
# Forward is looked at with the tensor as it is, smaller and larger, since it may be clipped, and next to each of those.
_FACTORS, _STEP = (1.0, 0.3, 3.0), 1e-3
_CONSTANT = re.compile(
    r"\bconstants?\b|\b(non|not)[- ]?differentia(ble|ted)\b|\bno[- _]?grad(ients?)?\b|\brequires_grad\s*=\s*False\b|"
    r"\bdetached\b|\bstop(ped|s)?[- ]gradients?\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[.;\n]\s")
_GIVES_NONE = "backward returns None for it"


@dataclass(frozen=True)
class HeldTensors:
    """A recipe with grad for every tensor that has to have it, and the reasons for what is held or is not, by name."""

    recipe: Recipe
    because: dict[str, str]


def settle_held_tensors(function: Callable[..., Any], signature: Signature, recipe: Recipe) -> HeldTensors:
    """Give grad to the floating tensors that a recipe holds without, where forward moves with them.

    Held stay those that an annotation or a docstring calls constant, those with which the call fails if they require
    grad, and data: what is called a target, label, mask, running statistic or noise, what forward overwrites, and
    whatever a plain function cuts off. What nobody declared is marked so. Raises nothing, whatever the Function raises.
    """
    because = dict[str, str]()
    for place, each in enumerate(recipe.arguments):
        if isinstance(each, TensorArgument) and each.floating and not each.grad:
            settled, reason = _settled(function, signature, recipe, place)
            recipe = recipe.with_argument(place, settled)
            because |= {each.name: reason} if reason else {}
    return HeldTensors(recipe, because)


def _settled(
    function: Callable[..., Any], signature: Signature, recipe: Recipe, place: int
) -> tuple[TensorArgument, str]:
    """One tensor as it is passed, and the reason for holding it; empty where it is swept."""
    each = recipe.arguments[place]
    assert isinstance(each, TensorArgument)
    if declared := _declared(function, signature, each.name):
        return each, declared
    if DATA_NAME.search(each.name.lower()):
        return replace(each, held="data"), f"{_GIVES_NONE}, and by its name it is data"
    overwritten, moves = _effect(signature.call, recipe, place)
    if overwritten or signature.plain:
        return replace(each, held="data"), f"{_GIVES_NONE}{', and forward overwrites it' * overwritten}"
    if not moves:
        return replace(each, held="None"), f"{_GIVES_NONE}, and forward does not move with it"
    swept = replace(each, grad=True)
    if _works(signature.call, recipe.with_argument(place, swept)):
        return swept, ""
    return each, "the call fails where it requires grad"


def _declared(function: Callable[..., Any], signature: Signature, name: str) -> str:
    """Where the author says that an argument is constant, as a reason; empty where nobody does."""
    annotation = next((each.annotation for each in signature.arguments if each.name == name), "")
    if _CONSTANT.search(annotation):
        return f"its annotation is {annotation}"
    # An article is no name.
    named = re.compile(r"`a`" if name == "a" else rf"\b{re.escape(name)}\b")
    documented = (function, *signature.methods.values())
    for text in filter(None, (getattr(each, "__doc__", None) for each in documented)):
        for sentence in _SENTENCE.split(DOCSTRING_LINE.sub("", text)):
            if named.search(sentence) and _CONSTANT.search(sentence):
                return "the docstring says that it is constant"
    return ""


def _works(call: Callable[..., Any], recipe: Recipe) -> bool:
    try:
        with time_limit(_SECONDS):
            return try_recipe(call, recipe).error is None
    except TookTooLong:
        return False


def _effect(call: Callable[..., Any], recipe: Recipe, place: int) -> tuple[bool, bool]:
    """Whether forward overwrites a tensor, and whether it moves with it."""
    try:
        with time_limit(_SECONDS), torch.no_grad():
            given = recipe.build()
            before = given[place].clone()
            call_seeded(call, *given)
            overwritten = not torch.equal(given[place], before)
            return overwritten, any(_moves(call, recipe, place, before * factor) for factor in _FACTORS)
    except (Exception, SystemExit, TookTooLong):  # noqa: BLE001 whatever the Function raises beside the call that works
        return False, False


def _moves(call: Callable[..., Any], recipe: Recipe, place: int, held: torch.Tensor) -> bool:
    slant = torch.linspace(1.0, 2.0, max(1, held.numel()), dtype=torch.float64)[: held.numel()].reshape(held.shape)
    beside = held + (_STEP * slant).to(held.dtype)
    pairs = zip(_outputs(call, recipe, place, held), _outputs(call, recipe, place, beside), strict=True)
    return any(not torch.equal(one, other) for one, other in pairs)


def _outputs(call: Callable[..., Any], recipe: Recipe, place: int, held: torch.Tensor) -> Iterator[torch.Tensor]:
    """The floating outputs with this tensor in one place, with zeros for what is not finite."""
    given = recipe.build()
    given[place] = held.clone()
    found = map(float64_output, tensors_within(call_seeded(call, *given)))
    return (torch.nan_to_num(each, 0.0, 0.0, 0.0) for each in found if each is not None)
