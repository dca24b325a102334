"""Joint shapes of the tensors of one call, the likeliest first, from ranks and relations in the evidence; and the
enumeration of combinations in order of cost.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ..source import name_hints
from ..source.evidence import ArgumentEvidence, ShapeRelations

_Shape = tuple[int, ...]
_Place = tuple[str, int]
# Default shapes by rank: small, of distinct sizes so that nothing fits by chance, none of them 1, which would hide what
# is done along it; 4 is divisible by 2 and 4.
_USUAL: dict[int, _Shape] = {
    0: (),
    1: (7,),
    2: (3, 4),
    3: (2, 3, 4),
    4: (2, 4, 6, 6),
    5: (2, 3, 2, 4, 4),
    6: (2, 3, 2, 2, 3, 3),
}
_EVEN: dict[int, _Shape] = {
    0: (),
    1: (8,),
    2: (4, 8),
    3: (2, 4, 8),
    4: (2, 4, 8, 8),
    5: (2, 2, 4, 4, 4),
    6: (2, 2, 2, 2, 4, 4),
}
_RANKS = (1, 2, 4, 3, 5)
# Most forms for one combination of kinds.
_MOST = 60


@dataclass(frozen=True)
class JointShapes:
    """One shape for each tensor, and their cost (how unlikely they are together)."""

    shapes: tuple[_Shape, ...]
    cost: float


def joint_shapes(
    known: Sequence[ArgumentEvidence], kinds: Sequence[str], relations: ShapeRelations
) -> list[JointShapes]:
    """Joint shapes for these tensors, whose kinds are given; the likeliest first."""
    found: dict[tuple[_Shape, ...], JointShapes] = {}
    for cost, ranks in _rankings(known, kinds):
        for extra, shapes in _of_ranks(known, kinds, ranks, relations):
            form = JointShapes(shapes, cost + extra)
            if form.shapes not in found or found[form.shapes].cost > form.cost:
                found[form.shapes] = form
    for form in _layer_shapes(known, kinds):
        if form.shapes not in found or found[form.shapes].cost > form.cost:
            found[form.shapes] = form
    return sorted(found.values(), key=lambda form: form.cost)[:_MOST]


def _layer_shapes(known: Sequence[ArgumentEvidence], kinds: Sequence[str]) -> Iterator[JointShapes]:
    """Shapes of the input, weight and bias of a linear layer or a convolution."""
    if len(known) not in (2, 3) or set(kinds) != {"tensor"} or not name_hints.WEIGHT_NAME.search(known[1].name):
        return
    shapes: tuple[tuple[float, tuple[_Shape, ...]], ...] = (
        (0.3, ((3, 4), (5, 4), (5,))),
        (1.2, ((2, 4, 6, 6), (3, 4, 3, 3), (3,))),
        (1.6, ((2, 4, 7), (3, 4, 3), (3,))),
    )
    for cost, form in shapes:
        if all(len(shape) in (each.ranks or [len(shape)]) for shape, each in zip(form, known, strict=False)):
            yield JointShapes(form[: len(known)], cost)


def default_shape(rank: int, square: bool = False, even: bool = False) -> _Shape:
    """The default shape of a tensor of this rank."""
    shape = (_EVEN if even else _USUAL).get(rank, (1,) * max(0, rank - 2) + (2, 3))
    return (*shape[:-2], 4, 4) if square and rank >= 2 else shape


def is_settled(known: ArgumentEvidence, rank: int, first: bool) -> bool:
    """Whether the source says that a tensor has this rank, or its name does by convention, if it is not the ``first``.

    Otherwise it is a guess.
    """
    by_name = not first and rank == 1 and bool(name_hints.CHANNEL_NAME.search(known.name.lower()))
    return rank in known.ranks or (by_name and not known.ranks)


def _possible(known: ArgumentEvidence) -> list[int]:
    """The possible ranks of a tensor, the likeliest first."""
    if known.ranks:
        return [each for each in known.ranks if each >= known.least] or known.ranks
    least = max(known.least, 2 if known.square else 0)
    first = [each for each in known.supposed if each >= least]
    if least > 1:
        first.append(least)
    if name_hints.IMAGE_NAME.search(known.name.lower()):
        first.append(4)
    return list(dict.fromkeys([*first, *(each for each in _RANKS if each >= least), *range(max(least, 1), 7)]))[:6]


def _rankings(known: Sequence[ArgumentEvidence], kinds: Sequence[str]) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Combinations of ranks: as known, otherwise that of the first tensor, then lower ones."""
    main = 0
    rank_costs = (0.0, 0.8, 1.4, 1.6, 2.6, 3.2)
    for step, rank in zip(rank_costs, _possible(known[main]), strict=False):
        options = [[(0.0, rank)]]
        for each, kind in zip(known[1:], kinds[1:], strict=True):
            options.append(list(_ranks_beside(each, kind, rank)))
        for cost, ranks in cheapest_combinations(options, 24):
            yield step + cost, ranks


