"""Quick check of a working recipe: does forward depend on its input, and does backward match central differences?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from ...runtime.vjp import pull_back
from ..recipe.recipe import Recipe, TensorArgument
from .trial import call_seeded, tensors_within

# Number of elements compared, and the number for a sure answer; one of the few may lie on a kink.
_DIRECTIONS, _MANY = 6, 32
_STEPS = {torch.float64: 1e-6, torch.float32: 4e-3}
_SCALES = (10.0, 1e3, 1e6)
_TOLERANCES = {torch.float64: 1e-4, torch.float32: 5e-2}


@dataclass(frozen=True)
class Agreement:
    """The share of the compared elements where backward agrees with differences of forward.

    ``depends_on_input`` says that forward depends on its inputs at all, ``is_identity`` that forward returns its input
    and backward grad_output.
    """

    share: float
    depends_on_input: bool
    is_identity: bool = False

    @property
    def agrees(self) -> bool:
        """Whether backward and differences agree at most elements."""
        return self.depends_on_input and self.share > 0.8

    @property
    def does_something(self) -> bool:
        """Whether forward depends on its input and is no identity."""
        return self.depends_on_input and not self.is_identity


def agreement(call: Callable[..., Any], recipe: Recipe, directions: int = _DIRECTIONS) -> Agreement:
    """Compare backward with central differences of forward, element by element, at a few elements of each input.

    Raises nothing: a call that fails here agrees nowhere.
    """
    try:
        return _compare(call, recipe, directions)
    except BaseException:  # noqa: BLE001 it has worked once, and what it raises now is a result too
        return Agreement(0.0, False)


def agrees_everywhere(call: Callable[..., Any], recipe: Recipe) -> bool:
    """Whether they agree at every one of many elements, so that it is no coincidence."""
    found = agreement(call, recipe, _MANY)
    return found.depends_on_input and found.share == 1.0


def seems_elementwise(call: Callable[..., Any], recipe: Recipe) -> bool:
    """Whether each output element seems to depend on the input elements at its own index alone.

    Then tensors of another shape show nothing new. Raises nothing.
    """
    try:
        return _is_elementwise(call, recipe)
    except BaseException:  # noqa: BLE001 it has worked once, and what it raises now is a result too
        return False


def _is_elementwise(call: Callable[..., Any], recipe: Recipe) -> bool:
    def outputs(given: dict[str, torch.Tensor]) -> list[torch.Tensor]:
        with torch.no_grad():
            return _floating_outputs(call, recipe.build(given=given))

    tensors, base = recipe.tensors(), outputs({})
    shapes = {each.shape for each in recipe.inputs if each.shape not in ((), (1,))}
    if len(shapes) != 1 or any(each.shape not in shapes for each in base) or not base:
        return False
    for each in recipe.inputs:
        for index in _spread_places(tensors[each.name].numel(), 2) if each.shape in shapes else []:
            for step in (0.05, 1.3, -10.0):
                tensor = tensors[each.name].clone()
                tensor.view(-1)[index] += step
                for one, other in zip(base, outputs({each.name: tensor}), strict=True):
                    moved = ~torch.isclose(one, other, equal_nan=True).reshape(-1)
                    moved[index] = False
                    if bool(moved.any()):
                        return False
    return True


def _compare(call: Callable[..., Any], recipe: Recipe, directions: int) -> Agreement:
    pairs = recipe.leaves()
    with torch.enable_grad():
        outputs = _floating_outputs(call, [one for _, one in pairs])
    differentiable = [place for place, each in enumerate(outputs) if each.requires_grad and each.numel()]
    weights = [_irregular_weights(outputs[place]) for place in differentiable]
    leaves = {each.name: leaf for each, (leaf, _) in zip(recipe.arguments, pairs, strict=True) if leaf is not None}
    found = pull_back([outputs[place] for place in differentiable], weights, leaves.values())

    def value(name: str, index: int, step: float) -> float:
        tensor = leaves[name].detach().clone()
        tensor.view(-1)[index] += step
        with torch.no_grad():
            returned = _floating_outputs(call, recipe.build(given={name: tensor}))
        weighted = zip((returned[place] for place in differentiable), weights, strict=True)
        return float(sum((out.double() * weight.double()).sum() for out, weight in weighted))

    right, count, depends_on_input = 0, 0, False
    inputs = [each for each in recipe.arguments if isinstance(each, TensorArgument) and each.grad]
    for each, gradient in zip(inputs, found, strict=True):
        dense = torch.zeros_like(leaves[each.name]) if gradient is None else gradient
        step, tolerance = _STEPS.get(dense.dtype, 1e-2), _TOLERANCES.get(dense.dtype, 0.1)
        for index in _spread_places(dense.numel(), max(2, directions // len(inputs))):
            slope = (value(each.name, index, step) - value(each.name, index, -step)) / (2 * step)
            analytical = float(dense.reshape(-1)[index])
            count += 1
            depends_on_input = depends_on_input or abs(slope) > tolerance
            right += abs(slope - analytical) <= tolerance * (1 + max(abs(slope), abs(analytical)))
    is_identity = _is_identity(pairs, outputs, weights, found) and _passes_large_inputs(call, recipe)
    return Agreement(right / max(1, count), depends_on_input, is_identity)


def _floating_outputs(call: Callable[..., Any], arguments: list[Any]) -> list[torch.Tensor]:
    return [each for each in tensors_within(call_seeded(call, *arguments)) if each.is_floating_point()]


def _is_identity(
    pairs: list[tuple[torch.Tensor | None, Any]],
    outputs: list[torch.Tensor],
    weights: list[torch.Tensor],
    found: list[torch.Tensor | None],
) -> bool:
    """Whether the only output equals the first input, and its gradient equals grad_output."""
    leaf = next(one for one, _ in pairs if one is not None)
    gradient = found[0]
    return (
        len(outputs) == len(weights) == 1
        and gradient is not None
        and torch.equal(outputs[0].detach(), leaf.detach())
        and torch.equal(gradient.detach().to(weights[0]), weights[0])
        and not any(each is not None and bool(each.count_nonzero()) for each in found[1:])
    )


def _passes_large_inputs(call: Callable[..., Any], recipe: Recipe) -> bool:
    """Whether larger inputs come out unchanged, too: small ones may lie within the bounds of a clamp."""
    first = recipe.inputs[0].name
    for factor in _SCALES:
        larger = recipe.tensors()[first] * factor
        with torch.no_grad():
            outputs = list(tensors_within(call_seeded(call, *recipe.build(given={first: larger}))))
        if not torch.equal(outputs[0], larger):
            return False
    return True


def _spread_places(numel: int, count: int) -> list[int]:
    """A few flat indices spread over a tensor."""
    return sorted({int((place + 0.5) * numel / count) for place in range(count)}) if numel else []


def _irregular_weights(like: torch.Tensor) -> torch.Tensor:
    """Weights of different sizes, so that outputs do not cancel."""
    return torch.linspace(0.6, 1.4, like.numel(), dtype=torch.float64).reshape(like.shape).to(like.dtype)
