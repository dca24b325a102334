"""Layered layout of a small directed acyclic graph (Sugiyama): assigns layers, then sorts rows for few crossings."""

from collections.abc import Sequence

Point = tuple[int, float]  # layer, and the row in it, 0 in the middle
_SWEEPS = 4


def sugiyama_layout(
    count: int, edges: Sequence[tuple[int, int]], last: Sequence[int] = ()
) -> tuple[list[Point], list[list[Point]]]:
    """The position of each of ``count`` vertices, and for each edge the points at which it crosses the layers between.

    A source is placed in the layer just before its first successor; ``last`` are placed in the last layer. Rows are
    sorted by the mean row of the neighbours (barycentre heuristic), in sweeps to and fro. ``edges`` must be acyclic.
    Source: Sugiyama, Tagawa and Toda, “Methods for visual understanding of hierarchical system structures”, 1981.
    """
    layer = _layers(count, edges, last)
    ends, passed = list(edges), list[list[int]]()
    links: list[tuple[int, int]] = []
    for source, target in ends:
        chain = [source]
        for between in range(layer[source] + 1, layer[target]):
            layer.append(between)
            chain.append(len(layer) - 1)
        passed.append(chain[1:])
        links += list(zip(chain, [*chain[1:], target], strict=True))
    rows = _rows(layer, links)
    points = [(layer[i], rows[i]) for i in range(len(layer))]
    return points[:count], [[points[i] for i in chain] for chain in passed]


def _layers(count: int, edges: Sequence[tuple[int, int]], last: Sequence[int]) -> list[int]:
    layer = [0] * count
    for _ in range(count):
        moved = [(b, layer[a] + 1) for a, b in edges if layer[b] <= layer[a]]
        if not moved:
            break
        for target, least in moved:
            layer[target] = max(layer[target], least)
    sources = {b for _, b in edges}
    for vertex in range(count):
        after = [layer[b] for a, b in edges if a == vertex]
        if vertex not in sources and after and vertex not in last:
            layer[vertex] = min(after) - 1
    for vertex in last:
        layer[vertex] = max(layer)
    return layer


def _rows(layer: Sequence[int], links: Sequence[tuple[int, int]]) -> list[float]:
    order = [[i for i, each in enumerate(layer) if each == level] for level in range(max(layer, default=0) + 1)]
    rows = [0.0] * len(layer)
    _number(order, rows)
    before, after = [list[int]() for _ in layer], [list[int]() for _ in layer]
    for source, target in links:
        before[target].append(source)
        after[source].append(target)
    for sweep in range(_SWEEPS):
        neighbours = before if sweep % 2 == 0 else after
        for level in order if sweep % 2 == 0 else order[::-1]:
            level.sort(key=lambda i: (_mean(rows, neighbours[i], rows[i]), rows[i]))
            _number([level], rows)
    return rows


def _number(order: Sequence[Sequence[int]], rows: list[float]) -> None:
    for level in order:
        for place, vertex in enumerate(level):
            rows[vertex] = place - (len(level) - 1) / 2


def _mean(rows: Sequence[float], some: Sequence[int], otherwise: float) -> float:
    return sum(rows[i] for i in some) / len(some) if some else otherwise