def _ranks_beside(known: ArgumentEvidence, kind: str, rank: int) -> Iterator[tuple[float, int]]:
    """The possible ranks of a tensor, given the ``rank`` of the first one, with their costs."""
    if known.ranks:
        yield from ((0.5 * place, each) for place, each in enumerate(known.ranks))
        return
    name, least = known.name.lower(), max(known.least, 2 if known.square else 0)
    ranks = {0: 1.4, 1: 1.2, **{each: 0.2 * place for place, each in enumerate(known.supposed)}, rank: 0.0}
    ranks |= {each: 2.5 for each in (2, 3, 4) if each not in ranks}
    if kind == "tensor" and name_hints.CHANNEL_NAME.search(name):
        ranks |= {1: -0.1 if rank > 1 else 0.0}
    if kind == "tensor" and known.few:
        ranks |= {1: -0.2}
    if kind == "tensor" and name_hints.SCALAR_NAME.search(name):
        ranks |= {0: -0.1}
    if kind == "tensor" and rank > 1 and known.told and known.told[0] == "marginal":
        ranks |= {rank - 1: -0.1}  # of a matrix the marginals have a dimension less
    if kind == "index" and any(named.search(name) for named, _ in name_hints.PARTS_NAMES):
        ranks |= {1: -0.5}
    elif kind == "index" and rank > 1 and name_hints.INDEX_NAME.search(name):
        ranks |= {rank - 1: 0.3, 1: -0.1}
    yield from sorted((cost, each) for each, cost in ranks.items() if each >= least)


def _of_ranks(
    known: Sequence[ArgumentEvidence], kinds: Sequence[str], ranks: tuple[int, ...], relations: ShapeRelations
) -> Iterator[tuple[float, tuple[_Shape, ...]]]:
    """The joint shapes for given ranks: tied dimensions are equal, others by alignment with the first tensor."""
    rank_of = {each.name: rank for each, rank in zip(known, ranks, strict=True)}
    ties = [(_placed(one, rank_of), _placed(other, rank_of)) for one, other in relations.equal]
    tied = [(one, other) for one, other in ties if one and other]
    for one, other in relations.alike:
        if rank_of.get(one, -1) == rank_of.get(other, -2):
            tied += [((one, place), (other, place)) for place in range(rank_of[one])]
    square = {each.name for each in known if each.square or each.beside_eye or each.iterated}
    for cost, lined in _alignments(known, kinds, rank_of, tied):
        lined = [tie for tie in lined if len({relations.fixed[each] for each in tie if each in relations.fixed}) < 2]
        sizes = _sizes(rank_of, [*tied, *lined], square, relations)
        yield (
            cost,
            tuple(
                tuple(sizes[each.name, place] for place in range(rank)) for each, rank in zip(known, ranks, strict=True)
            ),
        )


