"""Compares backward with forward where numbers are equal, and a maximum or a sort has many subgradients.

Along a direction that moves equal numbers equally they stay equal. Whatever forward chooses among them, its pieces rise
alike along it, and so does every subgradient: there is one right value.
"""

from collections.abc import Callable, Mapping

import torch

from ..contract.examination.call import Call, TensorsByName
from ..contract.examination.slopes import slopes_of_function, weighted_total
from ..numerics.differentiation.finite_differences import EVIDENCE_BOUNDS
from ..numerics.formatting.numbers import format_distinct, format_number
from ..runtime.rng import irregular_tensor
from .directional_check import COARSE, DirectionalResult, all_finite

# How the numbers of a direction depend on those that it moves: they change fast, and are nowhere small.
_FAST, _LEAST = 40.0, 0.5
# Of the size of the terms: a gradient at equal numbers is wrong where it is off by more than the first share, though
# beside them, so far apart, it is not by more than the second.
_WRONG, _RIGHT, _BESIDE = 1e-2, 1e-3, 1e-5
_SEEDS = (21, 41)


def compare_at_ties(call: Call, slopes_of: Call | None = None) -> DirectionalResult:
    """Compare the gradients of a call whose tensors hold equal numbers with the slope of forward along one direction.

    ``slopes_of`` is the same call of what backward should be the derivative of, by default of forward. Only a backward
    that is right beside the equal numbers is found wrong. Raises whatever the Function raises.
    """
    ran = call.run()
    if not ran.moved or not all_finite(ran.outputs):
        return DirectionalResult(unknown="forward is not finite there")
    given, reference = call.grad_outputs(ran), slopes_of or call
    directions = {name: _direction(one) for name, one in call.tensors.items()}

    def total(t: torch.Tensor) -> float:
        moved = {name: one + t * directions[name] for name, one in call.tensors.items()}
        return weighted_total(reference.value(**moved), given)

    slope = slopes_of_function(total, torch.zeros(1, dtype=torch.float64), reference.precision)
    if not bool(slope.known[0]):
        return DirectionalResult(unknown="forward has no slope there")
    right = float(slope.value[0])
    found, share = _along(call, directions, given, right)
    if (
        abs(found - right) <= EVIDENCE_BOUNDS * float(slope.error[0]) + COARSE * call.known_gradient
        or share <= _WRONG
        or not torch.isfinite(torch.tensor(found))
    ):
        return DirectionalResult()
    beside = (_along(_untied(call, seed), directions, given, right)[1] for seed in _SEEDS)
    if not all(each <= _RIGHT for each in beside):
        return DirectionalResult(unknown="it is no better beside equal numbers")
    first = next(iter(call.tensors))
    numbers = ", ".join(format_number(each) for each in sorted(set(call.tensors[first].reshape(-1).tolist()))[:2])
    seen = (
        f"{first} = {numbers}, equal numbers moved by equal amounts, backward returned {format_distinct(found, right)} "
        f"in all, and the slope is {format_distinct(right, found)}."
    )
    return DirectionalResult(seen, first)


def _direction(tensor: torch.Tensor) -> torch.Tensor:
    """Numbers that depend on those of the tensor alone: the same for equal ones."""
    wave = torch.sin(_FAST * tensor)
    return torch.where(wave < 0, -1.0, 1.0) * (_LEAST + wave.abs())


def _along(call: Call, directions: TensorsByName, given: TensorsByName, slope: float) -> tuple[float, float]:
    """The gradient along a direction, and how far it is from a slope, as a share of its terms; infinite for NaN."""
    gradients = call.gradients(given)
    parts = [(one.detach() * directions[name]).reshape(-1) for name, one in gradients.items() if one is not None]
    terms = torch.cat(parts) if parts else torch.zeros(1, dtype=torch.float64)
    found, size = float(terms.sum()), float(terms.abs().sum()) + abs(slope)
    share = abs(found - slope) / size if size else 0.0
    return found, share if share == share else float("inf")


def _untied(call: Call, seed: int) -> Call:
    apart = {
        name: _BESIDE * irregular_tensor(one, seed + place) for place, (name, one) in enumerate(call.tensors.items())
    }
    return call.holding({name: one + apart[name] for name, one in call.tensors.items()})


Tied = Callable[[Mapping[str, torch.Tensor]], dict[str, torch.Tensor]]


def in_turns(tensors: TensorsByName) -> dict[str, torch.Tensor]:
    """Every other element as the one before."""
    return {name: _repeated(one) for name, one in tensors.items()}


def equal_to_the_first(tensors: TensorsByName) -> dict[str, torch.Tensor]:
    """The first two tensors of one shape with the same numbers."""
    pair = tensors_alike(tensors)
    return {**tensors, pair[1]: tensors[pair[0]].clone()} if pair else dict(tensors)


def tensors_alike(tensors: TensorsByName) -> tuple[str, ...]:
    """The names of the first tensor and the next one of its shape; empty where there is none."""
    first, *others = tensors
    other = next((each for each in others if tensors[each].shape == tensors[first].shape), "")
    return (first, other) if other else ()


def _repeated(tensor: torch.Tensor) -> torch.Tensor:
    flat = tensor.reshape(-1)
    places = torch.arange(flat.numel())
    return flat[places - places % 2].reshape(tensor.shape)
