"""Operations on each element: arithmetic, functions, comparisons; and what torch says of shape and dtype."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import torch
from flint import arb_series

from . import decisions as kinks
from .decisions import Column, Lanes, Parted, Truths, Undecided
from .enclosure import (
    SMOOTH,
    Value,
    add,
    constant,
    divide,
    exact_number,
    general_power,
    head,
    multiply,
    subtract,
)
from .interpreter import Handler, Interpreter
from .stand_in import Degree, StandIn, as_numbers, columns_of, new_tensor, positions

_EXACT_WHOLE = 256  # bound: whole numbers up to it are held by each floating dtype
_LARGEST_WHOLE = 1 << 31  # bound: of a result in whole numbers, which wrap beyond what they hold
Kernel = Callable[..., Any]
_LINEAR = ("aten::add", "aten::sub", "aten::rsub", "aten::neg")  # after which nothing is gained by Taylor's theorem

# ---------------------------------------------------------------- shape and dtype, by torch itself on ones


def meta(func: Any, args: Any, kwargs: Any) -> Any:
    """What torch says of shape, strides and dtype of the result."""
    return _meta_cached(func, _key(args), tuple((name, _key((each,))[0]) for name, each in sorted(kwargs.items())))


@lru_cache(maxsize=4096)
def _meta_cached(func: Any, args: Any, kwargs: Any) -> Any:
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


def checked(run: Interpreter, dtype: torch.dtype, columns: list[Any]) -> list[Any]:
    """The columns, if their numbers are held by the dtype as they are; else it is refused."""
    if dtype == run.real or dtype == torch.bool or (dtype == torch.float64 and run.real == torch.float32):
        return columns
    if dtype not in (torch.int64, torch.int32):
        raise Undecided(f"it computes in {str(dtype).removeprefix('torch.')}")
    if all(abs(head(each)) < _LARGEST_WHOLE for column in columns for each in as_numbers(column)):
        return columns
    raise Undecided("large whole numbers")


def is_rounded(run: Interpreter, dtype: torch.dtype) -> bool:
    """Whether a dtype holds real numbers with fewer digits."""
    return dtype.is_floating_point and dtype != run.real


def folded(run: Interpreter, func: Any, args: Any, kwargs: Any, out: Any) -> StandIn:
    """Torch's own result, rounded as it is, of numbers that are known exactly; else it is refused."""
    lanes, known = run.lanes, dict[Any, list[float]]()
    given = [columns_of(each, lanes) if isinstance(each, torch.Tensor) else None for each in args]
    keys = [
        tuple(each and _exactly([column[lane] for column in each]) for each in given) for lane in range(lanes.count)
    ]
    undecided = [any(each and None in each for each in key) for key in keys]
    if any(undecided):
        raise Parted([None if each else 0 for each in undecided[: len(lanes.balls)]])
    for key in set(keys):
        tensors = [
            each if values is None else torch.tensor(values, dtype=each.dtype).reshape(each.shape)
            for each, values in zip(args, key, strict=True)
        ]
        known[key] = func(*tensors, **kwargs).double().reshape(-1).tolist()
    no_degree(run, args)
    columns: list[Any] = [[constant(known[key][place]) for key in keys] for place in range(out.numel())]
    return new_tensor(lanes, columns, out, 0)


def _exactly(values: list[Any]) -> tuple[float | None, ...]:
    """The numbers as floats; None of a truth that is not decided."""
    found: list[float | None] = []
    for each in values:
        exact = each if isinstance(each, bool) or each is None else exact_number(each)
        if exact is None and isinstance(each, arb_series):
            raise Undecided("it computes with fewer digits")
        number = None if exact is None else float(exact)
        if number is not None and not isinstance(exact, bool) and constant(number)[0] != exact:
            raise Undecided("it computes with fewer digits")
        found.append(number)
    return tuple(found)


# ---------------------------------------------------------------- degrees of grad_output


def _degree(each: Any) -> Degree:
    """The power of grad_output that it is proportional to; None of zeros."""
    if isinstance(each, StandIn):
        return each.store.degree
    if isinstance(each, torch.Tensor):
        return 0 if each.any() else None
    return 0 if each else None


def same_degree(run: Interpreter, values: Sequence[Any]) -> Degree:
    degrees = {_degree(each) for each in values if each is not None} - {None}
    run.mixed |= len(degrees) > 1
    return degrees.pop() if degrees else None


def no_degree(run: Interpreter, values: Sequence[Any]) -> Degree:
    run.mixed |= any(_degree(each) for each in values if each is not None)
    return 0


