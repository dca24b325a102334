"""Chooses the swept input element and the observed output element: the pair with the largest slope."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from ..search.trial import OptionalTensors, RepeatableCall

_Index = tuple[int, ...]

# Steps large enough to cross a nearby kink, a threshold, or another element in a ranking.
_STEPS = (0.05, 1.3, -1.3, 10.0)
_FEW_ELEMENTS, _MORE_ELEMENTS = 6, 40
# The first input, element or same-index pair is preferred if its slope is at least this share of the largest.
_INPUT_SHARE, _ELEMENT_SHARE, _SAME_INDEX_SHARE = 0.05, 0.5, 0.25


@dataclass(frozen=True)
class ElementPair:
    """An element of an input and one of an output: ``moves`` is the slope, ``pulls`` that backward is not zero."""

    wrt: str
    wrt_index: _Index
    output: int
    of_index: _Index
    moves: float = 0.0
    pulls: bool = False


def pairs_by_input(attempt: RepeatableCall, base: OptionalTensors) -> dict[str, ElementPair]:
    """For every input the pair with its largest slope; ``base`` are the unperturbed outputs."""
    return {
        each.name: _pair(attempt, base, each.name)
        for each in attempt.recipe.inputs
        if attempt.tensor(each.name).numel()
    }


def pair_to_show(found: dict[str, ElementPair]) -> ElementPair:
    """The pair to show: that of the first input with about the largest slope and a gradient."""
    for good in (
        [each for each in found.values() if each.moves and each.pulls],
        [each for each in found.values() if each.moves],
        [each for each in found.values() if each.pulls],
        list(found.values()),
    ):
        most = max((each.moves for each in good), default=0.0)
        for each in good:
            if each.moves >= _INPUT_SHARE * most:
                return each
    raise ValueError("there is no input")


def _pair(attempt: RepeatableCall, base: OptionalTensors, name: str) -> ElementPair:
    count = attempt.tensor(name).numel()
    best = _best(attempt, base, name, _spread_indices(count, _FEW_ELEMENTS))
    if not best.moves and count > _FEW_ELEMENTS:
        best = _best(attempt, base, name, _spread_indices(count, _MORE_ELEMENTS))
    return _with_backward_tested(attempt, base, best)


def _best(attempt: RepeatableCall, base: OptionalTensors, name: str, elements: list[int]) -> ElementPair:
    found: list[ElementPair] = []
    for element in elements:
        if found and attempt.out_of_time:
            break
        found.append(_most_affected_output(attempt, base, name, element))
    most = max(each.moves for each in found)
    return next(each for each in found if each.moves >= _ELEMENT_SHARE * most)


def _most_affected_output(attempt: RepeatableCall, base: OptionalTensors, name: str, element: int) -> ElementPair:
    """The output element with the largest slope by an input element, the one at the same index if it is close."""
    held = attempt.tensor(name)
    index = _unravelled(element, held.shape)
    moved = [torch.zeros(0) if out is None else torch.zeros_like(out) for out in base]
    for step in _STEPS:
        outputs = attempt.with_element(name, index, float(held[index]) + step).outputs()
        for place, out in enumerate(outputs or ()):
            was = base[place] if place < len(base) else None
            if out is not None and was is not None and out.shape == was.shape:
                change = torch.nan_to_num((out - was).abs() / abs(step), nan=0.0, posinf=0.0)
                moved[place] = torch.maximum(moved[place], change)
    sizes = [float(each.max()) if each.numel() else 0.0 for each in moved]
    most = max(sizes)
    for place, out in enumerate(moved):
        if base[place] is not None and out.shape == held.shape and float(out[index]) >= _SAME_INDEX_SHARE * most:
            return ElementPair(name, index, place, index, float(out[index]))
    place = next(i for i, size in enumerate(sizes) if size >= _SAME_INDEX_SHARE * most and moved[i].numel())
    of = _unravelled(int(moved[place].reshape(-1).argmax()), moved[place].shape)
    return ElementPair(name, index, place, of, sizes[place])


def _with_backward_tested(attempt: RepeatableCall, base: OptionalTensors, pair: ElementPair) -> ElementPair:
    """The pair, with ``pulls`` set where backward returns a non-zero gradient for it, here or a step aside."""
    out = base[pair.output]
    held = float(attempt.tensor(pair.wrt)[pair.wrt_index])
    for step in (0.0, 1.3, -1.3):
        if out is None or not out.numel():
            break
        one_hot = torch.zeros_like(out)
        one_hot[pair.of_index] = 1
        gradients = attempt.with_element(pair.wrt, pair.wrt_index, held + step).vjp(pair.output, one_hot)
        if gradients and float(torch.nan_to_num(gradients[pair.wrt][pair.wrt_index])):
            return replace(pair, pulls=True)
    return pair


def _spread_indices(count: int, most: int) -> list[int]:
    return sorted({round(float(each)) for each in torch.linspace(0, count - 1, min(count, most))})


def _unravelled(element: int, shape: torch.Size) -> _Index:
    return tuple(map(int, np.unravel_index(element, shape)))
