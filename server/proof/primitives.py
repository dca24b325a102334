"""Each operation that is enclosed, as one table: on elements, moves and views of them, sums, and writing."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import partial, reduce
from operator import add, mul, neg
from typing import Any

import torch
from torch._decomp import decomposition_table

from . import column as of
from .column import Column, Undecided, Uniform
from .enclosure import SMOOTH, STEPS
from .formulas import FORMULAS
from .interpreter import Handler, Interpreter, flat, name_of, rounded, shaped
from .linear_algebra import LINEAR_ALGEBRA
from .stand_in import StandIn, columns_of, concrete, groups, new_tensor, positions, python_number
from .windows import WINDOWS

Kernel = Callable[..., Column]
_LINEAR = ("add", "sub", "rsub", "neg")  # after which nothing is gained by Taylor's theorem

# ---------------------------------------------------------------- element by element


def _quotient(a: Column, b: Column, rounding_mode: str = "") -> Column:
    return of.stepped(rounding_mode, a / b) if rounding_mode else a / b


ELEMENTWISE: dict[str, Kernel] = {
    **{name: of.smooth(*row) for name, row in SMOOTH.items()},
    **{name: partial(of.stepped, name) for name in STEPS},
    **{name: partial(of.compare, name) for name in ("gt", "ge", "lt", "le", "eq", "ne")},
    "add": lambda a, b, alpha=1: a + b.scaled(alpha),
    "sub": lambda a, b, alpha=1: a - b.scaled(alpha),
    "rsub": lambda a, b, alpha=1: b - a.scaled(alpha),
    "mul": mul,
    "div": _quotient,
    "neg": neg,
    "reciprocal": lambda a: a.lanes.constant(1.0) / a,
    "pow": of.raised,
    "sqrt": of.root,
    "rsqrt": lambda a: a.lanes.constant(1.0) / of.root(a),
    "abs": of.absolute,
    **dict.fromkeys(("sign", "sgn"), of.signum),
    "relu": lambda a: of.greatest(a, a.lanes.constant(0.0)),
    "clamp": of.clamp,
    **dict.fromkeys(("clamp_min", "maximum", "fmax"), of.greatest),
    **dict.fromkeys(("clamp_max", "minimum", "fmin"), of.least),
    "where": of.where,
    "masked_fill": lambda a, mask, value: of.where(mask, value, a),
    "isfinite": of.is_finite,
    **dict.fromkeys(("isnan", "isinf"), lambda a: of.negated(of.is_finite(a))),
    **dict.fromkeys(("bitwise_and", "logical_and", "__and__"), lambda a, b: of.is_true(a) * of.is_true(b)),
    **dict.fromkeys(("bitwise_or", "logical_or", "__or__"), lambda a, b: of.either(of.is_true(a), of.is_true(b))),
    **dict.fromkeys(
        ("bitwise_xor", "logical_xor", "__xor__"), lambda a, b: of.compare("ne", of.is_true(a), of.is_true(b))
    ),
    **dict.fromkeys(("bitwise_not", "logical_not"), lambda a: of.negated(of.is_true(a))),
}


def _elementwise(run: Interpreter, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name, out = name_of(func), shaped(func, args, kwargs)
    if name.startswith(("bitwise_", "__", "pow")) and out.dtype != torch.bool and not out.is_floating_point():
        raise Undecided("bits or powers of whole numbers")
    if run.is_rounded(out.dtype):
        return rounded(run.lanes, func, args, kwargs, out)
    named = {name: each for name, each in kwargs.items() if not isinstance(each, torch.dtype) and each is not None}
    given = [[None] * out.numel() if each is None else _spread(run, each, tuple(out.shape)) for each in args]
    columns = [ELEMENTWISE[name](*row, **named) for row in zip(*given, strict=True)]
    if run.lanes.tight and out.is_floating_point() and name not in _LINEAR:
        columns = [each.tightened() for each in columns]
    return new_tensor(run.lanes, run.held(columns, out.dtype), out)


def _spread(run: Interpreter, value: Any, shape: tuple[int, ...]) -> list[Any]:
    """The columns of an argument, for each element of the result."""
    columns = columns_of(value, run.lanes)
    if not isinstance(value, torch.Tensor):
        return columns * math.prod(shape)
    if value.shape == shape:
        return columns
    return [columns[place] for place in positions(tuple(value.shape)).expand(shape).reshape(-1).tolist()]


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


def _view(run: Interpreter, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor = args[0]
    if "dtype" in func._schema.overload_name:
        raise Undecided("bits read as another dtype")
    found = func(tensor.places, *args[1:], **kwargs)
    return [tensor.viewed(each) for each in found] if isinstance(found, list | tuple) else tensor.viewed(found)


def _move(run: Interpreter, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name = name_of(func)
    if name == "index_put" and _is_mask(args):
        return _elementwise(run, torch.ops.aten.masked_fill.Tensor, (args[0], *args[1], args[2].reshape(())), {})
    if name == "index_put" and any(args[3:]):
        return _accumulate(run, func, args, kwargs)
    if kwargs.get("reduce"):
        raise Undecided(f"{name} that does more than move")
    args, filled = (args[:2], args[2:]) if name == "constant_pad_nd" else (args, ())
    tensors = [each for i in _MOVED[name] for each in flat(args[i : i + 1]) if isinstance(each, torch.Tensor)]
    if len({each.dtype for each in tensors}) > 1:
        raise Undecided("tensors of several dtypes are joined")
    columns = [run.lanes.constant(*filled or (0.0,))]  # which torch fills in

    def places(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [places(each) for each in value]
        first = len(columns)
        columns.extend(columns_of(value, run.lanes))
        return positions(tuple(value.shape)) + first if isinstance(value, torch.Tensor) else first

    found = func(*(places(v) if i in _MOVED[name] else concrete(v, run.lanes) for i, v in enumerate(args)), **kwargs)
    return new_tensor(run.lanes, [columns[each] for each in found.reshape(-1).tolist()], found, tensors[0].dtype)


# For each element that is added: where torch's own views and indices have it in the tensor that it is added to.
_TARGETS: dict[str, Callable[..., torch.Tensor]] = {
    "index_put": lambda places, indices, *_: places[tuple(slice(None) if each is None else each for each in indices)],
    "index_add": lambda places, dim, index, *_: places.index_select(dim, index),
    **dict.fromkeys(("scatter_add", "scatter_reduce"), lambda places, dim, index, *_: places.gather(dim, index)),
}
_KERNELS: dict[str, Kernel] = {"sum": add, "mean": add, "prod": mul, "amax": of.greatest, "amin": of.least}


def _accumulate(run: Interpreter, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``scatter_add`` and its like: elements are added to those of another tensor, several to one too."""
    name, out, added = name_of(func), shaped(func, args, kwargs), args[2 if name_of(func) == "index_put" else 3]
    where = [None if each is added else concrete(each, run.lanes) for each in args[1:3]]
    targets, sources = _TARGETS[name](positions(tuple(args[0].shape)), *where), positions(tuple(added.shape))
    if name.startswith("scatter"):  # of whose source no more is read than the index is large
        sources = sources[tuple(map(slice, targets.shape))]
    columns, given = columns_of(args[0], run.lanes), columns_of(added, run.lanes)
    rows: dict[int, list[Column]] = {}
    for target, source in zip(_listed(targets), _listed(sources.expand(targets.shape)), strict=True):
        rows.setdefault(target, [columns[target]] * kwargs.get("include_self", True)).append(given[source])
    kind = args[4] if name == "scatter_reduce" else "sum"
    if kind == "mean" and not out.is_floating_point():
        raise Undecided("a mean of whole numbers")
    for target, row in rows.items():
        first, *others = row
        total = reduce(_KERNELS[kind], (each.scaled(kwargs.get("alpha", 1)) for each in others), first)
        columns[target] = total / run.lanes.constant(len(row)) if kind == "mean" else total
    return new_tensor(run.lanes, run.held(columns, out.dtype), out)


