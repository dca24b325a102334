"""Causes of a wrong gradient that its numbers show.

One grad_output for all, a missing sum, the gradient of another, an index that overwrites, a matrix that is not
transposed, a mask.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from ...numerics.sentences.names import complex_part
from ...runtime.arguments import PARTS, BoundFunction, ConstantArgument
from ..examination.session import CheckSession
from ..examination.slopes import TensorSlopes, tensor_slopes

# bound: how near, as a share, the numbers have to be to those that a cause predicts.
_NEAR = 1e-5
NO_MASK = "a mask is missing."
_STEP = 1e-3  # sample: how far a tensor is moved along a direction of ordinary size, and twice as far


def cause_of(session: CheckSession, name: str) -> str:
    """Why the gradient of a tensor is wrong, as a sentence; empty where no cause predicts all of its numbers.

    Nor is there one where the right gradient is as near, as to one that is rounded.
    """
    found, slopes = session.first.gradients.get(name), session.slopes.get(name)
    if found is not None and slopes is not None and _predicts(slopes, found, 1.0):
        return ""
    causes = (
        _conjugated,
        _one_output_for_all,
        _one_element_for_all,
        _one_row,
        _of_another,
        _last_of_equal,
        _not_transposed,
        _masked,
    )
    return next((said for cause in causes if (said := cause(session, name))), "")


def _conjugated(session: CheckSession, name: str) -> str:
    """That the gradient by a complex tensor is the conjugate of the right one; empty if it is not, or if it is real."""
    whole, part = complex_part(name)
    real, imag = (whole + each for each in PARTS)
    gradients, given = session.first.gradients, session.first.grad_outputs
    across = gradients.get(imag)
    if not part or real not in session.slopes or across is None:
        return ""
    # Where grad_output is not conjugated with the slope, it is the conjugate of the right one for another grad_output.
    conjugate = {each: -one if complex_part(each)[1] == PARTS[1] else one for each, one in given.items()}
    for weights, of in ((given, "slope"), (conjugate, "slope, times grad_output")):
        along, over = (tensor_slopes(session.call, each, weights) for each in (real, imag))
        if over.agrees(-across) and along.agrees(gradients[real]):
            return f"What backward returns for {whole} is the complex conjugate of the {of}."
    return ""


def _one_output_for_all(session: CheckSession, name: str) -> str:
    """That the grad_output of one output stands for those of all outputs of its shape."""
    given, found = session.first.grad_outputs, session.first.gradients.get(name)
    for output, one in given.items() if found is not None and len(given) > 1 else ():
        alike = {each: one if other.shape == one.shape else other for each, other in given.items()}
        if found is not None and _predicts(tensor_slopes(session.call, name, alike), found, 1.0):
            return f"backward uses the grad_output of {output} for all: each output has its own."
    return ""


def _one_element_for_all(session: CheckSession, name: str) -> str:
    """That the grad_output of one element of an output stands for those of all."""
    given, found = session.first.grad_outputs, session.first.gradients.get(name)
    if found is None or sum(each.numel() for each in given.values()) < 2 or any(map(torch.is_complex, given.values())):
        return ""
    alike = tensor_slopes(session.call, name, {each: torch.ones_like(one) for each, one in given.items()})
    for output, one in given.items():
        for place, factor in enumerate(one.reshape(-1).tolist()):
            if _predicts(alike, found, factor):
                of = _element(output, one, place)
                return f"backward uses the grad_output of {of} for all: each element has its own."
    return ""


def _one_row(session: CheckSession, name: str) -> str:
    """That the gradient is that of one row of an output alone, where all of them depend on the tensor."""
    given, found = session.first.grad_outputs, session.first.gradients.get(name)
    if found is None:
        return ""
    for output, one in given.items():
        for dim, place in _rows(one, found):
            row = torch.zeros_like(one)
            row.select(dim, place).copy_(one.select(dim, place))
            alone = {each: row if each == output else torch.zeros_like(other) for each, other in given.items()}
            if _predicts(tensor_slopes(session.call, name, alone), found, 1.0):
                which = f"{'first' if not place else 'last'} of dimension {dim} of {output}"
                return f"What backward returns for {name} is the gradient of the {which}: the sum over it is missing."
    return ""


def _rows(output: torch.Tensor, found: torch.Tensor) -> Iterator[tuple[int, int]]:
    """The first and the last row along each dimension that a smaller tensor does not have."""
    if output.numel() > found.numel():
        yield from ((dim, place) for dim, size in enumerate(output.shape) if size > 1 for place in (0, size - 1))


def _of_another(session: CheckSession, name: str) -> str:
    """That the gradient is that of another tensor, of whatever shape: a larger one is summed by the engine."""
    returned = next((value for own, value in session.returned_by_name() if own == name), None)
    if not isinstance(returned, torch.Tensor):
        return ""
    for other, slopes in session.slopes.items():
        if other != name and _predicts(slopes, returned, 1.0):
            shape = f", of shape {tuple(returned.shape)}," if returned.shape != session.call.tensors[name].shape else ""
            return f"What backward returns for {name}{shape} is the gradient of {other}."
    return ""


def _last_of_equal(session: CheckSession, name: str) -> str:
    """That of equal indices the last one alone counts, as where rows are assigned and not added."""
    given, found = session.first.grad_outputs, session.first.gradients.get(name)
    for index in _repeated_indices(session) if found is not None else ():
        last = {number: place for place, number in enumerate(index.reshape(-1).tolist())}
        kept = torch.zeros(index.numel())
        kept[list(last.values())] = 1.0
        for output, one in given.items():
            for dim in range(one.dim()):
                if one.shape[dim : dim + index.dim()] == index.shape:
                    rows = kept.reshape(*index.shape, *(1,) * (one.dim() - dim - index.dim())).to(one)
                    alone = tensor_slopes(session.call, name, {**given, output: one * rows})
                    if found is not None and _predicts(alone, found, 1.0):
                        return "Of equal indices the last alone counts: what comes back for them has to be added up."
    return ""


def _repeated_indices(session: CheckSession) -> Iterator[torch.Tensor]:
    bound = session.call.op.call
    for held in bound.arguments if isinstance(bound, BoundFunction) else ():
        index = held.value if isinstance(held, ConstantArgument) else None
        whole = isinstance(index, torch.Tensor) and index.dtype in (torch.int32, torch.int64)
        if isinstance(index, torch.Tensor) and whole and len(set(index.reshape(-1).tolist())) < index.numel():
            yield index


def _not_transposed(session: CheckSession, name: str) -> str:
    """That backward applies the derivative to grad_output as forward does to a small change, and not its transpose."""
    given, found, held = session.first.grad_outputs, session.first.gradients.get(name), session.call.tensors[name]
    (output, direction), *others = given.items()
    if others or found is None or found.numel() < 2 or direction.shape != held.shape or direction.is_complex():
        return ""
    slopes = _slopes_along(session, name, output, direction.to(held))
    near = _NEAR * (1 + float(slopes.abs().max()))
    if not bool(((found.detach() - slopes).abs() <= near).all()) or not bool(found.any()):
        return ""
    return (
        "backward applies the derivative of forward to grad_output, and not its transpose: "
        "matrices are to be transposed, permutations inverted, sums taken in reverse."
    )


def _slopes_along(session: CheckSession, name: str, output: str, direction: torch.Tensor) -> torch.Tensor:
    """The slopes of all elements of an output along a direction in which a tensor is moved."""
    held, step = session.call.tensors[name], _STEP / float(direction.abs().max().clamp_min(1.0))
    one, other, two, another = (
        session.call.value(**{name: held + times * step * direction})[output] for times in (1, -1, 2, -2)
    )
    return (8 * (one - other) - (two - another)) / (12 * step)


def _masked(session: CheckSession, name: str) -> str:
    """That a mask is missing or reversed: forward moves with some elements, and with others it does not."""
    slopes, found = session.slopes[name], session.first.gradients.get(name)
    if found is None or found.shape != slopes.value.shape or not bool(slopes.known.all()):
        return ""
    moves, off = slopes.value.abs() > _NEAR * slopes.largest, slopes.doubts(found)
    if not bool(moves.any()) or bool(moves.all()):
        return ""
    if not bool(off[moves].any()):
        return f"backward is right where forward moves with {name}, and not 0 where it does not: {NO_MASK}"
    if not bool(found[moves].any()) and bool(found[~moves].all()):
        return f"backward returns 0 where forward moves with {name}, and something elsewhere: the mask is reversed."
    return ""


def _predicts(slopes: TensorSlopes, found: torch.Tensor, factor: float) -> bool:
    """Whether a gradient is a multiple of these slopes, as far as they are known, and not by being 0."""
    if not bool(slopes.known.all()) or not slopes.moves or found.shape != slopes.value.shape:
        return False
    expected = factor * slopes.value
    allowed = _NEAR * (expected.abs() + expected.abs().max()) + abs(factor) * slopes.error
    return bool(((found.detach().to(expected) - expected).abs() <= allowed).all())


def _element(name: str, tensor: torch.Tensor, place: int) -> str:
    if tensor.numel() == 1:
        return name
    at = torch.unravel_index(torch.tensor(place), tensor.shape)
    return f"{name}[{','.join(str(int(each)) for each in at)}]"
