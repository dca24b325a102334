"""One Function and one recipe, called again and again with something changed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from ...runtime import timing
from ...runtime.arguments import applied, flattened, fresh
from ...runtime.deadline import Clock
from ...runtime.isolation import silenced
from ...runtime.rng import reseed, undisturbed
from ...runtime.vjp import Handed, delivered
from ..recipe.recipe import Recipe, TensorArgument

SEED = 1234
Tensors = list[torch.Tensor | None]


@dataclass(frozen=True)
class Attempt:
    """``values`` are the arguments by name, tensors without grad; nothing is tried any more when the
    ``clock`` has no time.
    """

    function: Callable[..., Any]
    recipe: Recipe
    values: dict[str, Any]
    seed: int = SEED
    clock: Clock = field(default_factory=Clock)

    @classmethod
    def at(
        cls, function: Callable[..., Any], recipe: Recipe, given: Mapping[str, torch.Tensor] | None = None
    ) -> Attempt:
        """The call of a recipe, with what is ``given`` in place of what the recipe fills."""
        built = recipe.build(given=given)
        named = {each.name: value for each, value in zip(recipe.arguments, built, strict=True)}
        plain = {name: one.detach() if isinstance(one, torch.Tensor) else one for name, one in named.items()}
        return cls(function, recipe, plain)

    @property
    def late(self) -> bool:
        """Whether there is no time for another call, as long as they take."""
        return not self.clock.has(1)

    def within(self, seconds: float) -> Attempt:
        """The same with no more time than this, nor more than it had."""
        own, now = self.clock, timing.now()
        return replace(self, clock=Clock(min(own.until, now + seconds), own.took, own.over))

    def changed(self, values: Mapping[str, Any]) -> Attempt:
        """The same with other values."""
        return replace(self, values={**self.values, **values})

    def called(self, track: bool = False) -> tuple[dict[str, torch.Tensor], Any]:
        """The leaves by name, and what was returned. Raises whatever the Function raises."""
        leaves: dict[str, torch.Tensor] = {}
        arguments: list[Any] = []
        for each in self.recipe.arguments:
            value = self.values[each.name]
            if isinstance(value, torch.Tensor):
                value = value.clone()
                if track and isinstance(each, TensorArgument) and each.grad:
                    leaves[each.name] = value.requires_grad_()
                    value = value * 1
            arguments.append(fresh(value))
        reseed(self.seed)
        begun = timing.now()
        try:
            with torch.set_grad_enabled(track):
                return leaves, flattened(applied(self.function)(*arguments))
        finally:
            self.clock.timed(begun)

    def outputs(self) -> Tensors | None:
        """The floating outputs in double precision, None in the place of any other; None for all if the call fails,
        or there is no time for it.
        """
        if self.late:
            return None
        try:
            _, returned = self.called()
        except (Exception, SystemExit):  # noqa: BLE001 a Function may raise anything
            return None
        return [plain(each) for each in several(returned)]

    def pulled(self, output: int, grad_output: torch.Tensor) -> dict[str, torch.Tensor] | None:
        """What backward delivers to each tensor that requires grad, zeros for None; None if anything fails, or no time
        is left.
        """
        if self.late:
            return None
        begun = timing.now()
        try:
            leaves, returned = self.called(track=True)
            out = several(returned)[output]
            root: torch.Tensor = Handed.apply(out, grad_output.to(out))  # type: ignore[no-untyped-call]
            found = delivered(root, leaves.values())
            self.clock.timed(begun)
        except (Exception, SystemExit):  # noqa: BLE001 a Function may raise anything
            return None
        return {
            name: torch.zeros_like(leaf) if gradient is None else gradient.detach()
            for (name, leaf), gradient in zip(leaves.items(), found, strict=True)
        }

    def tensor(self, name: str) -> torch.Tensor:
        """The tensor of this name."""
        value: torch.Tensor = self.values[name]
        return value

    def moved(self, name: str, index: tuple[int, ...], number: float) -> Attempt:
        """The same with one element of a tensor set to a number."""
        tensor = self.tensor(name).clone()
        tensor[index] = number
        return self.changed({name: tensor})


def several(returned: Any) -> tuple[Any, ...]:
    """What was returned, one after another."""
    return returned if isinstance(returned, tuple) else (returned,)


@contextmanager
def aside() -> Iterator[None]:
    """Whatever is called inside, nothing is printed or warned of, and no random numbers are drawn from anybody's."""
    with undisturbed(), warnings.catch_warnings(action="ignore"), silenced():
        yield


def plain(out: Any) -> torch.Tensor | None:
    """A floating output as a tensor of float64 on the CPU."""
    if isinstance(out, torch.Tensor) and out.is_floating_point() and out.layout == torch.strided:
        return out.detach().to("cpu", torch.float64)
    return None
