"""A recipe whose call failed, and the repairs of it: the recipe with one argument changed, at a cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ..recipe.recipe import Constant, Recipe, TensorArgument
from ..source.signature import NO_DEFAULT, SignatureArgument
from .blame import Blame
from .choices import constant, is_writable

_Given = TensorArgument | Constant
_Change = Callable[[TensorArgument], TensorArgument]
_MAX_LENGTH = 90


@dataclass(frozen=True)
class Repair:
    """A changed recipe, its cost above the one it repairs, the argument changed, and the reason."""

    recipe: Recipe
    cost: float
    argument: str
    because: str


@dataclass(frozen=True)
class FailedCall:
    """A ``recipe`` that failed; ``arguments`` are those of the signature, ``saved`` those that forward saves."""

    recipe: Recipe
    blame: Blame
    arguments: tuple[SignatureArgument, ...]
    saved: tuple[str | None, ...] = ()

    @property
    def reason(self) -> str:
        """The reason for a change, in words that follow "because"."""
        text = self.blame.message
        text = text if len(text) <= _MAX_LENGTH else f"{text[: _MAX_LENGTH - 1]}…"
        return f"otherwise {'backward' if self.blame.backward else 'forward'} raises {text}"

    def given(self, place: int) -> _Given:
        """The value of an argument; its default where it was left out."""
        passed = self.recipe.arguments
        return (
            passed[place]
            if place < len(passed)
            else constant(self.arguments[place].name, self.arguments[place].default)
        )

    def places(self) -> list[int]:
        """The positions of the arguments to blame; of all that are passed if none is known."""
        blamed = [place for place in range(len(self.arguments)) if place in self.blame.places]
        return blamed or list(range(len(self.recipe.arguments)))

    def tensors(self, floating: bool = True) -> list[tuple[int, TensorArgument]]:
        """The tensors to blame, only ``floating`` ones or all; every tensor if none is to blame."""
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
        found = [(place, self.given(place)) for place in self.places()]
        return [(place, each) for place, each in found if isinstance(each, Constant)]

    def with_argument(self, place: int, given: _Given, cost: float) -> Iterator[Repair]:
        """The recipe with another value for one argument, and with the defaults before it written out."""
        arguments = list(self.recipe.arguments)
        for missing in range(len(arguments), place + 1):
            default = self.arguments[missing].default
            if default is NO_DEFAULT or (missing < place and not is_writable(default)):
                return
            arguments.append(constant(self.arguments[missing].name, default))
        arguments[place] = given
        yield Repair(Recipe(tuple(arguments)), cost, given.name, self.reason)

    def with_values(self, place: int, values: tuple[Any, ...], cost: float, step: float = 0.3) -> Iterator[Repair]:
        """The recipe with each of these constants for one argument."""
        for count, value in enumerate(values):
            yield from self.with_argument(place, constant(self.arguments[place].name, value), cost + step * count)

    def with_tensors(self, change: _Change, cost: float) -> Iterator[Repair]:
        """The recipe with all its tensors changed."""
        arguments = tuple(change(each) if isinstance(each, TensorArgument) else each for each in self.recipe.arguments)
        first = next((each.name for each in arguments if isinstance(each, TensorArgument)), "")
        yield Repair(Recipe(arguments), cost, first, self.reason)

    def blaming(self, places: frozenset[int]) -> FailedCall:
        """The same, with the blame on other arguments."""
        return replace(self, blame=replace(self.blame, places=places))
