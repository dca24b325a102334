"""Repairs of shapes: ranks and sizes that an error message asks for."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace

from ..recipe.recipe import Constant, Recipe, TensorArgument
from .failed_call import FailedCall, Repair
from .shapes import default_shape

_Match = re.Match[str]
# With more tensors than this, sizes are not tried one by one.
_MOST_TENSORS = 5


def other_sizes(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    """Other sizes of the last, first and second to last dimension of every tensor to blame."""
    tensors = broken.tensors(False)
    if len(tensors) > _MOST_TENSORS:
        return
    for step, (place, each) in enumerate(reversed(tensors)):
        last = len(each.shape) - 1
        for axis, at in enumerate(dict.fromkeys((last, 0, max(0, last - 1))) if each.shape else ()):
            for trial, size in enumerate(_SIZES_TO_TRY):
                if size != each.shape[at]:
                    shape = (*each.shape[:at], size, *each.shape[at + 1 :])
                    yield from broken.with_argument(
                        place, _shaped(each, shape), 1.0 + 0.15 * trial + 0.3 * step + 0.6 * axis
                    )


def shape_in_message(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    """A shape written in the user's own error message: ``(B, N)``, ``(B, 1, T)``, ``[N, 3]``."""
    quoted = re.findall(r"['`\"](\w+)['`\"]", match.string)
    for text in re.findall(r"[(\[]([\w*+\-/ ]+(?:,[\w*+\-/ ]*)+)[)\]]", match.string):
        sizes = [each.strip() for each in text.split(",") if each.strip()]
        for place, each in broken.tensors(False):
            if quoted and each.name not in quoted and any(other.name in quoted for _, other in broken.tensors(False)):
                continue
            if len(each.shape) != len(sizes):
                continue
            shape = tuple(int(size) if size.isdecimal() else own for size, own in zip(sizes, each.shape, strict=True))
            yield from broken.with_argument(place, _shaped(each, shape), 0.3)
        yield from _of_rank(broken, len(sizes))


