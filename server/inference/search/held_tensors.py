"""Which tensors a call holds without grad: those declared constant, data, and those that forward does not move with.

That backward returns None for a tensor is no evidence that it may: where forward moves with it, it is swept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from ...runtime.timeouts import TookTooLong, time_limit
from ..recipe.grammar import DOCSTRING_LINE
from ..recipe.recipe import LABEL_FILLS, Recipe, TensorArgument
from ..source.name_hints import DATA_NAME, TAPS_NAME
from ..source.signature import Signature
from ..source.usage import frozen_arguments
from .trial import call_seeded, float64_output, tensors_within, try_recipe

# budget: seconds of one look at a tensor, which end what is slow; what is not seen in time is taken to move.
_SECONDS = 4.0
# Forward is looked at with the tensor as it is, smaller and larger, since it may be clipped, and next to each of those.
_FACTORS, _STEP = (1.0, 0.3, 3.0), 1e-3
_NO_GRADIENT = (
    r"(?:\b(?:non|not)[- ]?differentia(?:ble|ted)\b|\bno[- _]?grad(?:ients?)?\b|\brequires_grad\s*=\s*False\b|"
    r"(?<!not )\bdetached\b|\bstop(?:ped|s)?[- ]gradients?\b)"
)
_CONSTANTS = r"(?<!not )(?<!not a )(?<!never )\b(?:constants?|frozen)\b"
_CONSTANT = re.compile(rf"{_CONSTANTS}|{_NO_GRADIENT}", re.IGNORECASE)
# What is said of the arguments named before it, as in "v and w are treated as constants" …
_VERB = r"\b(?:is|are|was|were|be|stays?|remains?|as|held|kept|has|have|gets?|needs?|receives?)\b"
# … and of those named after it, as in "the constant v", "no gradient for v".
_ATTRIBUTE = (
    rf"(?:{_CONSTANTS}|{_NO_GRADIENT}(?:\W+(?:for|of|by|to|into|through|with respect to))?)"
    r"(?:\W+(?:the|a|an|tensors?|inputs?|arguments?))*\W+"
)
_AND = r"(?:\W*,|\W+and|\W+or|\W+the)*\W+"
_GIVES_NONE = "backward returns None for it"


@dataclass(frozen=True)
class HeldTensors:
    """A recipe with grad for every tensor that has to have it, and the reasons for what is held or is not, by name."""

    recipe: Recipe
    because: dict[str, str]


def settle_held_tensors(function: Callable[..., Any], signature: Signature, recipe: Recipe) -> HeldTensors:
    """Give grad to the floating tensors that a recipe holds without, where forward moves with them.

    Held stay those that an annotation or a docstring calls constant, those with which the call fails if they require
    grad, and data: what is called a target, label, mask, running statistic, noise, table of angles or taps of a filter,
    what forward overwrites, and whatever a plain function cuts off. What nobody declared is marked so. Raises nothing,
    whatever the Function raises.
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
    if declared := _declared(signature, each.name):
        return each, declared
    if _is_called_data(each.name.lower(), [one.name.lower() for one in signature.arguments]):
        return replace(each, held="data"), f"{_GIVES_NONE}, and by its name it is data"
    if each.fill in LABEL_FILLS:
        return replace(each, held="data"), f"{_GIVES_NONE}, and its values tell things apart"
    if frozen := frozen_arguments(signature).get(each.name):
        return replace(each, held="data"), f"{_GIVES_NONE}, and {frozen}"
    overwritten, moves = _effect(signature.call, recipe, place)
    if overwritten or signature.plain:
        return replace(each, held="data"), f"{_GIVES_NONE}{', and forward overwrites it' * overwritten}"
    if not moves:
        return replace(each, held="None"), f"{_GIVES_NONE}, and forward does not move with it"
    swept = replace(each, grad=True)
    if _works(signature.call, recipe.with_argument(place, swept)):
        return swept, ""
    return each, "the call fails where it requires grad"


def _is_called_data(name: str, names: Sequence[str]) -> bool:
    """Whether an argument is data by its name, beside the ``names`` of all."""
    taps = [each for each in names if TAPS_NAME.search(each)]
    return bool(DATA_NAME.search(name)) or (name in taps and len(taps) > 1)


def _declared(signature: Signature, name: str) -> str:
    """Where the author says that an argument is constant, as a reason; empty where nobody does."""
    annotation = next((each.annotation for each in signature.arguments if each.name == name), "")
    if _CONSTANT.search(annotation):
        return f"its annotation is {annotation}"
    names = [each.name for each in signature.arguments]
    for text in signature.docstrings:
        if name in _said_constant(DOCSTRING_LINE.sub("", text), names):
            return "the docstring says that it is constant"
    return ""


def _said_constant(text: str, names: Sequence[str]) -> set[str]:
    """The arguments of which a docstring says that they are constant: one that names them is no such sentence yet."""
    # An article is no name.
    written = {each: "`a`" if each == "a" else rf"\b{re.escape(each)}\b" for each in names}
    named = f"(?:{'|'.join(written.values())})"
    several = rf"{named}(?:{_AND}{named})*"
    entry = re.compile(rf"\W*(?:param\s+)?{named}\W?\s*(?:\([^)]*\))?\s*:")
    predicate = rf"({several})(?:(?!{named}).)*?{_VERB}(?:\W+(?!{named})\w+){{0,4}}?\W+(?i:{_CONSTANT.pattern})"
    found = set[str]()
    for each in re.split(rf"[.;]\s|\n\s*\n|\n(?={entry.pattern})", text):
        sentence = " ".join(each.split())
        if (head := entry.match(sentence)) and _CONSTANT.search(sentence, head.end()):
            found |= _names_in(head[0], written)
            continue
        for said in re.finditer(rf"{predicate}|(?i:{_ATTRIBUTE})({several})|({several}) (?i:frozen)\b", sentence):
            found |= _names_in(said[1] or said[2] or said[3], written)
    return found


def _names_in(text: str, written: Mapping[str, str]) -> set[str]:
    return {name for name, pattern in written.items() if re.search(pattern, text)}


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
    except TookTooLong:
        return False, True
    except (Exception, SystemExit):  # noqa: BLE001 whatever the Function raises beside the call that works
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
