"""A recipe whose call failed, and what may be changed in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ..recipe.recipe import Constant, Recipe, TensorArgument
from ..source.signature import MISSING, Argument
from .blame import Blame
from .choices import constant, writable

_Given = TensorArgument | Constant
Change = Callable[[TensorArgument], TensorArgument]
_LONGEST = 90


@dataclass(frozen=True)
class Repair:
    """Another recipe, how much dearer it is than the one it mends, and because of what, for the argument changed."""

    recipe: Recipe
    cost: float
    argument: str
    because: str


@dataclass(frozen=True)
class Broken:
    """A ``recipe`` that failed; ``arguments`` are all that a call may pass, and ``saved`` what forward saves."""

    recipe: Recipe
    blame: Blame
    arguments: tuple[Argument, ...]
    saved: tuple[str | None, ...] = ()

    @property
    def otherwise(self) -> str:
        """Why a change is made, in words that follow "because"."""
        said = self.blame.message
        said = said if len(said) <= _LONGEST else f"{said[: _LONGEST - 1]}…"
        return f"otherwise {'backward' if self.blame.backward else 'forward'} raises {said}"

    def given(self, place: int) -> _Given:
        """What an argument was given; its default where it was left out."""
        passed = self.recipe.arguments
        return (
            passed[place]
            if place < len(passed)
            else constant(self.arguments[place].name, self.arguments[place].default)
        )

    def places(self) -> list[int]:
        """The arguments that may be to blame; all that are passed, if nothing is known."""
        blamed = [place for place in range(len(self.arguments)) if place in self.blame.places]
        return blamed or list(range(len(self.recipe.arguments)))

    def tensors(self, floating: bool = True) -> list[tuple[int, TensorArgument]]:
        """The tensors to blame, only the ``floating`` ones or all; of all that are passed, where none is."""
        found = [(place, self.given(place)) for place in self.places()]
        found = (
            found
            if any(isinstance(each, TensorArgument) for _, each in found)
            else list(enumerate(self.recipe.arguments))
        )
        return [
            (place, each)
            for place, each in found
            if isinstance(each, TensorArgument) and (each.floating or not floating)
        ]

    def constants(self) -> list[tuple[int, Constant]]:
        """The constants to blame."""
        found = [(place, self.given(place)) for place in self.places()]
        return [(place, each) for place, each in found if isinstance(each, Constant)]

    def changed(self, place: int, given: _Given, cost: float) -> Iterator[Repair]:
        """The recipe with another value for one argument; defaults before it are passed then too."""
        arguments = list(self.recipe.arguments)
        for missing in range(len(arguments), place + 1):
            default = self.arguments[missing].default
            if default is MISSING or (missing < place and not writable(default)):
                return
            arguments.append(constant(self.arguments[missing].name, default))
        arguments[place] = given
        yield Repair(Recipe(tuple(arguments)), cost, given.name, self.otherwise)

    def valued(self, place: int, values: tuple[Any, ...], cost: float, step: float = 0.3) -> Iterator[Repair]:
        """The recipe with each of some constants for one argument."""
        for count, value in enumerate(values):
            yield from self.changed(place, constant(self.arguments[place].name, value), cost + step * count)

    def all(self, change: Change, cost: float) -> Iterator[Repair]:
        """The recipe with all its tensors changed."""
        arguments = tuple(change(each) if isinstance(each, TensorArgument) else each for each in self.recipe.arguments)
        first = next((each.name for each in arguments if isinstance(each, TensorArgument)), "")
        yield Repair(Recipe(arguments), cost, first, self.otherwise)

    def blaming(self, places: frozenset[int]) -> Broken:
        """The same, blamed on others."""
        return replace(self, blame=replace(self.blame, places=places))