def _alignments(
    known: Sequence[ArgumentEvidence], kinds: Sequence[str], rank_of: dict[str, int], tied: list[tuple[_Place, _Place]]
) -> Iterator[tuple[float, list[tuple[_Place, _Place]]]]:
    """Alignments of the dimensions of the later tensors with those of the first, with their costs."""
    first, related = known[0].name, {name for tie in tied for name, _ in tie}
    rank = rank_of[first]
    aligned: list[list[tuple[float, list[tuple[_Place, _Place]]]]] = []
    for each in known[1:]:
        count = rank_of[each.name]
        free = [(0.0, list[tuple[_Place, _Place]]())]
        same = [((each.name, place), (first, place)) for place in range(count)]
        last = [((each.name, place), (first, place + rank - count)) for place in range(count)]
        if each.few and count == 1:
            aligned.append(free)
        elif each.name in related and first in related:
            aligned.append([*free, (0.8, same)] if count == rank else free)
        elif count == rank:
            aligned.append([(0.0, same), (1.5, same[1:]), (1.6, same[:-1])] if rank > 1 else [(0.0, same), (1.8, [])])
        elif count and count < rank:
            middle = [((each.name, 0), (first, 1))] if count == 1 and rank > 2 else []
            options = [(0.0, middle)] if middle else []
            aligned.append([*options, (0.1, last), (0.3, same), (1.6, [])])
        else:
            aligned.append(
                [(0.0, last[-rank:] if rank and count > rank else []), (0.5, same[:rank])] if count > rank else free
            )
    for cost, combined in cheapest_combinations(aligned, 12):
        yield cost, [tie for ties in combined for tie in ties]


def _sizes(
    rank_of: dict[str, int], ties: list[tuple[_Place, _Place]], square: set[str], relations: ShapeRelations
) -> dict[_Place, int]:
    """A size for every dimension: equal for tied ones (union-find), otherwise distinct where possible."""
    root: dict[_Place, _Place] = {
        (name, place): (name, place) for name, rank in rank_of.items() for place in range(rank)
    }

    def top(place: _Place) -> _Place:
        while root[place] != place:
            place = root[place]
        return place

    squared = [((name, rank_of[name] - 2), (name, rank_of[name] - 1)) for name in square if rank_of.get(name, 0) >= 2]
    for one, other in (*ties, *squared):
        if one in root and other in root:
            low, high = sorted((top(one), top(other)), key=list(root).index)
            root[high] = low
    kernels = {_placed(each, rank_of) for each in relations.kernels}
    main = next(iter(rank_of))
    given: dict[_Place, int] = {}
    spare = iter((5, 6, 2, 3, 4, 5, 6, 2, 3, 4, 5, 6, 2, 3, 4, 5, 6, 7, 8, 9))
    for name, place in root:
        if top((name, place)) == (name, place):
            here = default_shape(rank_of[name], name in square)[place]
            free = here if name == main or rank_of[name] > 3 else next(spare, 2)
            given[name, place] = 3 if (name, place) in kernels else free
    for where, size in relations.least.items():
        placed = _placed(where, rank_of)
        if placed:
            given[top(placed)] = max(size, given[top(placed)])
    for name, place in root:
        count = relations.parts_of(name, place, rank_of[name])
        beside = [given[top((name, other))] for other in range(rank_of[name])]
        given[top((name, place))] = _divisible(given[top((name, place))], count, beside)
    for where in relations.picked:
        placed, size = _placed(where, rank_of), relations.exact(where)
        if placed and size:
            given[top(placed)] = size
    for where, size in relations.fixed.items():
        placed = _placed(where, rank_of)
        if placed:
            given[top(placed)] = max(1, size)
    return {place: given[top(place)] for place in root}


def _divisible(size: int, count: int, beside: Sequence[int]) -> int:
    """The size, or the next one that is divisible by a number and unlike those ``beside`` it."""
    if size % count == 0:
        return size
    return next(each for each in range(size + count - size % count, 1000, count) if each not in beside)


def _placed(place: _Place, rank_of: dict[str, int]) -> _Place | None:
    """A dimension counted from the front; None where it is out of range. A vector in a product has but one."""
    name, index = place
    rank = rank_of.get(name, 0)
    index = -1 if (index, rank) == (-2, 1) else index
    return (name, index % rank) if -rank <= index < rank else None


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
