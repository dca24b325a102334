"""What forward does in a working recipe: whether its outputs move with its inputs, and whether it is the identity.

Backward has no say in it: whether it is right must not decide how a Function is called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from ...runtime.kept_values import KINDS, keep_values
from ..recipe.recipe import Constant, Recipe, TensorArgument
from .trial import call_seeded, tensors_within

# Elements of each input that are moved, and by how much: a staircase moves by large steps alone, and what a large step
# leads out of its domain moves by a small one.
_ELEMENTS, _STEPS = 3, (1e-3, 0.7, -1.3)
_SCALES = (10.0, 1e3, 1e6)


@dataclass(frozen=True)
class ForwardEffect:
    """``depends_on_input`` says that an output moves with an input, ``is_identity`` that it is the first input."""

    depends_on_input: bool
    is_identity: bool = False

    @property
    def does_something(self) -> bool:
        """Whether forward depends on its input and is no identity."""
        return self.depends_on_input and not self.is_identity


UNKNOWN_EFFECT = ForwardEffect(False)


def forward_effect(call: Callable[..., Any], recipe: Recipe) -> ForwardEffect:
    """What forward does with the inputs of a recipe. Raises nothing: what fails here does nothing."""
    try:
        with torch.no_grad():
            return ForwardEffect(_depends_on_input(call, recipe), _is_identity(call, recipe))
    except BaseException:  # noqa: BLE001 it has worked once, and what it raises now is a result too
        return UNKNOWN_EFFECT


def is_batch_of(call: Callable[..., Any], recipe: Recipe, alone: Recipe) -> bool:
    """Whether forward does with a batch what it does with each element alone: the recipe is then the other one's batch.

    One tensor of the other one has less dimensions in front, and all else is the same: of several that grow some may be
    shared by all elements. The sizes of the dimensions that both have do not matter. What returns no number is no
    batch. Raises nothing, as above.
    """
    both = list(zip(recipe.arguments, alone.arguments, strict=False))
    tensors = [(one, other) for one, other in both if isinstance(one, TensorArgument)]
    if len(recipe.arguments) != len(alone.arguments) or any(not _alike(one, other) for one, other in both):
        return False
    extra = {one.name: len(one.shape) - len(other.shape) for one, other in tensors if isinstance(other, TensorArgument)}
    batched = [count for count in extra.values() if count]
    if len(batched) != 1 or (count := batched.pop()) < 0:
        return False
    first = (0,) * count
    try:
        with torch.no_grad():
            given = recipe.tensors()
            picked = {name: one[first] if extra[name] else one for name, one in given.items()}
            arguments = [picked.get(each.name, getattr(each, "value", None)) for each in recipe.arguments]
            together = _floating_outputs(call, recipe, given)
            outputs = [each for each in tensors_within(call_seeded(call, *arguments)) if _is_floating(each)]
            return any(each.numel() for each in together) and not _differ([each[first] for each in together], outputs)
    except BaseException:  # noqa: BLE001 as above
        return False


def _alike(one: TensorArgument | Constant, other: TensorArgument | Constant) -> bool:
    """Whether two arguments are the same but for the shape of a tensor."""
    if isinstance(one, Constant) or isinstance(other, Constant):
        return one == other
    return one == replace(other, shape=one.shape)


def _depends_on_input(call: Callable[..., Any], recipe: Recipe) -> bool:
    tensors, base = recipe.tensors(), _floating_outputs(call, recipe, {})
    for each in recipe.inputs:
        for index in _spread_places(tensors[each.name].numel()):
            for step in _STEPS:
                tensor = tensors[each.name].clone()
                tensor.view(-1)[index] += step
                tensor = keep_values(tensor, each.fill) if each.fill in KINDS else tensor
                if _differ(base, _floating_outputs(call, recipe, {each.name: tensor})):
                    return True
    return False


def _is_identity(call: Callable[..., Any], recipe: Recipe) -> bool:
    """Whether the only output is the first input, and larger ones come out unchanged, too: they may be clamped."""
    first = recipe.inputs[0].name
    for factor in (1.0, *_SCALES):
        given = recipe.tensors()[first] * factor
        outputs = _floating_outputs(call, recipe, {first: given})
        if len(outputs) != 1 or not torch.equal(outputs[0], given):
            return False
    return True


def _floating_outputs(call: Callable[..., Any], recipe: Recipe, given: dict[str, torch.Tensor]) -> list[torch.Tensor]:
    returned = call_seeded(call, *recipe.build(given=given))
    return [each for each in tensors_within(returned) if _is_floating(each)]


def _is_floating(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _differ(some: list[torch.Tensor], others: list[torch.Tensor]) -> bool:
    """Whether the outputs of two calls are different numbers."""
    return len(some) != len(others) or any(
        one.shape != other.shape or not torch.allclose(one, other, rtol=1e-12, atol=0.0, equal_nan=True)
        for one, other in zip(some, others, strict=True)
    )


def _spread_places(numel: int) -> list[int]:
    """A few flat indices spread over a tensor."""
    return sorted({int((place + 0.5) * numel / _ELEMENTS) for place in range(_ELEMENTS)}) if numel else []
