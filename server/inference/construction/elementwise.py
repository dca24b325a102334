"""Elementwise test: whether each output element depends on the input at its index alone, by perturbing elements."""

from __future__ import annotations

from dataclasses import replace

import torch

from ...runtime.rng import SEED
from ..search.trial import OptionalTensors, RepeatableCall

# Large steps too: small ones do not change a ranking of the elements, such as a mask of the k largest.
_STEPS = (0.05, 1.3, -1.3, 10.0, -10.0)
_LENGTH, _SHORTER_LENGTHS = 7, (5, 1)
_COMPARED_ELEMENTS = (0, 3, 6)


def elementwise_inputs(attempt: RepeatableCall, base: OptionalTensors) -> tuple[str, ...]:
    """The inputs that can be scalars, so that many points are batched in one vector; empty if there are none.

    They all have one shape, every other input is a single number, and every output has that shape too. For vectors of
    any length each output element depends on the input elements at its index alone, in the same way at every index,
    and so does each element of the VJP.
    """
    inputs = [each.name for each in attempt.recipe.inputs]
    sizes = {name: attempt.tensor(name).numel() for name in inputs}
    largest = max(inputs, key=lambda name: (sizes[name], -inputs.index(name)))
    shape = attempt.tensor(largest).shape
    names = tuple(name for name in inputs if attempt.tensor(name).shape == shape)
    if any(sizes[name] != 1 for name in inputs if name not in names):
        return ()
    if not attempt.deadline.has(_LENGTH * len(_STEPS) * len(names)):
        return ()
    rows = {name: _row(attempt.tensor(name), place) for place, name in enumerate(names)}
    row = attempt.with_values(rows)
    out = row.outputs()
    deterministic = all_close(replace(row, seed=SEED + 1).outputs(), out)
    fits = (
        out is not None
        and all(each is not None and each.shape == (_LENGTH,) for each in out)
        and _forward_is_elementwise(row, out, names)
        and (
            not deterministic
            or (_any_index(row, out, names) and _same_values(out, base, sizes[largest], deterministic))
        )
        and _backward_is_elementwise(row, out, names)
        and _backward_takes_shorter(row, names)
        and _backward_takes_row(attempt, row, base)
        and _shared_gradient_is_sum(row, names)
        and not row.out_of_time
    )
    return names if fits else ()


def _row(tensor: torch.Tensor, place: int) -> torch.Tensor:
    flat = tensor.reshape(-1)[:_LENGTH]
    padding = torch.arange(_LENGTH - flat.numel(), dtype=flat.dtype) * 0.29 + 0.37 + 0.11 * place
    return torch.cat((flat, flat[:1] + padding.to(flat.dtype))) if flat.numel() < _LENGTH else flat.clone()


def _forward_is_elementwise(row: RepeatableCall, out: OptionalTensors, names: tuple[str, ...]) -> bool:
    """Whether a step of one element changes the output elements at its index alone."""
    for name in names:
        for element in range(_LENGTH):
            others = torch.arange(_LENGTH) != element
            for step in _STEPS:
                if row.out_of_time:
                    return False
                held = float(row.tensor(name)[element])
                found = row.with_element(name, (element,), held + step).outputs()
                if found is None:
                    continue  # rejected, such as by a sqrt that raises for negative numbers
                if not all_close([_part(each, others) for each in found], [_part(each, others) for each in out]):
                    return False
    return True


def _any_index(row: RepeatableCall, out: OptionalTensors, names: tuple[str, ...]) -> bool:
    """Whether the results are the same in reverse order, and in shorter vectors, down to length 1."""
    backwards = row.with_values({name: row.tensor(name).flip(0) for name in names}).outputs()
    if not all_close(backwards, [None if each is None else each.flip(0) for each in out]):
        return False
    return all(
        all_close(
            row.with_values({name: row.tensor(name)[:length] for name in names}).outputs(),
            [None if each is None else each[:length] for each in out],
        )
        for length in _SHORTER_LENGTHS
    )


