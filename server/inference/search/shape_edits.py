"""Edits of shapes: the ranks and sizes that an error may ask for, those that its message names first."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace

from ..recipe.recipe import SQUARE_FILLS, Constant, Recipe, TensorArgument, is_square
from .failed_call import Edit, FailedCall
from .shapes import default_shape

_Shape = tuple[int, ...]
_MAX_RANK = 6
# With more tensors than this, sizes are not tried one by one.
_MOST_TENSORS = 5
# Sizes to try for a dimension where the message names none.
_SIZES = (3, 2, 4, 6, 8, 5, 7, 9, 1)
_WORDS = {"matrix": 2, "matrices": 2, "vector": 1}


def other_ranks(failed: FailedCall) -> Iterator[Edit]:
    """Each tensor to blame, and all together, with the numbers of dimensions that the message names, or one more."""
    tensors = failed.tensors(False)
    named = [rank for word, rank in _WORDS.items() if word in failed.blame.message]
    named += [len(shape) for shape in _shapes(failed.blame.message)]
    beside = {len(each.shape) + 1 for _, each in tensors}
    ranks = [each for each in dict.fromkeys((*failed.numbers(*named), *beside)) if each <= _MAX_RANK]
    for step, rank in enumerate(ranks):
        cost = 0.3 + 0.1 * step
        wrong = [(place, each) for place, each in tensors if len(each.shape) != rank]
        for turn, (place, each) in enumerate(wrong):
            yield from failed.with_argument(place, _of_rank(each, rank), cost + 0.4 * turn)
        if wrong and len(failed.recipe.inputs) > 1:
            yield from failed.with_tensors(lambda each, rank=rank: _of_rank(each, rank), cost + 0.2)  # type: ignore[misc]


def other_sizes(failed: FailedCall) -> Iterator[Edit]:
    """Every tensor with the shapes and sizes that the message names, with those of the others, then with any."""
    tensors = list(reversed(failed.tensors(False)))
    named = [size for size in failed.named_numbers if size]
    for step, (place, each) in enumerate(tensors):
        for sizes in _shapes(failed.blame.message):
            fits = len(sizes) == len(each.shape)
            known = each.shape if fits else (0,) * len(sizes)
            shape = tuple(own if size is None else size for size, own in zip(sizes, known, strict=True))
            if fits or all(shape):
                yield from failed.with_argument(place, shaped(each, shape), 0.3 + 0.2 * step)
        if len(tensors) <= _MOST_TENSORS:
            yield from _with_other_sizes(failed, place, each, named, 0.3 * step)
    yield from _alike(failed, named)


def _with_other_sizes(
    failed: FailedCall, place: int, each: TensorArgument, named: list[int], extra: float
) -> Iterator[Edit]:
    """One tensor with another size in one dimension."""
    for turn, axis in enumerate(reversed(range(len(each.shape)))):
        meant = each.shape[axis] in named
        costs = {size: 1.0 + 0.15 * trial + 0.6 * min(turn, 1) for trial, size in enumerate(_SIZES)}
        costs |= {size + 1: 0.7 + 0.1 * turn for size in named}
        costs |= dict.fromkeys(named, (0.4 if meant else 0.6) + 0.1 * turn)
        for size, cost in costs.items():
            if size != each.shape[axis]:
                shape = (*each.shape[:axis], size, *each.shape[axis + 1 :])
                yield from failed.with_argument(place, shaped(each, shape), cost + extra)


def _alike(failed: FailedCall, named: list[int]) -> Iterator[Edit]:
    """All tensors of one shape, one that lines up with another, or all with the same last size."""
    inputs = failed.recipe.inputs
    longest = max((each.shape for each in inputs), key=len)
    yield from failed.with_tensors(lambda each: shaped(each, longest), 0.8)
    yield from failed.with_tensors(lambda each: shaped(each, (4,) * len(each.shape)), 1.0)
    for place, each in failed.tensors():
        for step, shape in enumerate(_lined_up(each.shape, [one.shape for one in inputs])):
            yield from failed.with_argument(place, shaped(each, shape), 0.6 + 0.4 * each.grad + 0.1 * step)
    if len({each.shape[-1:] for each in inputs}) == 1 and longest:
        for step, size in enumerate(dict.fromkeys((*named, *_SIZES))):
            cost = 0.5 if size in named else 1.5 + 0.2 * step
            yield from failed.with_tensors(lambda each, size=size: shaped(each, _with_last(each.shape, size)), cost)  # type: ignore[misc]


def divisible_sizes(failed: FailedCall) -> Iterator[Edit]:
    """Sizes that can be halved, in all tensors."""
    yield from failed.with_tensors(lambda each: shaped(each, default_shape(len(each.shape), even=True)), 0.35)
    yield from failed.with_tensors(lambda each: shaped(each, (4,) * len(each.shape)), 0.6)


def _lined_up(shape: _Shape, others: list[_Shape]) -> list[_Shape]:
    """Shapes of the others, or this one with its first or last sizes from one of them."""
    whole = sorted(set(others), key=len, reverse=True)
    ends = [(*each[: len(shape)], *shape[len(each) :]) for each in whole]
    ends += [(*shape[: len(shape) - len(each)], *each[-len(shape) :]) for each in whole if each and shape]
    return [each for each in dict.fromkeys((*whole, *ends)) if each != shape]


def sizes_of_tuple(failed: FailedCall) -> Iterator[Edit]:
    """A tensor with as many elements as a tuple of sizes says."""
    for _, constant in failed.constants():
        if _are_sizes(constant.value):
            for place, each in failed.tensors():
                for cost, shape in ((0.6, (math.prod(constant.value),)), (0.8, tuple(constant.value))):
                    yield from failed.with_argument(place, shaped(each, shape), cost)


def _with_last(shape: _Shape, size: int) -> _Shape:
    return (*shape[:-1], size) if shape else shape


def sizes_as_ints(failed: FailedCall) -> Iterator[Edit]:
    """Ints that are the sizes of a tensor, in order: ``B, T, C`` beside a tensor of three dimensions."""
    arguments = failed.recipe.arguments
    wholes = [place for place, each in enumerate(arguments) if isinstance(each, Constant) and type(each.value) is int]
    for step, each in enumerate(arguments):
        if isinstance(each, TensorArgument) and len(each.shape) == len(wholes) > 1:
            sizes = dict(zip(wholes, each.shape, strict=True))
            given = [Constant(one.name, sizes[place]) if place in sizes else one for place, one in enumerate(arguments)]
            yield Edit(Recipe(tuple(given)), 0.4 + 0.05 * step, each.name, failed.reason)


def square(failed: FailedCall) -> Iterator[Edit]:
    """Square matrices, positive definite ones too."""
    for place, each in failed.tensors():
        squared = replace(each, shape=default_shape(max(2, len(each.shape)), True))
        yield from failed.with_argument(place, squared, 0.4)
        yield from failed.with_argument(place, replace(squared, fill="spd"), 0.35 if squared == each else 0.45)
    yield from failed.with_tensors(lambda each: replace(each, shape=default_shape(max(2, len(each.shape)), True)), 0.6)


def shaped(each: TensorArgument, shape: _Shape) -> TensorArgument:
    """The tensor in another shape, with the fill of a square one dropped where that is not square."""
    keeps_fill = each.fill not in SQUARE_FILLS or is_square(shape)
    return replace(each, shape=shape) if keeps_fill else replace(each, shape=shape, fill="normal")


def _of_rank(each: TensorArgument, rank: int) -> TensorArgument:
    return shaped(each, default_shape(rank, each.fill in SQUARE_FILLS))


def _shapes(message: str) -> Iterator[tuple[int | None, ...]]:
    """The shapes that a message names, ``[3, 4]`` or ``(B, N, 3)``, with None for a letter."""
    for match in re.finditer(r"[(\[]([\w*+\-/ ]+(?:[,x][\w*+\-/ ]*)+)[)\]]|got \[(\d*)\]", message):
        sizes = [each.strip() for each in re.split(",|x", match[1] or match[2]) if each.strip()]
        yield tuple(int(each) if each.isdecimal() and int(each) else None for each in sizes)


def _are_sizes(value: object) -> bool:
    return isinstance(value, tuple | list) and all(type(each) is int and each > 0 for each in value)
