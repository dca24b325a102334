"""Repairs of sizes by trial: one dimension after another made longer or shorter, where an error names none."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace

from ..recipe.recipe import Constant, Recipe, TensorArgument
from .broken import Broken, Repair
from .shape_repairs import LARGEST, LENGTHS, of_rank

Match = re.Match[str]
# Of more tensors than these not all sizes are tried.
MOST_TENSORS = 5


def resized(broken: Broken, match: Match) -> Iterator[Repair]:
    """Every tensor to blame with another last dimension; then with another first one, and last but one."""
    tensors = broken.tensors(False)
    if len(tensors) > MOST_TENSORS:
        return
    for step, (place, each) in enumerate(reversed(tensors)):
        last = len(each.shape) - 1
        for turn, at in enumerate(dict.fromkeys((last, 0, max(0, last - 1))) if each.shape else ()):
            for more, size in enumerate(LENGTHS):
                if size != each.shape[at]:
                    shape = (*each.shape[:at], size, *each.shape[at + 1 :])
                    yield from broken.changed(place, _shaped(each, shape), 1.0 + 0.15 * more + 0.3 * step + 0.6 * turn)


def written(broken: Broken, match: Match) -> Iterator[Repair]:
    """A shape as the user's own error writes it: ``(B, N)``, ``(B, 1, T)``, ``[N, 3]``."""
    quoted = re.findall(r"['`\"](\w+)['`\"]", match.string)
    for text in re.findall(r"[(\[]([\w*+\-/ ]+(?:,[\w*+\-/ ]*)+)[)\]]", match.string):
        sizes = [each.strip() for each in text.split(",") if each.strip()]
        for place, each in broken.tensors(False):
            if quoted and each.name not in quoted and any(other.name in quoted for _, other in broken.tensors(False)):
                continue
            if len(each.shape) != len(sizes):
                continue
            shape = tuple(int(size) if size.isdecimal() else own for size, own in zip(sizes, each.shape, strict=True))
            yield from broken.changed(place, _shaped(each, shape), 0.3)
        yield from of_rank(broken, len(sizes))


def demanded(broken: Broken, match: Match) -> Iterator[Repair]:
    """A number that the error asks for, as the size of a dimension or as the value of a whole number."""
    wanted = int(match[1])
    if not 0 < wanted <= LARGEST:
        return
    for step, (place, each) in enumerate(broken.tensors(False)):
        for at in reversed(range(len(each.shape))):
            shape = (*each.shape[:at], wanted, *each.shape[at + 1 :])
            if shape != each.shape:
                yield from broken.changed(place, _shaped(each, shape), 0.5 + 0.2 * step + 0.2 * (at + 1 < len(shape)))
    for place, constant in broken.constants():
        if type(constant.value) is int and constant.value != wanted:
            yield from broken.changed(place, Constant(constant.name, wanted), 0.5)


def counted(broken: Broken) -> Iterator[Repair]:
    """Whole numbers that are the sizes of a tensor, in their order: ``B, T, C`` beside one of three dimensions."""
    arguments = broken.recipe.arguments
    wholes = [place for place, each in enumerate(arguments) if isinstance(each, Constant) and type(each.value) is int]
    for step, each in enumerate(arguments):
        if isinstance(each, TensorArgument) and len(each.shape) == len(wholes) > 1:
            sizes = dict(zip(wholes, each.shape, strict=True))
            given = [Constant(one.name, sizes[place]) if place in sizes else one for place, one in enumerate(arguments)]
            yield Repair(Recipe(tuple(given)), 0.4 + 0.05 * step, each.name, broken.otherwise)


def spread(broken: Broken, match: Match) -> Iterator[Repair]:
    """A tuple of sizes that together have as many elements as a tensor."""
    sizes = [each for each in broken.recipe.arguments if isinstance(each, Constant) and _sizes(each.value)]
    for each in sizes[:1]:
        for place, tensor in enumerate(broken.recipe.arguments):
            if isinstance(tensor, TensorArgument) and tensor.floating:
                yield from broken.changed(place, _shaped(tensor, (math.prod(each.value),)), 0.6)
                yield from broken.changed(place, _shaped(tensor, tuple(each.value)), 0.8)


def _sizes(value: object) -> bool:
    return isinstance(value, tuple | list) and all(type(each) is int and each > 0 for each in value)


def _shaped(each: TensorArgument, shape: tuple[int, ...]) -> TensorArgument:
    return replace(each, shape=shape, fill="normal" if each.fill == "spd" else each.fill)