def _same_values(out: OptionalTensors, base: OptionalTensors, size: int, deterministic: bool) -> bool:
    """Whether a vector gives the same values as the shape of the recipe."""
    count = min(size, _LENGTH)
    flat = [None if each is None else each.reshape(-1) for each in base]
    if any(each is None or each.numel() != size for each in flat):
        return False
    return not deterministic or all_close(
        [_part(each, slice(count)) for each in flat], [_part(each, slice(count)) for each in out]
    )


def _backward_is_elementwise(row: RepeatableCall, out: OptionalTensors, names: tuple[str, ...]) -> bool:
    """Whether a one-hot grad_output gives the VJP of ones at its index and of zeros elsewhere; random VJPs pass."""
    ones = torch.ones(_LENGTH, dtype=torch.float64)
    for place in range(len(out)):
        full, none = row.vjp(place, ones), row.vjp(place, 0 * ones)
        repeated = replace(row, seed=SEED + 1).vjp(place, ones)
        if not (full and none and repeated) or any(not _close(full[name], repeated[name]) for name in names):
            continue
        for element in _COMPARED_ELEMENTS:
            hot = torch.arange(_LENGTH) == element
            found = row.vjp(place, hot.double())
            if found and any(not _close(found[name], torch.where(hot, full[name], none[name])) for name in names):
                return False
    return True


def _backward_takes_shorter(row: RepeatableCall, names: tuple[str, ...]) -> bool:
    """Whether backward works for a shorter vector, too: it may use a constant tensor that forward does not."""
    shorter = row.with_values({name: row.tensor(name)[: _SHORTER_LENGTHS[0]] for name in names})
    ones = torch.ones(_LENGTH, dtype=torch.float64)
    return row.vjp(0, ones) is None or shorter.vjp(0, ones[: _SHORTER_LENGTHS[0]]) is not None


def _backward_takes_row(attempt: RepeatableCall, row: RepeatableCall, base: OptionalTensors) -> bool:
    """Whether backward works for a vector if it works for the shape of the recipe, which may be 0-dimensional."""
    own = base[0]
    if own is None or row.vjp(0, torch.ones(_LENGTH, dtype=torch.float64)) is not None:
        return True
    return attempt.vjp(0, torch.ones_like(own)) is None


def _shared_gradient_is_sum(row: RepeatableCall, names: tuple[str, ...]) -> bool:
    """Whether the gradient of a shared scalar is the sum over the elements, not their mean; random gradients pass."""
    shared = [each.name for each in row.recipe.inputs if each.name not in names]
    ones = torch.ones(_LENGTH, dtype=torch.float64)
    full, repeated = (each.vjp(0, ones) for each in (row, replace(row, seed=SEED + 1))) if shared else (None, None)
    if not (full and repeated) or any(not _close(full[name], repeated[name]) for name in shared):
        return True
    alone = [
        row.with_values({name: row.tensor(name)[element : element + 1] for name in names}).vjp(0, ones[:1])
        for element in range(_LENGTH)
    ]
    found = [each for each in alone if each]
    return len(found) < _LENGTH or all(
        _close(full[name], torch.stack([each[name] for each in found]).sum(0)) for name in shared
    )


def _part(tensor: torch.Tensor | None, index: torch.Tensor | slice) -> torch.Tensor | None:
    return None if tensor is None else tensor[index] if tensor.dim() else tensor


def all_close(some: OptionalTensors | None, others: OptionalTensors | None) -> bool:
    if some is None or others is None or len(some) != len(others):
        return False
    return all(
        (a is None) == (b is None) and (a is None or b is None or _close(a, b))
        for a, b in zip(some, others, strict=True)
    )


def _close(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.shape == b.shape and torch.allclose(a.double(), b.double(), rtol=1e-6, atol=1e-9, equal_nan=True)
