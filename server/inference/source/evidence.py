"""Evidence on one argument: weights of the kinds it may be, ranks, sizes and bounds; and relations between shapes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

from ..recipe.recipe import Fill
from .torch_signatures import is_misspelled

# A size that is divisible by more than this is not looked for.
_MOST_PARTS = 16


@dataclass
class ArgumentEvidence:
    """The evidence about one argument, collected by a reader of its Function's source.

    Kind: ``weights`` is the weight of each kind (tensor, index, mask, number, whole, dim, flag, text, sequence,
    callable, dtype, device, object, nothing), ``reasons`` the strongest reason for it, in words that follow "because";
    ``typed`` says that the source tests its type, ``saved`` that it is saved for backward, ``differentiable`` that
    backward returns a gradient for it (None if unknown), ``used`` names the methods that use it.

    Shape of a tensor: ``ranks`` are known and ``supposed`` possible ranks, ``least`` is a lower bound, ``rank_reason``
    the reason; ``square`` sizes, likely ``beside_eye``, an identity of its size; ``few`` says that its elements are
    indexed one by one.

    Values: ``strings`` and ``numbers`` are those it is compared with, ``low`` and ``high`` are bounds; ``share`` says
    that it is a fraction of a size, ``step`` that it is the step of a quantiser, ``divides`` that it divides alone,
    ``switch`` that one of its elements is 0 or 1, ``repeats`` that forward does the same so many times, ``once`` that
    its indices are a permutation, ``dtype`` what the source asks for, ``complex`` why it holds complex numbers,
    ``iterated`` the values with which the loop converges that it is multiplied in, ``binary`` and ``signs`` quote what
    says that a label is 0 or 1, or -1 or 1; ``below`` is the bound of its indices, ``given`` what a call in a file
    passes, and where, ``told`` the fill of the values that are said, and the words.

    Other objects: ``length`` is the number of items unpacked from it, ``arity`` the number of arguments it is called
    with, ``members`` are attributes read from it that no tensor has, ``methods`` those called, ``keys`` strings it is
    indexed with.
    """

    name: str
    weights: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, tuple[float, str]] = field(default_factory=dict)
    strings: list[str] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)
    supposed: list[int] = field(default_factory=list)
    least: int = 0
    rank_reason: str = ""
    length: int = 0
    square: bool = False
    beside_eye: bool = False
    differentiable: bool | None = None
    members: list[str] = field(default_factory=list)
    methods: set[str] = field(default_factory=set)
    keys: list[str] = field(default_factory=list)
    typed: bool = False
    numbers: list[int] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    arity: int = 1
    once: bool = False
    dtype: str = ""
    saved: bool = False
    few: bool = False
    share: bool = False
    step: bool = False
    switch: bool = False
    repeats: bool = False
    divides: bool = False
    iterated: Literal["", "spd", "stable"] = ""
    binary: str = ""
    signs: str = ""
    complex: str = ""
    low: float | None = None
    high: float | None = None
    below: int = 0
    given: tuple[Any, str] | None = None
    told: tuple[Fill, str] | None = None

    @property
    def foreign(self) -> list[str]:
        """The attributes read from it that are neither those of a tensor nor, if it is one, misspellings of one."""
        tensor = self.weight("tensor") > 0
        return [each for each in dict.fromkeys(self.members) if not (tensor and is_misspelled(each))]

    def supports(self, kind: str, weight: float, reason: str) -> None:
        """Add weight to a kind."""
        self.weights[kind] = self.weight(kind) + weight
        if weight > self.reasons.get(kind, (0.0, ""))[0]:
            self.reasons[kind] = (weight, reason)

    def weight(self, kind: str) -> float:
        return self.weights.get(kind, 0.0)

    def why(self, kind: str) -> str:
        """The strongest reason for a kind; "" if there is none."""
        return self.reasons.get(kind, (0.0, ""))[1]

    def bounded_by(self, low: float | None, high: float | None) -> None:
        """Note bounds of its values; of several the narrowest hold."""
        if low is not None:
            self.low = low if self.low is None else max(low, self.low)
        if high is not None:
            self.high = high if self.high is None else min(high, self.high)

    def has_rank(self, rank: int, reason: str, sure: bool = True) -> None:
        """Note its number of dimensions; or, if that is not ``sure``, a possible one."""
        found = self.ranks if sure else self.supposed
        if rank not in found and 0 <= rank <= 6:
            found.append(rank)
            self.rank_reason = self.rank_reason or reason

    def at_least(self, rank: int, reason: str) -> None:
        """Note a lower bound on its number of dimensions."""
        if self.least < rank <= 6:
            self.least = rank
            if rank > 1:
                self.rank_reason = reason


@dataclass
class ShapeRelations:
    """Relations between the shapes of several tensors: dimensions of equal, fixed or least size.

    A dimension is (argument name, index), negative from the end. ``equal`` are pairs of dimensions of the same size,
    each with the reason, ``alike`` pairs of arguments of the same shape, ``kernels`` the spatial dimensions of
    convolution weights; ``fixed`` and ``least`` are sizes and lower bounds. ``picked`` are the indices read, None for a
    variable one. ``parts`` are numbers that a size is divisible by; of no argument, "", they hold for all.
    ``identities`` are the sizes of matrices that are made as written, such as 3 of ``torch.eye(3)``.
    """

    equal: dict[tuple[tuple[str, int], tuple[str, int]], str] = field(default_factory=dict)
    kernels: list[tuple[str, int]] = field(default_factory=list)
    fixed: dict[tuple[str, int], int] = field(default_factory=dict)
    least: dict[tuple[str, int], int] = field(default_factory=dict)
    alike: list[tuple[str, str]] = field(default_factory=list)
    picked: dict[tuple[str, int], set[int | None]] = field(default_factory=dict)
    parts: dict[tuple[str, int], int] = field(default_factory=dict)
    identities: set[int] = field(default_factory=set)

    def exact(self, place: tuple[str, int]) -> int:
        """The size of a dimension whose elements 0, 1, ... are all indexed one by one; 0 unless it is."""
        found = self.picked.get(place, set())
        return len(found) if len(found) > 1 and found == set(range(len(found))) else 0

    def reach(self, place: tuple[str, int], size: int) -> None:
        """Note a lower bound on the size of a dimension."""
        self.least[place] = max(size, self.least.get(place, 0))

    def divide(self, place: tuple[str, int], count: int) -> None:
        """Note that a dimension is taken apart into a number of equal parts."""
        if 1 < count <= _MOST_PARTS:
            self.parts[place] = math.lcm(count, self.parts.get(place, 1))

    def parts_of(self, name: str, place: int, rank: int) -> int:
        """What the size of a dimension of a tensor is divisible by."""
        places = ((each, index) for each in (name, "") for index in (place, place - rank))
        return math.lcm(*(self.parts.get(each, 1) for each in places))

    def tie(self, one: tuple[str, int], other: tuple[str, int], reason: str) -> None:
        """Note that two dimensions have the same size, and what says so, in words that follow "because"."""
        if one != other:
            self.equal.setdefault((one, other), reason)

    def reason_for(self, name: str) -> str:
        """Why a dimension of a tensor has the size of one of another tensor; "" where nothing says so."""
        found = ((one, other, why) for (one, other), why in self.equal.items() if name in (one[0], other[0]))
        for (one, _), (other, _), why in found:
            if one != other:
                return f"it shares a size with {other if one == name else one}, as {why}"
        return ""
