"""The names of the elements of a tensor, by their place in it."""

from __future__ import annotations

import math
from collections.abc import Iterable


def named(tensor: str, shape: Iterable[int], places: Iterable[float]) -> list[str]:
    """``x[1,2]`` for every flat place, in row-major order; the name alone for a single number."""
    sizes = list(shape)
    if math.prod(sizes) == 1:
        return [tensor for _ in places]
    return [f"{tensor}[{','.join(map(str, _index(int(place), sizes)))}]" for place in places]


def _index(place: int, sizes: list[int]) -> list[int]:
    index = []
    for size in reversed(sizes):
        place, last = divmod(place, size)
        index.append(last)
    return index[::-1]
