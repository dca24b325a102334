"""Operations that move, join, sum or write elements; and the table of all operations."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import torch

from . import decisions as kinks
from .compositions import COMPOSITIONS
from .decisions import Column, Lanes, Parted, Undecided
from .elementwise import ELEMENTWISE, checked, folded, meta, no_degree, same_degree, sign_alone, signed, truths_of
from .enclosure import add, constant, divide, head, multiply, subtract
from .interpreter import Handler, Interpreter, flat
from .stand_in import StandIn, as_numbers, columns_of, concrete, new_tensor, positions, python_number

_EXACT_WHOLE = 256  # bound: whole numbers up to it are held by each floating dtype

# ---------------------------------------------------------------- views and moves: torch's own, on places

_VIEWS = (
    *("view", "_unsafe_view", "expand", "permute", "transpose", "t", "slice", "select", "unsqueeze", "squeeze"),
    *("detach", "alias", "unbind", "split", "split_with_sizes", "diagonal", "unfold", "lift_fresh", "_reshape_alias"),
)
# Which arguments hold what is moved; others say where to, and must be the same for all t.
_MOVED = {
    **dict.fromkeys(("clone", "cat", "stack", "repeat", "flip", "roll", "tril", "triu", "index_select"), (0,)),
    **dict.fromkeys(("gather", "index", "take", "constant_pad_nd", "masked_select", "rot90", "diag_embed"), (0,)),
    **dict.fromkeys(("slice_scatter", "select_scatter", "diagonal_scatter"), (0, 1)),
    **dict.fromkeys(("masked_scatter", "index_put"), (0, 2)),
    **dict.fromkeys(("scatter", "index_copy", "index_fill"), (0, 3)),
}
_ZERO = 0  # the place of a 0, which torch fills in


def _view(run: Interpreter, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor = args[0]
    if "dtype" in func._schema.overload_name:
        raise Undecided("bits read as another dtype")
    found = func(tensor.places, *args[1:], **kwargs)
    return [tensor.viewed(each) for each in found] if isinstance(found, list | tuple) else tensor.viewed(found)


def _move(run: Interpreter, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name = func._schema.name.removeprefix("aten::")
    if name == "index_put":
        if masked := _as_mask(args):
            return ELEMENTWISE["masked_fill"](run, torch.ops.aten.masked_fill.Tensor, masked, {})
        if len(args) > 3 and args[3]:
            raise Undecided("index_put with accumulate")
    if kwargs.get("reduce") or (name == "constant_pad_nd" and len(args) > 2 and args[2]):
        raise Undecided(f"{name} that does more than move")
    moved = [args[each] for each in _MOVED[name] if each < len(args)]
    tensors = [each for each in flat(moved) if isinstance(each, torch.Tensor)]
    if len({each.dtype for each in tensors}) > 1:
        raise Undecided("tensors of several dtypes are joined")
    columns: list[Any] = [[constant(0.0)] * run.lanes.count]

    def places(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [places(each) for each in value]
        first = len(columns)
        columns.extend(columns_of(value, run.lanes))
        at = positions(tuple(value.shape) if isinstance(value, torch.Tensor) else ()) + first
        return at if isinstance(value, torch.Tensor) else at.item()

    asked = [
        places(each) if place in _MOVED[name] else _same_for_all(each, run.lanes) for place, each in enumerate(args)
    ]
    found = func(*asked, **kwargs)
    result = [columns[each] for each in found.reshape(-1).tolist()]
    if tensors[0].dtype == torch.bool:
        result = [truths_of(run.lanes, each) for each in result]
    return new_tensor(run.lanes, result, found, same_degree(run, list(flat(moved))), tensors[0].dtype)


def _same_for_all(value: Any, lanes: Lanes) -> Any:
    return [concrete(each, lanes) for each in value] if isinstance(value, list | tuple) else concrete(value, lanes)


def _as_mask(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The arguments of ``masked_fill``, where ``x[mask] = number`` is that."""
    indices, value = args[1], args[2]
    single = len(indices) == 1 and isinstance(indices[0], StandIn) and indices[0].dtype == torch.bool
    fits = single and indices[0].shape == args[0].shape and value.numel() == 1
    return (args[0], indices[0], value.reshape(())) if fits else None


