"""Torch's primitive operations, interpreted on enclosures; what is not known exactly is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .decisions import Column, Lanes, ProofSignal, Truths, Undecided
from .enclosure import unknown
from .stand_in import StandIn, columns_of, new_tensor

Handler = Callable[["Interpreter", Any, tuple[Any, ...], dict[str, Any]], Any]

MOST_OPERATIONS = 4000  # budget: of one run, with all that it calls
_FILLED = ("zeros", "ones", "full", "empty", "new_zeros", "new_ones", "new_full", "new_empty", "eye")
_RANDOM = torch.Tag.nondeterministic_seeded


class Interpreter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """One run. ``refused`` is the signal that was raised, whether or not it arrived.

    ``signed`` says that a comparison asked for the sign of grad_output, ``mixed`` that something is not proportional
    to it. ``draws`` are the random numbers of generators that were handed in.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No, which torch would import its whole compiler for."""
        return False

    def __init__(self, lanes: Lanes, dtype: torch.dtype, handlers: dict[str, Handler]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.lanes, self.real, self._handlers = lanes, dtype, handlers
        self.refused: ProofSignal | None = None
        self.signed = self.mixed = False
        self.draws: list[tuple[float, ...]] = []
        self._left = MOST_OPERATIONS

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        try:
            return self.interpret(func, args, kwargs or {})
        except ProofSignal as signal:
            self.refused = self.refused or signal
            raise
        except Exception as error:
            self.refused = Undecided(f"{_short(func)}: {error}".splitlines()[0])
            raise self.refused from error

    def interpret(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What an operation returns. Raises ``Undecided``, ``Parted``."""
        if func._schema.is_mutable and not func._schema.name.endswith("_"):
            raise Undecided(f"{_short(func)} writes into out=")
        self._left -= 1
        if self._left < 0:
            raise Undecided(f"more than {MOST_OPERATIONS} operations in one call")
        given = [each for each in flat((*args, *kwargs.values())) if isinstance(each, StandIn)]
        if not given:
            return self._plain(func, args, kwargs)
        if any(each.store.lanes is not self.lanes for each in given):
            raise Undecided("it keeps a tensor from one call to the next")
        if _RANDOM in func.tags:
            raise Undecided(f"{_short(func)} draws random numbers")
        if any(isinstance(each, torch.device) and each.type not in ("cpu", "meta") for each in kwargs.values()):
            raise Undecided("another device")
        name = func._schema.name.removeprefix("aten::")
        if handler := self._handlers.get(name) or (name.endswith("_") and self._handlers.get("in_place")):
            return handler(self, func, args, kwargs)
        raise Undecided(f"{_short(func)} is not enclosed")

    def _plain(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An operation on constants, which torch computes; what is made to be written into can be."""
        random = _RANDOM in func.tags
        if random and kwargs.get("generator") is None and not any(isinstance(a, torch.Generator) for a in args):
            raise Undecided(f"{_short(func)} draws random numbers")
        result = func(*args, **kwargs)
        if random:
            self.draws.append(tuple(result.reshape(-1).tolist()))
        name = func._schema.name.removeprefix("aten::")
        return self.filled(func, result) if name in _FILLED else result

    def filled(self, func: Any, made: torch.Tensor) -> Any:
        """A stand-in for a new tensor, to be written into; nothing is known of memory that nobody has written."""
        empty = "empty" in func._schema.name
        if made.dtype != self.real:
            if empty and made.numel():
                raise Undecided("memory that nobody has written")
            return made
        columns = [_nothing(self.lanes) for _ in range(made.numel())] if empty else columns_of(made, self.lanes)
        return new_tensor(self.lanes, columns, made, None if not empty and not made.any() else 0)


def _nothing(lanes: Lanes) -> Column | Truths:
    column: Column = [unknown() for _ in range(lanes.count)]
    return column


def flat(values: Any) -> Iterator[Any]:
    """The values of nested lists and tuples."""
    for each in values:
        if isinstance(each, list | tuple):
            yield from flat(each)
        else:
            yield each


def _short(func: Any) -> str:
    return str(func).removeprefix("aten.").partition(".")[0]
