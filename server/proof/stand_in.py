"""What stands in for a tensor: shape, strides and dtype are torch's own, the numbers are columns of enclosures.

It is a subclass of tensors without memory, so that ``isinstance``, autograd and the real ``ctx`` work as ever, and
every operation, however it is called, arrives in ``Interpreter`` as one of torch's primitive operations, or is refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Never

import torch
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from .column import Column, Lanes, Undecided, Uniform
from .enclosure import float_of

MOST_ELEMENTS, MOST_VALUES = 4096, 1 << 17  # budget: of one tensor, and of it in all lanes


@dataclass
class Store:
    """The memory of stand-ins: a column for each element, written by all that view it."""

    lanes: Lanes
    columns: list[Column]


class StandIn(torch.Tensor):
    """A tensor whose element i is the column ``store.columns[places[i]]``."""

    store: Store
    places: torch.Tensor

    @staticmethod
    def __new__(cls, store: Store, index: torch.Tensor, dtype: torch.dtype) -> StandIn:
        made: StandIn = torch.Tensor._make_wrapper_subclass(
            cls, index.shape, strides=index.stride(), dtype=dtype, device=torch.device("cpu")
        )
        made.store, made.places = store, index
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        if func is torch.ops.aten.detach.default:  # what autograd keeps of an output
            return args[0].viewed(args[0].places)
        raise Undecided(f"{func} is called where nobody looks")

    def viewed(self, index: torch.Tensor) -> StandIn:
        """Another view of the same memory."""
        return StandIn(self.store, index, self.dtype)

    def elements(self) -> list[Column]:
        """The columns of all elements, in row-major order."""
        return [self.store.columns[each] for each in self.places.reshape(-1).tolist()]


setattr(StandIn, "__torch_function__", torch._C._disabled_torch_function_impl)  # noqa: B010 - as its types do not say


def refuse(reason: str) -> Never:
    """Raise ``Undecided`` from where no operation is interpreted, and let the interpreter know."""
    signal = Undecided(reason)
    for mode in _get_current_dispatch_mode_stack():
        mode.refused = getattr(mode, "refused", None) or signal  # type: ignore[attr-defined]
    raise signal


def _refusing(name: str) -> Any:
    return lambda *_, **__: refuse(f"{name} leaves torch")


for _name in (
    *("tolist", "data_ptr", "storage", "untyped_storage", "storage_offset", "set_", "apply_", "map_", "map2_"),
    *("__array__", "__dlpack__", "__dlpack_device__", "__reduce_ex__", "__deepcopy__", "__repr__", "__str__"),
    *("__format__", "share_memory_", "resize_", "resize_as_", "type_", "__cuda_array_interface__"),
):
    setattr(StandIn, _name, _refusing(_name))
StandIn.data = property(_refusing("data"), _refusing("data"))  # type: ignore[assignment]


@lru_cache(maxsize=512)
def positions(shape: tuple[int, ...], stride: tuple[int, ...] | None = None) -> torch.Tensor:
    """0, 1, 2, … in row-major order, laid out in memory with these strides; to be read alone."""
    plain = torch.arange(torch.Size(shape).numel()).reshape(shape)
    if plain.numel() > MOST_ELEMENTS:
        raise Undecided(f"a tensor has {plain.numel()} elements, and at most {MOST_ELEMENTS} are enclosed")
    if stride is None or stride == plain.stride():
        return plain
    return torch.empty_strided(shape, stride, dtype=torch.int64).copy_(plain)


def groups(shape: Sequence[int], dims: Any) -> list[list[int]]:
    """The places of the elements that are reduced to one, for each element of the result."""
    rank = len(shape)
    reduced = sorted({each % rank for each in dims or range(rank)}) if rank else []
    kept = [each for each in range(rank) if each not in reduced]
    places = positions(tuple(shape)).permute([*kept, *reduced])
    result: list[list[int]] = places.reshape(math.prod(shape[each] for each in kept), -1).tolist()
    return result


def new_tensor(lanes: Lanes, columns: Sequence[Column], like: torch.Tensor, dtype: Any = None) -> StandIn:
    """A stand-in with memory of its own, of the shape, strides and dtype of a tensor of torch."""
    places = positions(tuple(like.shape), like.stride())
    computed = sum(1 if type(each.values) is Uniform else lanes.count for each in columns)
    lanes.computed += computed
    if len(columns) != places.numel() or computed > MOST_VALUES:
        raise Undecided("a tensor has too many elements")
    return StandIn(Store(lanes, list(columns)), places, dtype or like.dtype)


def columns_of(tensor: Any, lanes: Lanes) -> list[Column]:
    """The columns of a stand-in, or those of the constants in a tensor of torch or a number of Python."""
    if isinstance(tensor, StandIn):
        return tensor.elements()
    values = tensor.detach().reshape(-1).tolist() if isinstance(tensor, torch.Tensor) else [tensor]
    if len(values) > MOST_ELEMENTS or any(isinstance(each, complex) for each in values):
        raise Undecided("complex numbers, or too many constants")
    return [lanes.constant(float(each) if isinstance(each, bool) else each) for each in values]


def concrete(tensor: Any, lanes: Lanes) -> Any:
    """A tensor of torch with the whole numbers or truths of a stand-in, if all lanes have the same.

    Raises ``Parted`` if they have not. Anything else is returned as it is, and so is what a list holds of it.
    """
    if isinstance(tensor, list | tuple):
        return [concrete(each, lanes) for each in tensor]
    if not isinstance(tensor, StandIn):
        return tensor
    if tensor.is_floating_point():
        raise Undecided("a place that depends on a real number")
    ways = floats_of(tensor.elements(), lanes)[: len(lanes.balls)]
    return torch.tensor(lanes.same(ways), dtype=tensor.dtype).reshape(tensor.shape)


def floats_of(columns: list[Column], lanes: Lanes) -> list[tuple[float, ...] | None]:
    """The numbers of each lane, if floats hold them; else None."""
    found = [[float_of(each.values[lane]) for each in columns] for lane in range(lanes.count)]
    return [None if None in each else tuple(each) for each in found]  # type: ignore[arg-type]


def python_number(tensor: StandIn, lanes: Lanes) -> bool | int | float:
    """``item()``: a truth or a whole number that is the same in all lanes, or a constant that a float holds."""
    if not tensor.is_floating_point():
        return concrete(tensor, lanes).item()
    (first, *others) = {
        *floats_of([each.plain() for each in tensor.elements()], lanes)
    }  # what becomes of it is not seen
    if first is None or others:
        raise Undecided("a number of it is asked for (item, float, a condition)")
    return first[0]
