"""Compares the backward of one call with forward along random directions, and element by element where they differ."""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass

import torch

from ..contract.checks.gradient import wrong_element
from ..contract.checks.state import random_sources
from ..contract.examination.call import Call, GradientsByName, TensorsByName
from ..contract.examination.session import farthest_elements, gradients_close
from ..contract.examination.slopes import slopes_of_function, tensor_slopes, weighted_total
from ..numerics.differentiation.finite_differences import EVIDENCE_BOUNDS
from ..numerics.formatting.numbers import format_number
from ..numerics.tolerance import tolerance_for
from ..runtime.failure import describe_exception
from ..runtime.rng import irregular_tensor

_DIRECTION_SEEDS = (11, 12)
# bound: differences below this share of the gradient, of this call and of the one that is shown, are no matter of
# another call: its slopes are measured coarsely, and of large terms that cancel rounding is left.
COARSE = 1e-6


@dataclass(frozen=True)
class DirectionalResult:
    """What a call showed: ``wrong`` is a sentence on a wrong gradient, ``unknown`` why nothing could be compared.

    Both are empty where backward is right. ``element`` is the part of the inputs it was seen in. ``raised`` is what
    backward raised where forward ran, ``said`` what else is to be said where it is right.
    """

    wrong: str = ""
    element: str = ""
    unknown: str = ""
    raised: str = ""
    said: str = ""


def compare_along_directions(
    call: Call,
    slopes_of: Call | None = None,
    names: Collection[str] | None = None,
    like: Call | None = None,
    plain: Call | None = None,
) -> DirectionalResult:
    """Compare the gradients of a call with the slopes of forward along directions that move every element.

    ``slopes_of`` is the same call of what backward should be the derivative of, by default of forward; ``names``
    are the tensors to look at, by default all. Of the others nothing is asked but that their gradients are numbers, and
    the same as those of the call ``like`` this one. What is wrong in the ``plain`` call, too, of the same numbers, says
    nothing of their layout. Raises whatever the Function raises.
    """
    result = _compared(call, slopes_of or call, names, like)
    if result.wrong and plain is not None and compare_along_directions(plain).wrong:
        return DirectionalResult(unknown="for these numbers backward is not the slope in any layout")
    return result


def _compared(call: Call, reference: Call, names: Collection[str] | None, like: Call | None) -> DirectionalResult:
    ran = call.run()
    if not ran.moved:
        return DirectionalResult(unknown="no output requires a gradient")
    if not all_finite(ran.outputs):
        return DirectionalResult(unknown="forward is not finite")
    if not _same(ran.outputs, call.value()):
        return DirectionalResult(unknown="two equal calls differ")
    given = call.grad_outputs(ran)
    try:
        delivered = ran.gradients({name: each.clone() for name, each in given.items()})
    except Exception as error:  # noqa: BLE001 a result
        said = describe_exception(error)
        return DirectionalResult(unknown=f"backward raises {said}", raised=said)
    found = {name: torch.zeros_like(call.tensors[name]) if one is None else one for name, one in delivered.items()}
    for name, gradient in found.items():
        if bool(gradient.isnan().any()):
            return _not_a_number(call, name, gradient)
    looked_at = call.tensors if names is None else names

    def holds(name: str, seed: int) -> bool:
        return _beyond(reference, name, found[name], given, irregular_tensor(found[name], seed)) <= 0

    for name in looked_at:
        seed = next((seed for seed in _DIRECTION_SEEDS if name in found and not holds(name, seed)), None)
        if seed is None:
            continue
        culprit = _culprit(reference, name, found[name], given, irregular_tensor(found[name], seed))
        slopes = tensor_slopes(reference, name, given, [culprit])
        wrong = wrong_element(reference, name, slopes, found[name], given)
        if wrong and not wrong.remark:
            return DirectionalResult(wrong.sentence, wrong.element)
    # Laid out in another way, random numbers are drawn in another order: it is another draw.
    return DirectionalResult() if like is None or random_sources(call) else _unlike(found, like.gradients(given))


def _not_a_number(call: Call, name: str, gradient: torch.Tensor) -> DirectionalResult:
    place = int(gradient.reshape(-1).isnan().nonzero()[0])
    element, x = element_name(name, gradient, place), float(call.tensors[name].reshape(-1)[place])
    return DirectionalResult(
        f"{element} = {format_number(x)} backward returned {format_number(math.nan)}, where forward is finite.", element
    )


def element_name(name: str, tensor: torch.Tensor, place: int) -> str:
    """The name of an element of a tensor by its place among all; of a single one that of the tensor."""
    at = ",".join(str(int(each)) for each in torch.unravel_index(torch.tensor(place), tensor.shape))
    return f"{name}[{at}]" if tensor.numel() > 1 else name


def _unlike(found: TensorsByName, others: GradientsByName) -> DirectionalResult:
    """The first gradient that is not the same in another call."""
    for name, one in found.items():
        other = others.get(name)
        if not gradients_close(one, other):
            now, then = farthest_elements(one, torch.zeros_like(one) if other is None else other)
            said = f"{name} backward returned {now}, and {then} for the same numbers in the call that is shown."
            return DirectionalResult(said, name)
    return DirectionalResult()


def all_finite(tensors: TensorsByName) -> bool:
    """Whether every number of some tensors is finite."""
    return all(bool(each.detach().isfinite().all()) for each in tensors.values())


def _same(some: TensorsByName, others: TensorsByName) -> bool:
    return some.keys() == others.keys() and all(torch.equal(one.detach(), others[name]) for name, one in some.items())


def _beyond(call: Call, name: str, gradient: torch.Tensor, given: TensorsByName, direction: torch.Tensor) -> float:
    """By how much more the gradient for one input is off the slope of forward along a direction than is allowed.

    Where there is no such slope it is enough that the gradient is finite.
    """
    held = call.tensors[name]
    slope = slopes_of_function(_along(call, name, direction, given), held.new_zeros(1), call.precision)
    if not bool(slope.known[0]):
        return -math.inf if bool(gradient.isfinite().all()) else math.inf
    parts = (gradient.detach() * direction).double()
    # Terms may cancel: what is rounded is as large as the terms.
    size = float(parts.abs().sum()) + float(slope.value[0].abs()) + call.known_gradient
    allowed = max(tolerance_for(size, held.dtype).atol, COARSE * size) + EVIDENCE_BOUNDS * float(slope.error[0])
    apart = float((parts.sum() - slope.value[0]).abs()) - allowed
    return math.inf if math.isnan(apart) else apart


def _culprit(call: Call, name: str, gradient: torch.Tensor, given: TensorsByName, direction: torch.Tensor) -> int:
    """The place of an element by which the gradient is off the slope along a direction, by halves of those moved."""
    places = torch.arange(direction.numel())
    while places.numel() > 1:
        halves = places.tensor_split(2)
        moved = (torch.zeros(direction.numel(), dtype=direction.dtype).index_fill(0, half, 1.0) for half in halves)
        beyond = [_beyond(call, name, gradient, given, direction * each.reshape(direction.shape)) for each in moved]
        places = halves[int(beyond[1] > beyond[0])]
    return int(places[0])


def _along(call: Call, name: str, direction: torch.Tensor, given: TensorsByName) -> Callable[[torch.Tensor], float]:
    held = call.tensors[name]

    def total(t: torch.Tensor) -> float:
        return weighted_total(call.value(**{name: held + t * direction}), given)

    return total