def number_in_message(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    """A number that the message asks for, as the size of a dimension or the value of an int."""
    wanted = int(match[1])
    if not 0 < wanted <= _MAX_SIZE:
        return
    for step, (place, each) in enumerate(broken.tensors(False)):
        for at in reversed(range(len(each.shape))):
            shape = (*each.shape[:at], wanted, *each.shape[at + 1 :])
            if shape != each.shape:
                yield from broken.with_argument(
                    place, _shaped(each, shape), 0.5 + 0.2 * step + 0.2 * (at + 1 < len(shape))
                )
    for place, constant in broken.constants():
        if type(constant.value) is int and constant.value != wanted:
            yield from broken.with_argument(place, Constant(constant.name, wanted), 0.5)


def sizes_as_ints(broken: FailedCall) -> Iterator[Repair]:
    """Ints that are the sizes of a tensor, in order: ``B, T, C`` beside a tensor of three dimensions."""
    arguments = broken.recipe.arguments
    wholes = [place for place, each in enumerate(arguments) if isinstance(each, Constant) and type(each.value) is int]
    for step, each in enumerate(arguments):
        if isinstance(each, TensorArgument) and len(each.shape) == len(wholes) > 1:
            sizes = dict(zip(wholes, each.shape, strict=True))
            given = [Constant(one.name, sizes[place]) if place in sizes else one for place, one in enumerate(arguments)]
            yield Repair(Recipe(tuple(given)), 0.4 + 0.05 * step, each.name, broken.reason)


def size_from_tuple(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    """A tensor with as many elements as a tuple of sizes says."""
    sizes = [each for each in broken.recipe.arguments if isinstance(each, Constant) and _are_sizes(each.value)]
    for each in sizes[:1]:
        for place, tensor in enumerate(broken.recipe.arguments):
            if isinstance(tensor, TensorArgument) and tensor.floating:
                yield from broken.with_argument(place, _shaped(tensor, (math.prod(each.value),)), 0.6)
                yield from broken.with_argument(place, _shaped(tensor, tuple(each.value)), 0.8)


def _are_sizes(value: object) -> bool:
    return isinstance(value, tuple | list) and all(type(each) is int and each > 0 for each in value)


def _shaped(each: TensorArgument, shape: tuple[int, ...]) -> TensorArgument:
    return replace(each, shape=shape, fill="normal" if each.fill == "spd" else each.fill)


# No larger int is taken from a message.
_MAX_SIZE = 100
# Sizes to try for a dimension where the usual one is wrong.
_SIZES_TO_TRY = (3, 2, 4, 6, 8, 5, 7, 9, 1)


def _of_rank(broken: FailedCall, rank: int) -> Iterator[Repair]:
    """Each tensor to blame, and all together, with this number of dimensions."""
    if not 0 <= rank <= 6:
        return
    wrong = [(place, each) for place, each in broken.tensors(False) if len(each.shape) != rank]
    for step, (place, each) in enumerate(wrong):
        yield from broken.with_argument(place, _with(each, default_shape(rank, each.fill == "spd")), 0.3 + 0.4 * step)
    if len(wrong) > 1 or (len(broken.recipe.inputs) > 1 and wrong):
        yield from broken.with_tensors(lambda each: _with(each, default_shape(rank, each.fill == "spd")), 0.5)


def unpacked_rank(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    """As many dimensions, or elements of a sequence, as are unpacked by the source."""
    count = int(match[1])
    yield from _of_rank(broken, count)
    for place, each in broken.constants():
        fill = each.value if isinstance(each.value, int | float) and not isinstance(each.value, bool) else 1
        yield from broken.with_argument(place, Constant(each.name, (fill,) * count), 0.4)


def one_more_dimension(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    for place, each in broken.tensors(False):
        if len(each.shape) < 5:
            yield from broken.with_argument(place, _with(each, default_shape(len(each.shape) + 1)), 0.4)
    if len(broken.recipe.inputs) > 1 and max(len(each.shape) for each in broken.recipe.inputs) < 5:
        yield from broken.with_tensors(lambda each: _with(each, default_shape(len(each.shape) + 1)), 0.5)


def rank_for_dim(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    """Enough dimensions for the ``dim`` that is out of range, or a ``dim`` within range."""
    low, high, got = int(match[1]), int(match[2]), int(match[3])
    yield from _of_rank(broken, got + 1 if got > high else -got)
    for place, each in broken.constants():
        if each.value == got:
            yield from broken.with_argument(place, Constant(each.name, low if got < low else high), 0.4)


def named_rank(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    """As many dimensions as the message says: 4D, 2-dimensional, a matrix."""
    ranks = [int(each) for each in re.findall(r"(\d)(?=-?\s?[Dd]\b|-dim| dim)", match.string)]
    words = {"matrix": 2, "matrices": 2, "vector": 1}
    ranks += [rank for word, rank in words.items() if re.search(rf"\b{word}\b", match.string)]
    for step, rank in enumerate(dict.fromkeys(ranks)):
        for repair in _of_rank(broken, rank):
            yield replace(repair, cost=repair.cost + 0.3 * step)


def square_matrices(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    """Square matrices, then positive definite ones."""
    for place, each in broken.tensors():
        shape = default_shape(max(2, len(each.shape)), True)
        yield from broken.with_argument(place, replace(each, shape=shape), 0.4)
        yield from broken.with_argument(place, replace(each, shape=shape, fill="spd"), 0.45)
    yield from broken.with_tensors(lambda each: replace(each, shape=default_shape(max(2, len(each.shape)), True)), 0.6)


def definite_matrices(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    for place, each in broken.tensors():
        if len(each.shape) >= 2 and each.shape[-1] == each.shape[-2]:
            yield from broken.with_argument(place, replace(each, fill="spd"), 0.3)
    yield from square_matrices(broken, match)


def matrix_product_sizes(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    """Matching inner sizes of a matrix product, changed on either side."""
    rows, one, other, columns = (int(each) for each in match.groups())
    pairs = [((other, columns), (one, columns)), ((columns, other), (columns, one))]
    pairs += [((rows, one), (rows, other)), ((one, rows), (other, rows))]
    for step, (place, each) in enumerate(reversed(broken.tensors())):
        for old, new in pairs:
            if each.shape[-2:] == old:
                yield from broken.with_argument(place, _with(each, (*each.shape[:-2], *new)), 0.3 + 0.3 * step)
        if each.shape[-1:] == (one,) and len(each.shape) != 2:
            yield from broken.with_argument(place, _with(each, (*each.shape[:-1], other)), 0.5 + 0.3 * step)
    yield from broken.with_tensors(lambda each: _with(each, (4,) * len(each.shape)), 1.0)
    yield from _other_last_sizes(broken)


def equal_sizes(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    """Two sizes that should be equal."""
    one, other = int(match[1]), int(match[2])
    for step, (place, each) in enumerate(reversed(broken.tensors(False))):
        for old, new in ((one, other), (other, one)):
            if old in each.shape and new:
                shape = tuple(new if size == old else size for size in each.shape)
                yield from broken.with_argument(place, _with(each, shape), 0.4 + 0.3 * step)
    if len(broken.recipe.inputs) > 1:
        longest = max((each.shape for each in broken.recipe.inputs), key=len)
        yield from broken.with_tensors(lambda each: _with(each, longest), 0.8)
    for place, constant in broken.constants():
        if type(constant.value) is int:
            yield from broken.with_values(place, tuple(each for each in (one, other) if each < _MAX_SIZE), 0.6, 0.0)
    yield from _other_last_sizes(broken)


def last_dimension(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    """A last dimension of the size that the message asks for."""
    wanted = int(match[1])
    for place, each in broken.tensors(False):
        if each.shape and each.shape[-1] != wanted and 0 < wanted < 20:
            yield from broken.with_argument(place, _with(each, (*each.shape[:-1], wanted)), 0.4)
    if 0 < wanted < 20:
        yield from broken.with_tensors(
            lambda each: _with(each, (*each.shape[:-1], wanted)) if each.shape else each, 0.5
        )
    yield from _other_last_sizes(broken)


def size_for_index(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    """A dimension large enough for an index that is out of bounds."""
    index, place, size = int(match[1]), int(match[2]), int(match[3])
    for argument, each in broken.tensors(False):
        for at in dict.fromkeys((place, len(each.shape) - 1)):
            if 0 <= at < len(each.shape) and each.shape[at] == size and 0 <= index < 20:
                shape = (*each.shape[:at], index + 1, *each.shape[at + 1 :])
                yield from broken.with_argument(argument, _with(each, shape), 0.4)
    yield from _other_last_sizes(broken)


def _other_last_sizes(broken: FailedCall) -> Iterator[Repair]:
    """Other sizes of the last dimension, where it is the same in all tensors."""
    shapes = {each.shape[-1:] for each in broken.recipe.inputs}
    if len(shapes) == 1 and shapes != {()}:
        for step, wanted in enumerate(_SIZES_TO_TRY):
            cost = 1.5 + 0.2 * step
            yield from broken.with_tensors(lambda each, size=wanted: _with(each, (*each.shape[:-1], size)), cost)  # type: ignore[misc]


def shape_of_gradient(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    """The shape of the gradient that backward returned."""
    place, shape = int(match[1]), tuple(int(each) for each in re.findall(r"\d+", match[2]))
    each = broken.recipe.arguments[place] if place < len(broken.recipe.arguments) else None
    if isinstance(each, TensorArgument) and 0 not in shape:
        yield from broken.with_argument(place, _with(each, shape), 0.5 + 0.6 * (1 in shape))
    # A tensor without grad that only backward reads may need the shape of another one.
    shapes = {one.shape for one in broken.recipe.inputs}
    for held, one in enumerate(broken.recipe.arguments):
        if isinstance(one, TensorArgument) and one.floating and not one.grad:
            for wanted in sorted(shapes - {one.shape}, key=len, reverse=True):
                alike = broken.recipe.with_argument(held, _with(one, wanted))
                yield Repair(alike, 0.6, one.name, "its shape is that of another")


def divisible_sizes(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    """Divisible sizes: powers of two."""
    yield from broken.with_tensors(lambda each: _with(each, default_shape(len(each.shape), even=True)), 0.4)
    yield from broken.with_tensors(lambda each: _with(each, (4,) * len(each.shape)), 0.6)
    for place, constant in broken.constants():
        if type(constant.value) is int:
            yield from broken.with_values(place, (1, 2, 4), 0.6)


def _with(each: TensorArgument, shape: tuple[int, ...]) -> TensorArgument:
    """The tensor in another shape, with the fill ``spd`` dropped where that is not square."""
    keeps_fill = each.fill != "spd" or (len(shape) >= 2 and shape[-1] == shape[-2])
    return replace(each, shape=shape) if keeps_fill else replace(each, shape=shape, fill="normal")