def _convert(run: Interpreter, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``to``: truths become numbers; of real numbers nothing may be lost."""
    tensor, dtype = args[0], kwargs.get("dtype") or args[0].dtype
    out, columns = meta(func, args, {**kwargs, "device": None}), tensor.elements()
    if dtype == torch.bool:
        columns = [truths_of(run.lanes, each) for each in columns]
    elif dtype != tensor.dtype:
        columns = [as_numbers(each) for each in columns]
        if not dtype.is_floating_point:
            columns = checked(run, dtype, [kinks.stepped(run.lanes, "trunc", each) for each in columns])
        elif tensor.is_floating_point() and dtype.itemsize < tensor.dtype.itemsize:
            return folded(run, func, args, kwargs, out)
        elif not tensor.is_floating_point() and dtype != torch.float64 and not _are_small(columns):
            raise Undecided("large whole numbers")
    degree = tensor.store.degree if dtype.is_floating_point else no_degree(run, [tensor])
    return new_tensor(run.lanes, columns, out, degree)


def _are_small(columns: list[Column]) -> bool:
    return all(abs(head(each)) <= _EXACT_WHOLE for column in columns for each in column)


def _filled(run: Interpreter, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``zeros_like`` and its like: constants, that can be written into."""
    made = func(torch.empty_strided(args[0].shape, args[0].stride(), dtype=args[0].dtype), *args[1:], **kwargs)
    return run.filled(func, made)


# ---------------------------------------------------------------- sums


def _groups(shape: Sequence[int], dims: Any) -> list[list[int]]:
    """The places of the elements that are reduced to one, for each element of the result."""
    rank = len(shape)
    reduced = sorted({each % max(rank, 1) for each in (range(rank) if dims in (None, []) else dims)}) if rank else []
    kept = [each for each in range(rank) if each not in reduced]
    places = positions(tuple(shape)).permute([*kept, *reduced])
    result: list[list[int]] = places.reshape(math.prod(shape[each] for each in kept), -1).tolist()
    return result


def _reduction(kernel: Callable[[Interpreter, list[Any]], Any], degree: Any, numbers: bool = True) -> Handler:
    def handler(run: Interpreter, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        out, columns = meta(func, args, kwargs), columns_of(args[0], run.lanes)
        if numbers:
            columns = [as_numbers(each) for each in columns]
        dims = args[1] if len(args) > 1 else None
        dims = [dims] if isinstance(dims, int) and not isinstance(dims, bool) else dims
        groups = _groups(args[0].shape, dims)
        found = [kernel(run, [columns[each] for each in group]) for group in groups]
        if out.dtype == torch.bool:
            found = [truths_of(run.lanes, each) for each in found]
        return new_tensor(run.lanes, checked(run, out.dtype, found), out, degree(run, args[:1]))

    return handler


def _total(run: Interpreter, group: list[Column]) -> Column:
    return [_sum_of(values) for values in zip(*group, strict=True)] if group else kinks.zeros(run.lanes)


def _sum_of(values: Sequence[Any]) -> Any:
    return reduce(add, values)


def _of_truths(function: Callable[[Any, Any], Any]) -> Callable[[Interpreter, list[Any]], Any]:
    return lambda run, group: [
        reduce(function, values) for values in zip(*(truths_of(run.lanes, each) for each in group), strict=True)
    ]


def _mean(run: Interpreter, group: list[Column]) -> Column:
    return [divide(each, constant(float(len(group)))) for each in _total(run, group)]


def _running(kernel: Callable[[Any, Any], Any], degree: Any) -> Handler:
    """cumsum and cumprod."""

    def handler(run: Interpreter, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        out, columns = meta(func, args, kwargs), [as_numbers(each) for each in columns_of(args[0], run.lanes)]
        found = list(columns)
        for group in _groups(args[0].shape, [args[1]]):
            for before, place in itertools.pairwise(group):
                found[place] = [kernel(a, b) for a, b in zip(found[before], columns[place], strict=True)]
        return new_tensor(run.lanes, checked(run, out.dtype, found), out, degree(run, args[:1]))

    return handler


def _extreme(kernel: Callable[[Lanes, Column, Column], Column]) -> Handler:
    def reduced(run: Interpreter, group: list[Column]) -> Column:
        return reduce(lambda a, b: kernel(run.lanes, a, b), group)

    return _reduction(reduced, signed)


# ---------------------------------------------------------------- orders


def _ordered(run: Interpreter, columns: list[Column], first: int, descending: bool) -> list[int]:
    """The first columns in order, if that is the same in all lanes; of equal ones no order is known."""
    lanes, wanted = run.lanes, 1 if descending else -1
    orders = [_by_middles([column[lane] for column in columns], descending) for lane in range(len(lanes.balls))]
    pairs = {(order[i], j) for order in orders for i in range(min(first, len(order) - 1)) for j in order[i + 1 :]}
    signs = {(i, j): lanes.signs(list(map(subtract, columns[i], columns[j]))) for i, j in sorted(pairs)}
    ways = [
        tuple(order[:first])
        if all(signs[i, j][lane] == wanted for n, i in enumerate(order[:first]) for j in order[n + 1 :])
        else None
        for lane, order in enumerate(orders)
    ]
    if ways[0] is None or any(each != ways[0] for each in ways):
        raise Parted(list(ways))
    return list(ways[0])


def _by_middles(values: list[Any], descending: bool) -> list[int]:
    middles = [float(head(each).mid()) if head(each).is_finite() else 0.0 for each in values]
    return sorted(range(len(values)), key=lambda i: -middles[i] if descending else middles[i])


def _orders(run: Interpreter, tensor: Any, dim: int, first: int, descending: bool) -> torch.Tensor:
    """The places of the first elements along a dimension, in their order."""
    signed(run, [tensor])
    columns = [as_numbers(each) for each in columns_of(tensor, run.lanes)]
    if not tensor.dim():
        return torch.tensor(0)
    rows = [_ordered(run, [columns[i] for i in group], first, descending) for group in _groups(tensor.shape, [dim])]
    kept = [size for axis, size in enumerate(tensor.shape) if axis != dim % tensor.dim()]
    return torch.tensor(rows).reshape(*kept, first).movedim(-1, dim).contiguous()


def _sort(run: Interpreter, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    names = ("self", "stable", "dim", "descending") if "stable" in kwargs else ("self", "dim", "descending")
    named = {"dim": -1, "descending": False} | dict(zip(names, args, strict=False)) | kwargs
    order = _orders(run, args[0], named["dim"], args[0].shape[named["dim"]], named["descending"])
    return _gathered(run, args[0], named["dim"], order), order


def _topk(run: Interpreter, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor, count, dim, largest = (*args, *(-1, True)[len(args) - 2 :])[:4]
    order = _orders(run, tensor, dim, count, largest)
    return _gathered(run, tensor, dim, order), order


def _extreme_with_place(largest: bool) -> Handler:
    def handler(run: Interpreter, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(args) == 1:
            return REDUCTIONS["amax" if largest else "amin"](run, func, args, kwargs)
        if isinstance(args[1], torch.Tensor):
            raise Undecided("max of two tensors")
        order = _orders(run, args[0], args[1], 1, largest)
        values = _gathered(run, args[0], args[1], order)
        if len(args) > 2 and args[2]:
            return values, order
        return _view(run, torch.ops.aten.squeeze.dim, (values, args[1]), {}), order.squeeze(args[1])

    return handler


def _place_of_extreme(largest: bool) -> Handler:
    def handler(run: Interpreter, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(args) < 2 or args[1] is None:
            raise Undecided("argmax of all elements")
        order = _orders(run, args[0], args[1], 1, largest)
        return order if len(args) > 2 and args[2] else order.squeeze(args[1])

    return handler


def _gathered(run: Interpreter, tensor: Any, dim: int, order: torch.Tensor) -> Any:
    return _move(run, torch.ops.aten.gather.default, (tensor, dim, order), {})


# ---------------------------------------------------------------- writing


def _in_place(run: Interpreter, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``mul_`` and its like: what ``mul`` returns is written into the memory of the first argument."""
    target, name = args[0], func._schema.name.removeprefix("aten::").removesuffix("_")
    if not isinstance(target, StandIn):
        raise Undecided("it writes into a tensor that it has not made here")
    if name in _VIEWS:
        raise Undecided(f"{name}_ changes the shape of a tensor")
    if name in ("copy", "fill", "zero"):
        value = args[1] if len(args) > 1 else 0.0
        result = value
    elif name in HANDLERS and hasattr(torch.ops.aten, name):
        overload = func._schema.overload_name or "default"
        overload = f"Tensor_{overload}" if name == "pow" else overload
        result = HANDLERS[name](run, getattr(getattr(torch.ops.aten, name), overload), args, kwargs)
    else:
        raise Undecided(f"{name}_ is not enclosed")
    _write(run, target, result)
    return target


def _write(run: Interpreter, target: StandIn, value: Any) -> None:
    if not isinstance(value, StandIn):
        value = torch.as_tensor(value, dtype=target.dtype)
    elif value.dtype != target.dtype:
        value = _convert(run, torch.ops.aten._to_copy.default, (value,), {"dtype": target.dtype})
    columns = columns_of(value, run.lanes)
    sources = positions(tuple(value.shape)).expand(target.shape).reshape(-1).tolist()
    places = target.places.reshape(-1).tolist()
    if len(set(places)) < len(places):
        raise Undecided("it writes into elements that share their memory")
    whole = len(places) == len(target.store.columns)
    target.store.degree = same_degree(run, [value] if whole else [value, target])
    for place, source in zip(places, sources, strict=True):
        column = columns[source]
        target.store.columns[place] = truths_of(run.lanes, column) if target.dtype == torch.bool else as_numbers(column)


def _item(run: Interpreter, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    run.mixed |= bool(args[0].store.degree)  # what becomes of the number is not seen
    return python_number(args[0], run.lanes)


def _composed(name: str) -> Handler:
    def handler(run: Interpreter, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        out = meta(func, args, kwargs)
        with run:
            result = COMPOSITIONS[name](*args, **kwargs)
        first, expected = (result[0], out[0]) if isinstance(out, tuple) else (result, out)
        if first.dtype != expected.dtype or first.shape != expected.shape:
            raise Undecided(f"{name} in another dtype")
        return result

    return handler


REDUCTIONS: dict[str, Handler] = {
    "sum": _reduction(_total, same_degree),
    "mean": _reduction(_mean, same_degree),
    "prod": _reduction(lambda run, group: [reduce(multiply, each) for each in zip(*group, strict=True)], no_degree),
    "amax": _extreme(kinks.greatest),
    "amin": _extreme(kinks.least),
    "any": _reduction(
        lambda run, group: [reduce(kinks.either, v) for v in zip(*_truths_in(run, group), strict=True)],
        sign_alone,
        False,
    ),
    "all": _reduction(
        lambda run, group: [reduce(kinks.both, v) for v in zip(*_truths_in(run, group), strict=True)], sign_alone, False
    ),
}


def _truths_in(run: Interpreter, group: list[Any]) -> list[Any]:
    return [truths_of(run.lanes, each) for each in group]


HANDLERS: dict[str, Handler] = {
    **{name: _composed(name) for name in COMPOSITIONS},
    **ELEMENTWISE,
    **REDUCTIONS,
    **dict.fromkeys(_VIEWS, _view),
    **dict.fromkeys(_MOVED, _move),
    **dict.fromkeys(("zeros_like", "ones_like", "full_like", "empty_like"), _filled),
    **dict.fromkeys(("new_zeros", "new_ones", "new_full", "new_empty"), _filled),
    "cumsum": _running(add, same_degree),
    "cumprod": _running(multiply, no_degree),
    "_to_copy": _convert,
    "sort": _sort,
    "topk": _topk,
    "max": _extreme_with_place(True),
    "min": _extreme_with_place(False),
    "argmax": _place_of_extreme(True),
    "argmin": _place_of_extreme(False),
    "nonzero": lambda run, func, args, kwargs: func(concrete(args[0], run.lanes)),
    "_local_scalar_dense": _item,
    "in_place": _in_place,
}
