"""What is proved of a section, once it is known that the stand-in does what tensors do."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any, get_args

import torch

from ..runtime.arrays import dtype_name
from ..runtime.section import Section
from .call import centre
from .column import Undecided
from .record import Dtype, Given, Held, Piece, Proof, Stretch, Word, merged
from .search import MOST_EFFORT, Search
from .trust import call_first, control, reached_by, refuse_what_tells, stateless

_CONTROLS = 16  # sample: of the boxes that are decided
_WIDEST_POINT = 2.0**-36  # bound: of what encloses a kink, or a jump
_MOST_OF_A_RANGE = 800  # budget: boxes where another number is held in a range, of which each takes ten times as long
_ALL = (0.0, 1.0)  # of nothing that is held in a range
_OUTSIDE = 64  # budget: boxes of each part of the line outside of the range
_WIDEST, _BESIDE = 64.0, 2.0**-16  # budget: of a range of grad_output, and how near it comes to where it changes


def searched(
    section: Section,
    surrogate: Callable[..., Any] | None,
    start: float,
    stop: float,
    grad_output: float,
    boxes: int,
    held: Held | None = None,
) -> Proof:
    """The proof, as far as so many boxes go."""
    size = abs(grad_output)
    most = min(boxes, _MOST_OF_A_RANGE) if held else boxes
    search = Search(section, surrogate, grad_output, start, stop, most, (size, size), held=held)
    try:
        with _trusted(search):
            search.run()
            found = _found(search)
            if held or found.word != "proved":
                return found
            if search.mixed and size:
                found = _of_a_range(search, found, boxes)
            return replace(found, everywhere=_is_everywhere(search, found))
    except Undecided as refused:
        nothing = ((start, stop),)
        return Proof("nothing", start, stop, reason=str(refused), undecided=nothing, boxes=search.boxes, held=held)


def _found(search: Search) -> Proof:
    rounding = torch.finfo(search.section.dtype).eps / 2 * search.largest
    large = [each for each in search.refuted if each[0] > rounding]
    if sum(off * (box[1] - box[0]) for off, box in large) <= rounding * (search.stop - search.start):
        large = []  # who runs it sees no difference that comes to less than rounding, as on a stair of a bisection
    refuted = {box for _, box in large}
    small = [box for _, box in search.refuted if box not in refuted]  # is rounding, and nobody is accused
    left = _sides([*(box for box, _ in search.todo), *search.unknown, *small])
    proved = _stretches(search.proved, search.held)
    return Proof(
        _word(bool(refuted), bool(proved), bool(left)),
        search.start,
        search.stop,
        proved=proved,
        refuted=_sides(refuted),
        witness=search.witness() if refuted else None,
        points=_sides(search.points),
        undecided=left,
        epsilon=search.epsilon,
        grad_output=_given(search),
        boxes=search.boxes,
        bits=search.bits,
        pieces=tuple(sorted(search.proved)),
        held=search.held,
    )


def _of_a_range(search: Search, found: Proof, boxes: int) -> Proof:
    """The same for all grad_output between those around this one at which a comparison changes, if that is proved."""
    size = abs(search.grad_output)
    below = [(1 + _BESIDE) * each for each in search.thresholds if each < size]
    above = [(1 - _BESIDE) * each for each in search.thresholds if each > size]
    low, high = max([size / _WIDEST, *below]), min([size * _WIDEST, *above])
    if not low < size < high:
        return found
    ranged = Search(search.section, search.surrogate, search.grad_output, search.start, search.stop, boxes, (low, high))
    try:
        ranged.run()
    except Undecided:
        return found
    wide = _found(ranged)
    given = (low, high) if search.grad_output > 0 else (-high, -low)
    same = (wide.word, wide.refuted) == (found.word, found.refuted) and wide.share >= found.share
    return replace(wide, grad_output="range", given=given, boxes=found.boxes + wide.boxes) if same else found


def _is_everywhere(search: Search, found: Proof) -> bool:
    """Whether the same is proved outside of the range as well, to the ends of the line, with no further point."""
    reach = max(abs(search.start), abs(search.stop), 1.0)
    nearest = math.nextafter(1 / reach, math.inf)  # so that rounding leaves no gap
    outside = [(1, 0.0, nearest), (-1, 0.0, nearest), (0, -reach, search.start), (0, search.stop, reach)]
    for end, start, stop in outside:
        if search.mixed or not start < stop:
            continue
        part = Search(search.section, search.surrogate, search.grad_output, start, stop, _OUTSIDE, search.sizes, end)
        try:
            part.run()
            _control(part)
        except Undecided:
            return False
        same = part.epsilon <= found.epsilon and not part.mixed and part.signed <= search.signed
        if not (same and part.is_complete):
            return False
    return not search.mixed


def confirmed(proof: Proof, section: Section, surrogate: Callable[..., Any] | None, grad_output: float) -> str:
    """What does not hold of a proof, in a sentence: empty where all of it does."""
    if proof.word not in ("proved", "refuted", "in part") or not proof.stop > proof.start:
        return "it says nothing that could be checked"
    if _stretches(proof.pieces, proof.held) != proof.proved or not all(
        0 <= each[2] < MOST_EFFORT for each in proof.pieces
    ):
        return "its boxes are not what it says is proved"
    if not _is_covered(proof):
        return "it leaves out a part of the range"
    if not _is_inside(proof):
        return "what refutes it lies elsewhere"
    low, high = proof.given or (grad_output, grad_output)
    if not (low <= grad_output <= high and low * high > 0):
        return "it holds for another grad_output"
    sizes = min(abs(low), abs(high)), max(abs(low), abs(high))
    search = Search(section, surrogate, grad_output, proof.start, proof.stop, 0, sizes, held=proof.held)
    try:
        with _trusted(search):
            held = search.confirm(proof.pieces)
            one = proof.witness
            known = search.compare((one.start, one.stop), one.at) if one else None
            everywhere = not proof.everywhere or _is_everywhere(search, proof)
    except Undecided as refused:
        return f"it cannot be proved here: {refused}"
    if not held or search.epsilon > proof.epsilon:
        return "a box is not as it says"
    if proof.grad_output not in ("this", "range" if proof.given else "", _given(search)):
        return "it holds for this grad_output alone"
    if not everywhere:
        return "it does not hold outside of the range"
    told = known is not None and not known.backward.overlaps(known.slope)
    return "backward and the slope do not differ where it says" if bool(proof.refuted) != told else ""


@contextmanager
def _trusted(search: Search) -> Iterator[None]:
    """Refuse what is not enclosed, what could tell a proof from a call, and what then is other than tensors say."""
    section, surrogate = search.section, search.surrogate
    if (
        section.sweeps_parameter
        or section.also
        or section.order != 1
        or dtype_name(section.dtype) not in get_args(Dtype)
    ):
        raise Undecided(
            f"only what is swept in {' or '.join(get_args(Dtype))}, in one element of an input, is enclosed"
        )
    functions, objects = reached_by(section, surrogate)
    refuse_what_tells(functions)
    call_first(section, _curve(search), search.grad_output, centre((search.start, search.stop)))
    with stateless(functions, objects, section):
        yield
        search.repeat()
        _control(search)


def _curve(search: Search) -> Section:
    return search.section if search.surrogate is None else replace(search.section, call=search.surrogate)


def _control(search: Search) -> None:
    known = search.middles[:: 1 + len(search.middles) // _CONTROLS]
    for at in {each[3] for each in known}:
        held = (search.section, _curve(search))
        if search.held and at is not None:
            held = (search.held.at(held[0], at), search.held.at(held[1], at))
        control(*held, search.grad_output, [each[:3] for each in known if each[3] == at])


def _sides(boxes: Iterable[Sequence[float]]) -> tuple[Stretch, ...]:
    """Where the swept number is in some of the boxes."""
    return tuple(merged((each[0], each[1]) for each in boxes))


def _stretches(pieces: Sequence[Piece], held: Held | None) -> tuple[Stretch, ...]:
    """Where the swept number is in the boxes, if they have all that another is held at."""
    edges = sorted({end for each in pieces for end in each[:2]})
    parts: list[list[Stretch]] = [[] for _ in edges]
    for start, stop, _, *part in pieces:
        for place in range(bisect_left(edges, start), bisect_left(edges, stop)):
            parts[place].append((part[0], part[1]) if part else _ALL)
    whole = [(held.low, held.high) if held else _ALL]
    return _sides(each for each, some in zip(pairwise(edges), parts, strict=False) if merged(some) == whole)


def _is_covered(proof: Proof) -> bool:
    """Whether the parts of a proof are all of its range, and no kink is wider than one is."""
    parts = merged((*proof.proved, *proof.refuted, *proof.points, *proof.undecided))
    narrow = all(stop - start <= _WIDEST_POINT * max(1, abs(start)) for start, stop in proof.points)
    whole = proof.word != "proved" or not proof.undecided
    return parts == [(proof.start, proof.stop)] and narrow and whole


def _is_inside(proof: Proof) -> bool:
    """Whether the box that refutes it is in its range, and in that of what is held."""
    one, held = proof.witness, proof.held
    if one is None:
        return True
    at = one.at is None if held is None else one.at is not None and held.low <= one.at <= held.high
    return at and proof.start <= one.start < one.stop <= proof.stop


def _word(refuted: bool, proved: bool, undecided: bool) -> Word:
    if refuted:
        return "refuted"
    return "proved" if not undecided else "in part" if proved else "nothing"


def _given(search: Search) -> Given:
    """Of a backward that is proportional to grad_output, one of them says all with its sign."""
    if search.mixed or not search.grad_output:
        return "this"
    if not search.signed:
        return "every"
    return "every positive" if search.grad_output > 0 else "every negative"