def signed(run: Interpreter, values: Sequence[Any]) -> Degree:
    degree = same_degree(run, values)
    run.signed |= bool(degree)
    return degree


def sign_alone(run: Interpreter, values: Sequence[Any]) -> Degree:
    signed(run, values)
    return 0


def _product(run: Interpreter, values: Sequence[Any]) -> Degree:
    degrees = [_degree(each) for each in values]
    return None if None in degrees else sum(each or 0 for each in degrees)


def _quotient(run: Interpreter, values: Sequence[Any]) -> Degree:
    above, below = _degree(values[0]), _degree(values[1])
    run.mixed |= below is None
    return None if above is None else above - (below or 0)


def _chosen(run: Interpreter, values: Sequence[Any]) -> Degree:
    no_degree(run, values[:1])
    return same_degree(run, values[1:])


# ---------------------------------------------------------------- element by element


def _broadcast(run: Interpreter, values: Sequence[Any], shape: tuple[int, ...]) -> list[list[Any] | None]:
    """Of each argument its columns, for each element of the result."""
    found: list[list[Any] | None] = []
    for each in values:
        if each is None:
            found.append(None)
            continue
        columns = columns_of(each, run.lanes)
        if isinstance(each, torch.Tensor) and each.shape != shape:
            columns = [columns[place] for place in positions(tuple(each.shape)).expand(shape).reshape(-1).tolist()]
        elif not isinstance(each, torch.Tensor):
            columns = columns * math.prod(shape)
        found.append(columns)
    return found


