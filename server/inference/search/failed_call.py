"""A recipe whose call failed, and the edits of it: the recipe with one argument changed, at a cost."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...protocol.listed import shortened
from ..recipe.recipe import Constant, Recipe, TensorArgument
from ..source.signature import NO_DEFAULT, SignatureArgument
from .blame import Blame
from .choices import constant, is_writable

_Given = TensorArgument | Constant
_Change = Callable[[TensorArgument], TensorArgument]
_MAX_LENGTH = 90
# No larger int is taken from a message.
_MAX_NUMBER = 100
# Arguments that a message counts, from 1 the gradients of backward, from 0 the saved tensors.
_GRADIENT = re.compile(r"different than None at position (\d+), but the corresponding forward input was not")
_QUOTED = re.compile(r"['`\"](\w+)['`\"]")
_GRADIENT_SHAPE = re.compile(r"invalid gradient at index (\d+)")
_SAVED = re.compile(r"can only save variables, but argument (\d+) is of type")


@dataclass(frozen=True)
class Edit:
    """A changed recipe, its cost above the one that failed, the argument changed, and the reason."""

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
        text = shortened(self.blame.message, _MAX_LENGTH)
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

    def with_argument(self, place: int, given: _Given, cost: float) -> Iterator[Edit]:
        """The recipe with another value for one argument, and with the defaults before it written out."""
        arguments = list(self.recipe.arguments)
        for missing in range(len(arguments), place + 1):
            default = self.arguments[missing].default
            if default is NO_DEFAULT or (missing < place and not is_writable(default)):
                return
            arguments.append(constant(self.arguments[missing].name, default))
        arguments[place] = given
        yield Edit(Recipe(tuple(arguments)), cost, given.name, self.reason)

    def with_values(self, place: int, values: Sequence[Any], cost: float, step: float = 0.3) -> Iterator[Edit]:
        """The recipe with each of these constants for one argument."""
        for count, value in enumerate(values):
            yield from self.with_argument(place, constant(self.arguments[place].name, value), cost + step * count)

    def with_tensors(self, change: _Change, cost: float, floating: bool = False) -> Iterator[Edit]:
        """The recipe with all its tensors changed, or all ``floating`` ones."""
        changed = tuple(
            change(each) if isinstance(each, TensorArgument) and (each.floating or not floating) else each
            for each in self.recipe.arguments
        )
        first = next((each.name for each in changed if isinstance(each, TensorArgument)), "")
        yield Edit(Recipe(changed), cost, first, self.reason)

    def numbers(self, *others: int) -> list[int]:
        """The ints in the message, then the ones above them, then the ``others``, each once."""
        above = [each + 1 for each in self.named_numbers]
        return list(dict.fromkeys((*self.named_numbers, *above, *others)))

    @property
    def named_numbers(self) -> list[int]:
        """The ints in the message, each once."""
        found = (abs(int(each)) for each in re.findall(r"-?\d+", self.blame.message) if len(each) < 5)
        return list(dict.fromkeys(each for each in found if each <= _MAX_NUMBER))

    def with_named_place(self) -> FailedCall:
        """The same, with the blame on the arguments that the message counts or quotes, if it does."""
        message = self.blame.message
        gradient, saved = _GRADIENT.search(message), _SAVED.search(message)
        names = set(_QUOTED.findall(message)) if self.blame.own else set()
        shape = _GRADIENT_SHAPE.search(message)
        if shape:
            # What backward alone reads may have the wrong shape, too.
            names = {each.name for each in self.arguments[int(shape[1]) :][:1]}
            names |= {each.name for _, each in self.tensors() if not each.grad}
        elif gradient:
            names = {each.name for each in self.arguments[int(gradient[1]) - 1 :][:1]}
        elif saved:
            names = set(filter(None, self.saved[int(saved[1]) :][:1]))
        places = frozenset(place for place, each in enumerate(self.arguments) if each.name in names)
        return replace(self, blame=replace(self.blame, places=places)) if places else self
