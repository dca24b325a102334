"""What stands in for a number of Python that is held in a range: arithmetic, comparisons, and tensors beside it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from operator import add, mul, neg, sub, truediv
from typing import Any

import torch

from .column import Column, absolute, compare, raised, truth
from .interpreter import flat
from .stand_in import new_tensor, positions, refuse

_ARITHMETIC: dict[str, Callable[[Column, Column], Column]] = {
    "add": add,
    "sub": sub,
    "mul": mul,
    "truediv": truediv,
    "pow": raised,
}
_OF_IT: dict[str, Callable[[Column], Column]] = {"neg": neg, "pos": lambda a: a, "abs": absolute}
_REFUSED = (
    *("float", "int", "index", "bool", "round", "trunc", "floor", "ceil", "complex", "hash", "str", "repr", "format"),
    *("floordiv", "rfloordiv", "mod", "rmod", "divmod", "rdivmod", "reduce_ex", "deepcopy", "copy", "iter", "len"),
)
_CLAMPS = ("clamp", "clip", "clamp_", "clip_")  # which take numbers alone, or tensors


class Ranging:
    """A float of which a column is known. It takes itself for one, and has no more of it than is enclosed."""

    __class__ = float  # type: ignore[assignment]

    def __init__(self, column: Column) -> None:
        self.store = column  # a name by which it is not asked: .trust

    def __getattr__(self, name: str) -> Any:
        refuse(f"{name} of a number that is held in a range")

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The same of tensors that make of other dtypes what a number of Python would."""
        kwargs = kwargs or {}
        given = [each for each in flat((*args, *kwargs.values())) if isinstance(each, torch.Tensor)]
        real = [each.dtype for each in given if each.is_floating_point()]
        dtype = reduce(torch.promote_types, real) if real else torch.get_default_dtype()
        clamps = getattr(function, "__name__", "") in _CLAMPS

        def tensor(value: Any) -> Any:
            if type(value) is Ranging:
                return new_tensor(value.store.lanes, [value.store], positions(()), dtype)
            if clamps and isinstance(value, int | float):
                return torch.full((), value, dtype=dtype)
            return [tensor(each) for each in value] if isinstance(value, list | tuple) else value

        return function(*map(tensor, args), **{name: tensor(value) for name, value in kwargs.items()})


def _method(of_two: Callable[[Column, Column], Any]) -> Callable[[Ranging, Any], Any]:
    def method(self: Ranging, other: Any) -> Any:
        if type(other) is Ranging:
            return of_two(self.store, other.store)
        return (
            of_two(self.store, self.store.lanes.constant(other)) if isinstance(other, int | float) else NotImplemented
        )

    return method


def _reckoned(kernel: Callable[[Column, Column], Column], a: Column, b: Column) -> Ranging:
    return Ranging(kernel(a, b))


def _turned(kernel: Callable[[Column, Column], Column], a: Column, b: Column) -> Ranging:
    return Ranging(kernel(b, a))


def _decided(name: str, a: Column, b: Column) -> bool:
    found: bool = a.lanes.same([truth(each) for each in compare(name, a, b).values[: len(a.lanes.balls)]])
    return found


for _name, _kernel in _ARITHMETIC.items():
    setattr(Ranging, f"__{_name}__", _method(partial(_reckoned, _kernel)))
    setattr(Ranging, f"__r{_name}__", _method(partial(_turned, _kernel)))
for _name, _of_it in _OF_IT.items():
    setattr(Ranging, f"__{_name}__", lambda self, of_it=_of_it: Ranging(of_it(self.store)))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Ranging, f"__{_name}__", _method(partial(_decided, _name)))
for _name in _REFUSED:
    setattr(Ranging, f"__{_name}__", lambda *_, name=_name: refuse(f"{name} of a number that is held in a range"))
