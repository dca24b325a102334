"""Priority queue of recipes to try, the likeliest first; those with parts that failed before are postponed."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import torch

from ..recipe.recipe import INTEGERS, Constant, Fill, Recipe, TensorArgument, is_square, literal
from ..source import name_hints
from ..source.collect import CollectedEvidence
from ..source.signature import LEFT_OUT, NO_DEFAULT
from .blame import Blame
from .choices import (
    Choice,
    choices,
    constant,
    fill_from_evidence,
    fill_from_name,
    fill_told,
    fill_within_bounds,
    is_writable,
)
from .shapes import JointShapes, cheapest_combinations, joint_shapes

# Extra cost of a recipe that contains a combination that has failed before.
REPEAT_COST = 3.0
_MOST_COMBINATIONS = 400
# Most elements of a tensor of a recipe.
_MAX_ELEMENTS = 4096
_Part = tuple[int, str]
_DTYPES = {"index": "int64", "mask": "bool"}


@dataclass(frozen=True)
class RecipeStep:
    """A recipe to try, its cost (how unlikely it is), and the reason for each argument.

    An edit has how far the recipe that it mends came, ``reached``, and what it costs, ``edit_cost``.
    """

    cost: float
    recipe: Recipe
    because: dict[str, str] = field(default_factory=dict)
    reached: tuple[int, ...] = ()
    edit_cost: float = 0.0

    def cost_before_edit(self, reached: tuple[int, ...]) -> float:
        """Its cost, without that of the last edit if that one came further."""
        return self.cost - self.edit_cost * (reached > self.reached)


@dataclass(frozen=True)
class _Row:
    """A combination of choices with the ``shapes`` it is still to be tried in, the likeliest first.

    ``tensor_places`` are the positions of its tensors, ``postponed`` says that a part of it has failed before.
    """

    base: float
    combination: tuple[Choice, ...]
    tensor_places: tuple[int, ...]
    shapes: tuple[JointShapes, ...]
    postponed: bool = False

    @property
    def cost(self) -> float:
        """The cost of its first step."""
        return self.base + self.shapes[0].cost

    @property
    def parts(self) -> set[_Part]:
        """The parts that all its steps share."""
        found = set[_Part]()
        for place, each in enumerate(self.combination):
            if each.is_tensor:
                found.add((place, f"a tensor of {_DTYPES.get(each.kind, 'float64')}"))
            else:
                found |= {(place, literal(each.value)), (place, f"a {type(each.value).__name__}")}
        return found


class RecipeQueue:
    """The queue of all steps that the evidence suggests, expanded lazily."""

    def __init__(self, evidence: CollectedEvidence) -> None:
        self.evidence = evidence
        arguments = evidence.arguments
        self._note_inverses()
        self._options = [choices(each, evidence.of(each.name), not place) for place, each in enumerate(arguments)]
        self._combinations = self._all_combinations()
        self._upcoming = next(self._combinations, None)
        self._heap: list[tuple[float, int, RecipeStep | _Row]] = []
        self._shapes: dict[tuple[tuple[int, ...], tuple[str, ...]], list[JointShapes]] = {}
        self._seen: set[str] = set()
        self._failed: set[frozenset[_Part]] = set()
        self._count = 0

    @property
    def passes(self) -> range:
        """The possible numbers of arguments of a call."""
        arguments = self.evidence.arguments
        least = max((place + 1 for place, each in enumerate(arguments) if each.default is NO_DEFAULT), default=0)
        return range(max(1, least), len(arguments) + 1)

    def departures(self, recipe: Recipe) -> int:
        """How many arguments with a declared default differ from their first choice.

        That is the default, but for None where a tensor may be meant.
        """
        return sum(self._departs(recipe, place) for place in range(len(self.evidence.arguments)))

    def _departs(self, recipe: Recipe, place: int) -> bool:
        default = self.evidence.arguments[place].default
        if default is NO_DEFAULT or default is LEFT_OUT:
            return False
        passed = place < len(recipe.arguments)
        if not is_writable(default):
            given = recipe.arguments[place] if passed else None
            return passed and not (isinstance(given, TensorArgument) and self._may_be_swept(place))
        first, given = self._options[place][0], recipe.arguments[place] if passed else None
        if first.is_tensor or isinstance(given, TensorArgument):
            return not (first.is_tensor and isinstance(given, TensorArgument))
        return literal(given.value if given else default) != literal(first.value)

    def _may_be_swept(self, place: int) -> bool:
        """Whether a declared default is a tensor of which backward returns the gradient: then any is one more input."""
        argument = self.evidence.arguments[place]
        differentiable = self.evidence.of(argument.name).differentiable is not False
        return isinstance(argument.default, torch.Tensor) and argument.default.is_floating_point() and differentiable

    def next(self) -> RecipeStep | None:
        """The likeliest step that is left; None if there is none."""
        while True:
            while self._upcoming is not None and (not self._heap or self._upcoming[0] <= self._heap[0][0]):
                self._expand(*self._upcoming)
                self._upcoming = next(self._combinations, None)
            if not self._heap:
                return None
            cost, _, found = heapq.heappop(self._heap)
            step = self._first(found) if isinstance(found, _Row) else found
            if step is None or step.recipe.text() in self._seen:
                continue
            if cost > step.cost or not self._must_fail(_all_parts(step.recipe)):
                self._seen.add(step.recipe.text())
                return replace(step, cost=cost)
            self._put(step.cost + REPEAT_COST, step)

    def push(self, step: RecipeStep) -> None:
        """Add a step, unless its recipe was tried before."""
        settled = tuple(map(self._settled, step.recipe.arguments))
        if settled != step.recipe.arguments:
            step = replace(step, recipe=Recipe(settled))
        if _can_be_tried(step.recipe):
            self._put(step.cost, step)

    def learn(self, step: RecipeStep, blamed: Blame) -> None:
        """Remember what failed: the values of the arguments to blame, or their types after a type error.

        Not where most arguments are to blame, as any other one may be; nor in backward, where the shape of grad_output
        is owed to all of them.
        """
        places = [place for place in blamed.places if place < len(step.recipe.arguments)]
        if places and not blamed.backward and 2 * len(places) <= len(step.recipe.arguments) + 1:
            typed = isinstance(blamed.error, TypeError | AttributeError) and not blamed.own
            parts = _types(step.recipe) if typed else _parts(step.recipe)
            self._failed.add(frozenset(part for part in parts if part[0] in places))

    def _put(self, cost: float, found: RecipeStep | _Row) -> None:
        self._count += 1
        heapq.heappush(self._heap, (cost, self._count, found))

    def _first(self, row: _Row) -> RecipeStep | None:
        """Pop the first step of a row; None if it cannot be tried, or if the whole row is postponed."""
        if not row.postponed and self._must_fail(row.parts):
            self._put(row.cost + REPEAT_COST, replace(row, postponed=True))
            return None
        form = row.shapes[0]
        if row.shapes[1:]:
            rest = replace(row, shapes=row.shapes[1:])
            self._put(rest.cost + REPEAT_COST * row.postponed, rest)
        step = self._step(row.cost, row.combination, dict(zip(row.tensor_places, form.shapes, strict=True)))
        return step if _can_be_tried(step.recipe) else None

    def _must_fail(self, parts: set[_Part]) -> bool:
        return any(each <= parts for each in self._failed)

    def _all_combinations(self) -> Iterator[tuple[float, tuple[Choice, ...]]]:
        """The combinations of the choices for all arguments, the likeliest first."""
        if all(self._options[: self.passes.start]):
            given = [each or [Choice("nothing", 9.0, "", None)] for each in self._options]
            yield from cheapest_combinations([[(one.cost, one) for one in each] for each in given], _MOST_COMBINATIONS)

    def _expand(self, cost: float, combination: tuple[Choice, ...]) -> None:
        tensors = [place for place, each in enumerate(combination) if each.is_tensor]
        for count, extra_cost in self._counts(combination):
            inside = [place for place in tensors if place < count]
            if not any(combination[place].kind == "tensor" for place in inside):
                continue
            found = self._shapes_for(tuple(inside), tuple(combination[place].kind for place in inside))
            if found:
                row = _Row(cost + extra_cost, tuple(combination[:count]), tuple(inside), tuple(found))
                self._put(row.cost, row)

    def _shapes_for(self, inside: tuple[int, ...], kinds: tuple[str, ...]) -> list[JointShapes]:
        """The shapes for the tensors at these positions, cached: they do not depend on the constants."""
        if (inside, kinds) not in self._shapes:
            known = [self.evidence.of(self.evidence.arguments[place].name) for place in inside]
            self._shapes[inside, kinds] = joint_shapes(known, kinds, self.evidence.notes.relations)
        return self._shapes[inside, kinds]

    def _counts(self, combination: Sequence[Choice]) -> Iterator[tuple[int, float]]:
        """The numbers of arguments to pass: all, or only the required ones."""
        least, most = self.passes.start, len(combination)
        used = [place + 1 for place, each in enumerate(combination) if each.kind != "default" or each.value is not None]
        last = max([least, *used])
        unwritable = next((place for place, each in enumerate(self._options) if not each), most)
        for step, count in enumerate(dict.fromkeys((min(last, max(unwritable, least)), least))):
            yield count, 0.5 * step

    def _step(self, cost: float, combination: Sequence[Choice], shapes: dict[int, tuple[int, ...]]) -> RecipeStep:
        given: list[TensorArgument | Constant] = []
        for place, choice in enumerate(combination):
            name = self.evidence.arguments[place].name
            if choice.is_tensor:
                given.append(self._tensor(name, choice, shapes[place], place))
            else:
                given.append(constant(name, choice.value))
        if not Recipe(tuple(given)).inputs:
            first, tensor = next(
                (place, each) for place, each in enumerate(given) if isinstance(each, TensorArgument) and each.floating
            )
            given[first] = replace(tensor, grad=True)
        because = {each.name: choice.because for each, choice in zip(given, combination, strict=True)}
        return RecipeStep(cost, Recipe(tuple(given)), because)

    @property
    def _names(self) -> list[str]:
        return [each.name for each in self.evidence.arguments]

    def _settled(self, each: TensorArgument | Constant) -> TensorArgument | Constant:
        """The argument with what the author, or its name, says of its values, whatever else was supposed of them.

        Indices that another argument undoes, or that undo it, are permutations.
        """
        if not isinstance(each, TensorArgument) or not each.shape:
            return each
        if each.fill in ("normal", "positive", "negative"):
            told = fill_told(self.evidence.of(each.name), each.shape)
            named = fill_from_name(each) if each.fill != "negative" else None
            fill = told or named or each.fill
            return each if fill == each.fill else replace(each, fill=fill)
        if each.fill not in ("index", "shuffled"):
            return each
        if self._undone(each.name):
            return replace(each, fill="inverse")
        for pattern, parts in name_hints.PARTS_NAMES:
            if pattern.search(each.name.lower()):
                return replace(each, fill=parts)
        return replace(each, fill="shuffled") if each.name in map(self._undone, self._names) else each

    def _note_inverses(self) -> None:
        """What undoes another argument by its name is a permutation as that one is, of one dimension."""
        for name in self._names:
            pair = [self.evidence.of(each) for each in (name, self._undone(name)) if self._undone(name)]
            picks = any(each.weight("index") > 0 or name_hints.INDEX_NAME.search(each.name.lower()) for each in pair)
            for known in pair if picks else ():
                known.supports("index", 6, "by their names one of two permutations undoes the other")
                known.has_rank(1, "it is a permutation", sure=False)

    def _undone(self, name: str) -> str:
        """The argument whose inverse another one is, by their names; empty if there is none."""
        plain = {pattern.sub("", name).strip("_") for pattern in name_hints.INVERSE_NAMES} - {name}
        return next((each for each in self._names if each in plain), "")

    def _tensor(self, name: str, choice: Choice, shape: tuple[int, ...], place: int) -> TensorArgument | Constant:
        known = self.evidence.of(name)
        if choice.kind == "index":
            dtype = known.dtype if known.dtype in INTEGERS else "int64"
            once = bool(shape) and (known.once or bool(name_hints.PERMUTATION_NAME.search(name.lower())))
            return self._settled(TensorArgument(name, shape, dtype, "shuffled" if once else "index", known.below or 2))
        if choice.kind == "mask":
            return TensorArgument(name, shape, "bool")
        matrix: Fill = fill_told(known, shape) or known.iterated or ("spd" if known.square else "normal")
        fill = matrix if is_square(shape) else "normal"
        if place:
            fill = fill_from_evidence(known, shape) or fill
        if fill == "normal":
            fill = fill_within_bounds(known) or fill
        dtype = known.dtype or ("complex128" if known.complex else "float64")
        return self._settled(TensorArgument(name, shape, dtype, fill, grad=known.differentiable is not False))


def _can_be_tried(recipe: Recipe) -> bool:
    """Whether it has an input, and no tensor is too large: an error message may name any size."""
    sizes = [math.prod(each.shape) for each in recipe.arguments if isinstance(each, TensorArgument)]
    return bool(recipe.inputs) and max(sizes) <= _MAX_ELEMENTS


def _all_parts(recipe: Recipe) -> set[_Part]:
    return {*_parts(recipe), *_types(recipe)}


def _parts(recipe: Recipe) -> list[_Part]:
    return [
        (place, each.text if isinstance(each, TensorArgument) else each.written)
        for place, each in enumerate(recipe.arguments)
    ]


def _types(recipe: Recipe) -> list[_Part]:
    return [
        (place, f"a tensor of {each.dtype}" if isinstance(each, TensorArgument) else f"a {type(each.value).__name__}")
        for place, each in enumerate(recipe.arguments)
    ]