def _elementwise(kernel: Kernel, degree: Callable[..., Degree], truths: bool = False) -> Handler:
    """The handler of an operation on elements, from ``kernel(lanes, *columns, **named)``; of ``truths`` if it says."""

    def handler(run: Interpreter, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        out = meta(func, args, kwargs)
        if is_rounded(run, out.dtype):
            return folded(run, func, args, kwargs, out)
        named = {name: each for name, each in kwargs.items() if not isinstance(each, torch.dtype) and each is not None}
        ready = (lambda column: column) if truths else as_numbers
        columns = [
            kernel(run.lanes, *(None if each is None else ready(each) for each in row), **named)
            for row in _rows(_broadcast(run, args, tuple(out.shape)), out.numel())
        ]
        if out.dtype == torch.bool:
            columns = [truths_of(run.lanes, each) for each in columns]
        elif run.lanes.tight and func._schema.name not in _LINEAR:
            columns = [run.lanes.tightened(each) for each in columns]
        return new_tensor(run.lanes, checked(run, out.dtype, columns), out, degree(run, args))

    return handler


def _rows(arguments: list[list[Any] | None], count: int) -> Any:
    return zip(*([None] * count if each is None else each for each in arguments), strict=True)


def truths_of(lanes: Lanes, column: Any) -> Truths:
    if all(each is None or isinstance(each, bool) for each in column):
        return list(column)
    return kinks.compare(lanes, "ne", column, kinks.zeros(lanes))


def _mapped(function: Callable[..., Value]) -> Kernel:
    """A kernel from a function of values."""
    return lambda lanes, *columns: [function(*values) for values in zip(*columns, strict=True)]


def _logical(function: Callable[..., bool | None]) -> Kernel:
    """A kernel from a function of truths."""

    def kernel(lanes: Lanes, *columns: Any) -> Truths:
        return [function(*values) for values in zip(*(truths_of(lanes, each) for each in columns), strict=True)]

    return kernel


def _sum(lanes: Lanes, a: Column, b: Column, alpha: float = 1) -> Column:
    scaled = b if alpha == 1 else [multiply(each, constant(alpha)) for each in b]
    return [add(x, y) for x, y in zip(a, scaled, strict=True)]


def _difference(lanes: Lanes, a: Column, b: Column, alpha: float = 1) -> Column:
    scaled = b if alpha == 1 else [multiply(each, constant(alpha)) for each in b]
    return [subtract(x, y) for x, y in zip(a, scaled, strict=True)]


def _quotients(lanes: Lanes, a: Column, b: Column, rounding_mode: str = "") -> Column:
    lanes.signs(b)  # where it is 0 is noted
    found = [divide(x, y) for x, y in zip(a, b, strict=True)]
    return kinks.stepped(lanes, rounding_mode, found) if rounding_mode else found


def _with_edges(name: str) -> Kernel:
    """A smooth function, with a note of where its domain ends."""
    edges = {"log1p": (-1.0,), "atanh": (-1.0, 1.0), "asin": (-1.0, 1.0), "acos": (-1.0, 1.0), "acosh": (1.0,)}

    def kernel(lanes: Lanes, a: Column) -> Column:
        for edge in edges.get(name, (0.0,)):
            lanes.signs([subtract(each, constant(edge)) for each in a])
        return [SMOOTH[name](each) for each in a]

    return kernel


def _where(lanes: Lanes, condition: Truths, yes: Any, no: Any) -> Column:
    return kinks.choose(truths_of(lanes, condition), as_numbers(yes), as_numbers(no))


def _finite(lanes: Lanes, a: Column) -> Truths:
    return [True if head(each).is_finite() else None for each in a]


def _power(lanes: Lanes, a: Column, b: Column) -> Column:
    if any(exact_number(each) is None or not exact_number(each).is_integer() for each in b):  # type: ignore[union-attr]
        lanes.signs(a)
    return [general_power(x, y) for x, y in zip(a, b, strict=True)]


_EDGED = ("log", "log2", "log10", "sqrt", "rsqrt", "reciprocal", "log1p", "atanh", "asin", "acos", "acosh", "lgamma")
ELEMENTWISE: dict[str, Handler] = {
    **{name: _elementwise(_mapped(each), no_degree) for name, each in SMOOTH.items()},
    **{name: _elementwise(_with_edges(name), no_degree) for name in (*_EDGED, "digamma", "special_entr")},
    "neg": _elementwise(_mapped(SMOOTH["neg"]), same_degree),
    **{
        name: _elementwise(lambda lanes, a, name=name: kinks.stepped(lanes, name, a), no_degree)
        for name in ("floor", "ceil", "trunc", "round")
    },
    "add": _elementwise(_sum, same_degree),
    "sub": _elementwise(_difference, same_degree),
    "rsub": _elementwise(lambda lanes, a, b, alpha=1: _difference(lanes, b, a, alpha), same_degree),
    "mul": _elementwise(_mapped(multiply), _product),
    "div": _elementwise(_quotients, _quotient),
    "pow": _elementwise(_power, no_degree),
    "abs": _elementwise(kinks.absolute, signed),
    "sign": _elementwise(kinks.sign, sign_alone),
    "sgn": _elementwise(kinks.sign, sign_alone),
    "relu": _elementwise(lambda lanes, a: kinks.greatest(lanes, a, kinks.zeros(lanes)), signed),
    "clamp": _elementwise(lambda lanes, a, low=None, high=None: kinks.clamp(lanes, a, low, high), signed),
    "clamp_min": _elementwise(kinks.greatest, signed),
    "clamp_max": _elementwise(kinks.least, signed),
    "minimum": _elementwise(kinks.least, signed),
    "maximum": _elementwise(kinks.greatest, signed),
    "fmin": _elementwise(kinks.least, signed),
    "fmax": _elementwise(kinks.greatest, signed),
    "where": _elementwise(_where, _chosen, truths=True),
    "masked_fill": _elementwise(
        lambda lanes, a, mask, value: _where(lanes, mask, value, a),
        lambda run, values: _chosen(run, (values[1], values[0], values[2])),
        truths=True,
    ),
    **{
        name: _elementwise(
            lambda lanes, a, b, name=name: kinks.compare(lanes, name, a, b),
            sign_alone,
        )
        for name in ("gt", "ge", "lt", "le", "eq", "ne")
    },
    "isfinite": _elementwise(_finite, no_degree),
    **{
        name: _elementwise(lambda lanes, a: list(map(kinks.negated, _finite(lanes, a))), no_degree)
        for name in ("isnan", "isinf")
    },
    **{
        name: _elementwise(_logical(each), no_degree, truths=True)
        for names, each in (
            (("bitwise_and", "logical_and", "__and__"), kinks.both),
            (("bitwise_or", "logical_or", "__or__"), kinks.either),
            (("bitwise_xor", "logical_xor", "__xor__"), kinks.differ),
            (("bitwise_not", "logical_not"), kinks.negated),
        )
        for name in names
    },
}


def _of_truths(inner: Handler) -> Handler:
    """The bits of whole numbers are refused."""

    def handler(run: Interpreter, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if any(isinstance(each, torch.Tensor) and each.dtype != torch.bool for each in args):
            raise Undecided("bits of whole numbers")
        return inner(run, func, args, kwargs)

    return handler


ELEMENTWISE |= {name: _of_truths(each) for name, each in ELEMENTWISE.items() if name.startswith(("bitwise_", "__"))}
