"""What stands in for an array of NumPy: functions of which torch has the same, on enclosures; all else is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.lib.mixins import NDArrayOperatorsMixin
from torch.overrides import TorchFunctionMode

from .stand_in import StandIn, refuse

_SAME = (
    *("exp", "expm1", "exp2", "log", "log1p", "log2", "log10", "sqrt", "square", "reciprocal", "negative", "positive"),
    *("sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh"),
    *("add", "subtract", "multiply", "divide", "maximum", "minimum", "hypot", "logaddexp"),
    *("floor", "ceil", "trunc", "sign", "absolute", "greater", "greater_equal", "less", "less_equal", "equal"),
    *("not_equal", "logical_and", "logical_or", "logical_xor", "logical_not", "bitwise_and", "bitwise_or", "where"),
)
_ALIKE = {
    "power": torch.pow,
    "rint": torch.round,
    "fabs": torch.abs,
    "invert": torch.logical_not,
    "clip": torch.clamp,
    "abs": torch.abs,
}
_OF_TENSORS = ("maximum", "minimum", "hypot", "logaddexp")  # which take no numbers of Python
_OVER_AXES = {"sum": torch.sum, "mean": torch.mean}
_FUNCTIONS: dict[str, Callable[..., Any]] = {name: getattr(torch, name) for name in _SAME} | _ALIKE


class ArrayStandIn(NDArrayOperatorsMixin):
    """An array of float64 or of truths, whose numbers are those of a stand-in for a tensor."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options or ufunc.__name__ not in _FUNCTIONS:
            refuse(f"numpy.{ufunc.__name__} is not enclosed")
        given = [_tensor(each) for each in inputs]
        if ufunc.__name__ in _OF_TENSORS:
            given = [torch.as_tensor(each, dtype=torch.float64) for each in given]
        return ArrayStandIn(_FUNCTIONS[ufunc.__name__](*given))

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        name = function.__name__
        if name in _OVER_AXES:
            return _over_axes(name, *args, **options)
        if options or name not in ("where", "clip"):
            refuse(f"numpy.{name} is not enclosed")
        return ArrayStandIn(_FUNCTIONS[name](*map(_tensor, args)))

    def __getitem__(self, place: Any) -> ArrayStandIn:
        places = place if isinstance(place, tuple) else (place,)
        if not all(each is None or each is Ellipsis or isinstance(each, int | slice) for each in places):
            refuse("an index of an array that is not enclosed")
        return ArrayStandIn(self.tensor[place])

    def __getattr__(self, name: str) -> Any:
        if name in _OVER_AXES:
            return lambda *args, **options: _over_axes(name, self, *args, **options)
        if name in ("shape", "ndim"):
            return getattr(self.tensor, name)
        return refuse(f"numpy's {name} is not enclosed")

    def __array__(self, *_: Any, **__: Any) -> Any:
        refuse("an array is asked for its numbers")

    def __setitem__(self, place: Any, value: Any) -> None:
        refuse("it writes into an array")


def _over_axes(name: str, array: Any, axis: Any = None, **options: Any) -> ArrayStandIn:
    keepdims = options.pop("keepdims", False)
    if options:
        refuse(f"numpy.{name} with {', '.join(options)}")
    tensor = _tensor(array)
    dims = tuple(range(tensor.dim())) if axis is None else axis
    return ArrayStandIn(_OVER_AXES[name](tensor, dim=dims, keepdim=keepdims))


def _tensor(value: Any) -> Any:
    if isinstance(value, ArrayStandIn):
        return value.tensor
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value) if value.dtype in (np.float64, np.bool_) else refuse("an array of another dtype")
    return value if isinstance(value, int | float) else refuse("an array beside something else")


def array_of(tensor: StandIn, *_: Any, force: bool = False) -> ArrayStandIn:
    """``numpy()``."""
    if tensor.dtype not in (torch.float64, torch.bool) or (tensor.requires_grad and not force):
        refuse("an array of what cannot be one")
    return ArrayStandIn(tensor)


class ArraysToTensors(TorchFunctionMode):
    """While it is entered, torch makes tensors of these arrays."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if args and isinstance(args[0], ArrayStandIn):
            if function in (torch.as_tensor, torch.from_numpy) and not kwargs:
                return args[0].tensor
            if function is torch.tensor and not kwargs:
                return args[0].tensor.clone()
            refuse("an array in the place of a tensor")
        return function(*args, **(kwargs or {}))
