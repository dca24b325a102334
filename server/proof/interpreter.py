"""Torch's primitive operations, interpreted on enclosures; what is not known exactly is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Any

import torch
from flint import arb_series
from torch.utils._python_dispatch import TorchDispatchMode

from .column import Column, Lanes, Parted, ProofSignal, Undecided, is_true
from .enclosure import constant, float_of, head
from .stand_in import StandIn, columns_of, floats_of, new_tensor

Handler = Callable[["Interpreter", Any, tuple[Any, ...], dict[str, Any]], Any]

MOST_OPERATIONS = 4000  # budget: of one run, with all that it calls
_LARGEST_WHOLE = 1 << 31  # bound: of a result in whole numbers, which wrap beyond what they hold
_WHOLE = (torch.int32, torch.int64)
_FILLED = ("zeros", "ones", "full", "empty", "new_zeros", "new_ones", "new_full", "new_empty", "eye")
_RANDOM = torch.Tag.nondeterministic_seeded


class Interpreter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """One run of a section in ``dtype``. ``refused`` is the signal that was raised, whether or not it arrived.

    ``draws`` are the random numbers of generators that were handed in.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No, which torch would import its whole compiler for."""
        return False

    def __init__(self, lanes: Lanes, dtype: torch.dtype, handler_of: Callable[[Any], Handler | None]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.lanes, self.dtype, self._handler_of = lanes, dtype, handler_of
        self.refused: ProofSignal | None = None
        self.draws: list[tuple[float, ...]] = []
        self._left = MOST_OPERATIONS

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        try:
            return self.interpret(func, args, kwargs or {})
        except ProofSignal as signal:
            self.refused = self.refused or signal
            raise
        except Exception as error:
            self.refused = Undecided(f"{name_of(func)}: {error}".splitlines()[0])
            raise self.refused from error

    def interpret(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What an operation returns. Raises ``Undecided``, ``Parted``."""
        if func._schema.is_mutable and not func._schema.name.endswith("_"):
            raise Undecided(f"{name_of(func)} writes into out=")
        self._left -= 1
        if self._left < 0:
            raise Undecided(f"more than {MOST_OPERATIONS} operations in one call")
        given = [each for each in flat((*args, *kwargs.values())) if isinstance(each, StandIn)]
        if _RANDOM in func.tags and (
            given or not any(isinstance(a, torch.Generator) for a in (*args, *kwargs.values()))
        ):
            raise Undecided(f"{name_of(func)} draws random numbers")
        if not given:
            return self._plain(func, args, kwargs)
        if any(each.store.lanes is not self.lanes for each in given):
            raise Undecided("it keeps a tensor from one call to the next")
        if any(isinstance(each, torch.device) and each.type not in ("cpu", "meta") for each in kwargs.values()):
            raise Undecided("another device")
        if handler := self._handler_of(func):
            return handler(self, func, args, kwargs)
        raise Undecided(f"{name_of(func)} is not enclosed")

    def _plain(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An operation on constants, which torch computes; what is made to be written into can be."""
        result = func(*args, **kwargs)
        if _RANDOM in func.tags:
            self.draws.append(tuple(result.reshape(-1).tolist()))
        return self.filled(func, result) if name_of(func) in _FILLED else result

    def filled(self, func: Any, made: torch.Tensor) -> Any:
        """A stand-in for a new tensor, to be written into; nothing is known of memory that nobody has written."""
        empty = "empty" in func._schema.name
        if not made.is_floating_point() or self.is_rounded(made.dtype):
            if empty and made.numel():
                raise Undecided("memory that nobody has written")
            return made
        made = made.fill_(torch.nan) if empty else made
        return new_tensor(self.lanes, columns_of(made, self.lanes), made)

    def is_rounded(self, dtype: torch.dtype) -> bool:
        """Whether it holds real numbers with fewer digits than the dtype of the section, whose rounding is left out."""
        return _resolution(dtype) > _resolution(self.dtype)

    def held(self, columns: Sequence[Column], dtype: torch.dtype) -> list[Column]:
        """The columns, if the dtype holds their numbers as they are. Raises ``Undecided``."""
        if dtype.is_floating_point and not self.is_rounded(dtype):
            return list(columns)
        if dtype == torch.bool:
            return list(map(is_true, columns))
        plain = [each.plain() for each in columns]
        if dtype not in _WHOLE:
            raise Undecided(f"it computes in {str(dtype).removeprefix('torch.')}")
        if not all(abs(head(each)) < _LARGEST_WHOLE for column in plain for each in column.values):
            raise Undecided("large whole numbers")
        return plain


@cache
def _resolution(dtype: torch.dtype) -> float:
    return torch.finfo(dtype).eps if dtype.is_floating_point else 0.0


def flat(values: Any) -> Iterator[Any]:
    """The values of nested lists and tuples."""
    for each in values:
        if isinstance(each, list | tuple):
            yield from flat(each)
        else:
            yield each


def name_of(func: Any) -> str:
    """The name of an operation, without its overload."""
    return str(func._schema.name.partition("::")[2])


# ---------------------------------------------------------------- shape and dtype, by torch itself on ones


def shaped(func: Any, args: Any, kwargs: Any) -> Any:
    """What torch says of shape, strides and dtype of the result."""
    return _shaped(func, _key(args), tuple((name, _key((each,))[0]) for name, each in sorted(kwargs.items())))


@lru_cache(maxsize=4096)
def _shaped(func: Any, args: Any, kwargs: Any) -> Any:
    return func(*map(_unkeyed, args), **{name: _unkeyed(each) for name, each in kwargs})


def _key(values: Any) -> tuple[Any, ...]:
    """The arguments with the numbers of tensors left out, so that they can be compared."""
    return tuple(
        ("tensor", tuple(each.shape), each.stride(), each.dtype)
        if isinstance(each, torch.Tensor)
        else ("list", _key(each))
        if isinstance(each, list | tuple)
        else ("value", type(each), each)
        for each in values
    )


def _unkeyed(key: Any) -> Any:
    kind, *rest = key
    if kind == "tensor":
        return torch.empty_strided(rest[0], rest[1], dtype=rest[2]).fill_(1)
    return [_unkeyed(each) for each in rest[0]] if kind == "list" else rest[1]


def rounded(lanes: Lanes, func: Any, args: Any, kwargs: Any, out: torch.Tensor) -> StandIn:
    """Torch's own result in a dtype of fewer digits, of numbers that are known exactly. Raises ``Undecided``."""
    given = [columns_of(each, lanes) if isinstance(each, torch.Tensor) else None for each in args]
    known = [each and _exactly(lanes, each) for each in given]
    keys = [tuple(each and each[lane] for each in known) for lane in range(lanes.count)]
    found = {}
    for key in set(keys):
        tensors = [
            each if values is None else torch.tensor(values, dtype=each.dtype).reshape(each.shape)
            for each, values in zip(args, key, strict=True)
        ]
        found[key] = list(map(constant, func(*tensors, **kwargs).double().reshape(-1).tolist()))
    return new_tensor(lanes, [Column(lanes, [found[key][i] for key in keys]) for i in range(out.numel())], out)


def _exactly(lanes: Lanes, columns: list[Column]) -> list[tuple[float, ...]]:
    """The numbers of each lane. Raises ``Parted`` where a comparison is not decided."""
    plain = [each.plain() for each in columns]
    unknown = [value for column in plain for value in column.values if float_of(value) is None]
    if any(isinstance(each, arb_series) for each in unknown):
        raise Undecided("it computes with fewer digits")
    found = floats_of(plain, lanes)
    if unknown:
        raise Parted([None if each is None else 0 for each in found[: len(lanes.balls)]])
    return [each for each in found if each is not None]
