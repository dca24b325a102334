"""Best-first enumeration: combinations of options in order of total cost, with a heap."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import TypeVar

_T = TypeVar("_T")


def cheapest_combinations(
    options: Sequence[Sequence[tuple[float, _T]]], most: int
) -> Iterator[tuple[float, tuple[_T, ...]]]:
    """The first ``most`` combinations of one option from each list, ordered by total cost; an option is (cost, value).

    Nothing if one of the lists is empty.
    """
    ordered = [sorted(each, key=lambda option: option[0]) for each in options]
    if not all(ordered):
        return
    start = (0,) * len(ordered)
    heap, seen = [(sum(each[0][0] for each in ordered), start)], {start}
    for _ in range(most):
        if not heap:
            return
        cost, places = heapq.heappop(heap)
        yield cost, tuple(each[place][1] for each, place in zip(ordered, places, strict=True))
        for index, place in enumerate(places):
            following = (*places[:index], place + 1, *places[index + 1 :])
            if place + 1 < len(ordered[index]) and following not in seen:
                seen.add(following)
                dearer = ordered[index][place + 1][0] - ordered[index][place][0]
                heapq.heappush(heap, (cost + dearer, following))