def _listed(places: torch.Tensor) -> list[int]:
    return places.reshape(-1).tolist()


def _is_mask(args: tuple[Any, ...]) -> bool:
    """Whether ``x[mask] = number`` is written."""
    (first, *others), value = args[1], args[2]
    single = not others and isinstance(first, StandIn) and first.dtype == torch.bool
    return single and first.shape == args[0].shape and value.numel() == 1 and not any(args[3:])


def _convert(run: Interpreter, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``to``: of real numbers nothing may be lost."""
    out, columns = shaped(func, args, {**kwargs, "device": None}), args[0].elements()
    if run.is_rounded(out.dtype):
        return rounded(run.lanes, func, args, kwargs, out)
    if args[0].is_floating_point() and not out.is_floating_point() and out.dtype != torch.bool:
        columns = [of.stepped("trunc", each) for each in columns]
    return new_tensor(run.lanes, run.held(columns, out.dtype), out)


def _filled(run: Interpreter, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``zeros_like`` and its like: constants, that can be written into."""
    made = func(torch.empty_strided(args[0].shape, args[0].stride(), dtype=args[0].dtype), *args[1:], **kwargs)
    return run.filled(func, made)


# ---------------------------------------------------------------- sums

_REDUCTIONS: dict[str, tuple[Kernel, float]] = {
    "sum": (add, 0.0),
    "prod": (mul, 1.0),
    "all": (mul, 1.0),
    "amax": (of.greatest, math.nan),
    "amin": (of.least, math.nan),
}


def _reduction(run: Interpreter, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    kernel, of_none = _REDUCTIONS[name_of(func)]
    out, columns = shaped(func, args, kwargs), columns_of(args[0], run.lanes)
    dims = args[1] if len(args) > 1 else None
    dims = dims if isinstance(dims, list | tuple | None) else [dims]
    columns = list(map(of.is_true, columns)) if out.dtype == torch.bool else columns
    rows = [[columns[each] for each in group] for group in groups(args[0].shape, dims)]
    rows = [sorted(row, key=lambda each: type(each.values) is not Uniform) for row in rows]  # those once for all lanes
    found = [reduce(kernel, row) if row else run.lanes.constant(of_none) for row in rows]
    return new_tensor(run.lanes, run.held(found, out.dtype), out)


# ---------------------------------------------------------------- formulas, and writing


def _composed(formula: Callable[..., Any]) -> Handler:
    """The handler of an operation that is a formula of others, ours or torch's own."""

    def handler(run: Interpreter, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        out = shaped(func, args, kwargs)
        with run:
            result = formula(*args, **kwargs)
        first, expected = (result[0], out[0]) if isinstance(out, tuple | list) else (result, out)
        if first.dtype != expected.dtype or first.shape != expected.shape:
            raise Undecided(f"{name_of(func)} in another dtype")
        return result

    return handler


def _in_place(run: Interpreter, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``mul_`` and its like: what ``mul`` returns is written into the memory of the first argument."""
    target, name = args[0], name_of(func).removesuffix("_")
    if not isinstance(target, StandIn):
        raise Undecided("it writes into a tensor that it has not made here")
    if name in ("copy", "fill", "zero"):
        _write(run, target, args[1] if len(args) > 1 else 0.0)
        return target
    overloads = getattr(torch.ops.aten, name, None)
    overload = func._schema.overload_name or "default"
    function = getattr(overloads, f"Tensor_{overload}" if name == "pow" else overload, None)
    handler = None if function is None or name in _VIEWS else handler_of(function)
    if handler is None:
        raise Undecided(f"{name}_ is not enclosed")
    _write(run, target, handler(run, function, args, kwargs))
    return target


def _write(run: Interpreter, target: StandIn, value: Any) -> None:
    if not isinstance(value, torch.Tensor):
        value = torch.as_tensor(value, dtype=target.dtype)
    elif value.dtype != target.dtype:
        with run:
            value = value.to(target.dtype)
    columns = columns_of(value, run.lanes)
    sources = positions(tuple(value.shape)).expand(target.shape).reshape(-1).tolist()
    places = target.places.reshape(-1).tolist()
    if len(set(places)) < len(places):
        raise Undecided("it writes into elements that share their memory")
    for place, source in zip(places, sources, strict=True):
        target.store.columns[place] = columns[source]


HANDLERS: dict[str, Handler] = {
    **{name: _composed(formula) for name, formula in (FORMULAS | WINDOWS | LINEAR_ALGEBRA).items()},
    **dict.fromkeys(ELEMENTWISE, _elementwise),
    **dict.fromkeys(_REDUCTIONS, _reduction),
    **dict.fromkeys(_VIEWS, _view),
    **dict.fromkeys(_MOVED, _move),
    **dict.fromkeys(("scatter_add", "scatter_reduce", "index_add"), _accumulate),
    **dict.fromkeys(("zeros_like", "ones_like", "full_like", "empty_like"), _filled),
    **dict.fromkeys(("new_zeros", "new_ones", "new_full", "new_empty"), _filled),
    "_to_copy": _convert,
    "nonzero": lambda run, func, args, kwargs: func(concrete(args[0], run.lanes)),
    "_local_scalar_dense": lambda run, func, args, kwargs: python_number(args[0], run.lanes),
}


def handler_of(func: Any) -> Handler | None:
    """How an operation is interpreted; None where it is not enclosed. What torch has a formula for is that."""
    name = name_of(func)
    if func.namespace != "aten":
        return None
    if name in HANDLERS:
        return HANDLERS[name]
    if name.endswith("_") and not name.endswith("__"):
        return _in_place
    if torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"):
        return _composed(func.decompose)
    formula = decomposition_table.get(func)
    return formula and _composed(inspect.unwrap(formula))  # what it is wrapped in would import torch's compiler
