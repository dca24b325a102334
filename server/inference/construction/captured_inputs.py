"""Tensors that a call captures as further inputs of its op: those that require grad, and that forward moves with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from ....ops.op import MOST_ELEMENTS
from ...runtime.arguments import result_tuple, tensors_of
from ...runtime.arrays import dtype_name
from ...runtime.captured import CapturedFunction, CapturedTensor, captured_tensors
from ...runtime.graph import leaves_behind
from ..recipe.recipe import FLOATS, Constant, Recipe, TensorArgument
from ..search.trial import RepeatableCall, float64_output

# budget: how many captured tensors are looked at; what more there are is told.
_MOST = 32
# sample: by which share of it each element is moved.
_STEP = 1e-3


@dataclass(frozen=True)
class CallWithCaptured:
    """A call with captured tensors as its last arguments, the tensors ``given`` for it, and names of those left out."""

    called: RepeatableCall
    given: dict[str, torch.Tensor]
    hidden: tuple[str, ...] = ()


def with_captured(called: RepeatableCall, given: Mapping[str, torch.Tensor]) -> CallWithCaptured:
    """The call with those of its captured tensors that are in its graph, or that forward moves with outside of it.

    They have the dtype of the other inputs, as if forward had been given all in one, or their own if it refuses that.
    One that is ``given`` as an argument as well is exchanged together with that. Hidden are those that no input can
    stand for: too large, too many, in no known place, of another dtype than floats.
    """
    captured = _taking_part(called, given)
    inputs = [each for each in captured if _may_be_input(each)][:_MOST]
    hidden = tuple(each.name for each in captured if each not in inputs)
    if not inputs:
        return CallWithCaptured(called, {**given}, hidden)
    usual = "float64" if any(each.dtype == "float64" for each in called.recipe.inputs) else "float32"
    for dtype in (usual, ""):
        function, numbers = _with_inputs(called, inputs, dtype)
        if function.outputs():
            return CallWithCaptured(function, {**given, **numbers}, hidden)
    return CallWithCaptured(called, {**given}, tuple(each.name for each in captured))


def _taking_part(called: RepeatableCall, given: Mapping[str, torch.Tensor]) -> list[CapturedTensor]:
    found = captured_tensors(called.function, _constants_of(called.recipe))
    if not found:
        return []
    _, returned = called.forward(track=True)
    behind = {id(each) for each in leaves_behind(tensors_of(returned))}
    places = {given[each.name].data_ptr(): k for k, each in enumerate(called.recipe.arguments) if each.name in given}
    taken = [each.name for each in called.recipe.arguments]
    told = list[CapturedTensor]()
    for each in found:
        name = each.name
        while name in taken:
            name += "_"
        taken.append(name)
        told.append(replace(each, name=name, argument=places.get(each.tensor.data_ptr())))
    known = [each for each in told if id(each.tensor) in behind or each.argument is not None]
    others = [each for each in told if each not in known]
    # Mostly none of them takes part: a class may well refer to a whole model.
    moving = others if others and _moves(called, others) else []
    return [*known, *(each for each in moving[:_MOST] if len(moving) == 1 or _moves(called, [each])), *moving[_MOST:]]


def _constants_of(recipe: Recipe) -> dict[str, Any]:
    """The values of a recipe that are no tensors, by name."""
    return {each.name: each.value for each in recipe.arguments if isinstance(each, Constant)}


def _may_be_input(captured: CapturedTensor) -> bool:
    tensor = captured.tensor
    return bool(captured.places) and dtype_name(tensor.dtype) in FLOATS and 0 < tensor.numel() <= MOST_ELEMENTS


def _moves(called: RepeatableCall, captured: Sequence[CapturedTensor]) -> bool:
    """Whether forward returns something else where these tensors are others."""
    function = CapturedFunction(called.function, tuple(captured), _constants_of(called.recipe))
    outputs = []
    for step in (0.0, _STEP):
        moved = {each.name: _aside(each.tensor.detach(), step) for each in captured}
        recipe = Recipe((*called.recipe.arguments, *(Constant(name, one) for name, one in moved.items())))
        values = {**called.values, **moved}
        try:
            _, returned = replace(called, function=function, recipe=recipe, values=values).forward()
        except Exception:  # noqa: BLE001 whatever the Function raises beside the call that works
            return True
        outputs.append([out for each in result_tuple(returned) if (out := float64_output(each)) is not None])
    return any(not torch.equal(one, other) for one, other in zip(*outputs, strict=True))


def _aside(tensor: torch.Tensor, step: float) -> torch.Tensor:
    """The tensor with each element moved by one to two such steps, on the CPU."""
    here = tensor.cpu()
    slant = torch.linspace(1.0, 2.0, here.numel(), dtype=torch.float64).reshape(here.shape)
    return here + (step * slant).to(here.dtype)


def _with_inputs(
    called: RepeatableCall, captured: Sequence[CapturedTensor], dtype: str
) -> tuple[RepeatableCall, dict[str, torch.Tensor]]:
    """The call with captured tensors as its last arguments, in a dtype if one is said, and their numbers."""
    numbers = {each.name: each.tensor.detach().cpu().clone() for each in captured if each.argument is None}
    if dtype:
        numbers = {
            name: one.to(getattr(torch, dtype)) if one.dtype.itemsize > 2 else one for name, one in numbers.items()
        }
    arguments = [TensorArgument(name, tuple(one.shape), dtype_name(one.dtype)) for name, one in numbers.items()]
    recipe = replace(called.recipe, arguments=(*called.recipe.arguments, *arguments))
    function = CapturedFunction(called.function, tuple(captured), _constants_of(called.recipe))
    return replace(called, function=function, recipe=recipe, values={**called.values, **numbers}), numbers
