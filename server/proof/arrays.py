"""What stands in for an array of NumPy: functions of which torch has the same, on enclosures; all else is refused."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.lib.mixins import NDArrayOperatorsMixin
from torch.overrides import TorchFunctionMode

from .interpreter import flat
from .ranging import Ranging
from .stand_in import StandIn, refuse

# What has another name in torch; all others have the same, and say the same.
_NAMES = {"power": "pow", "rint": "round", "fabs": "abs", "invert": "logical_not", "equal": "eq"}
_OF_TENSORS = ("maximum", "minimum", "hypot", "logaddexp")  # which take no numbers of Python
_FUNCTIONS = ("where", "clip", "sum", "mean")
_OF_NUMBERS = (torch.tensor, torch.as_tensor, torch.asarray, torch.scalar_tensor, torch.Tensor.new_tensor)


class ArrayStandIn(NDArrayOperatorsMixin):
    """An array of float64 or of truths, whose numbers are those of a stand-in for a tensor."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            refuse(f"numpy.{ufunc.__name__} is not enclosed")
        return _called(ufunc.__name__, *inputs)

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        if function.__name__ not in _FUNCTIONS:
            refuse(f"numpy.{function.__name__} is not enclosed")
        return _called(function.__name__, *args, **options)

    def __getitem__(self, place: Any) -> ArrayStandIn:
        places = place if isinstance(place, tuple) else (place,)
        if not all(each is None or each is Ellipsis or isinstance(each, int | slice) for each in places):
            refuse("an index of an array that is not enclosed")
        return ArrayStandIn(self.tensor[place])

    def __getattr__(self, name: str) -> Any:
        if name in ("shape", "ndim"):
            return getattr(self.tensor, name)
        return partial(_called, name, self) if name in ("sum", "mean") else refuse(f"numpy's {name} is not enclosed")

    def __array__(self, *_: Any, **__: Any) -> Any:
        refuse("an array is asked for its numbers")

    def __setitem__(self, place: Any, value: Any) -> None:
        refuse("it writes into an array")


def _called(name: str, *inputs: Any, **options: Any) -> ArrayStandIn:
    function = getattr(torch, _NAMES.get(name, name), None)
    if function is None or not options.keys() <= {"axis", "keepdims"}:
        refuse(f"numpy.{name} is not enclosed")
    given = [_tensor(each) for each in inputs]
    if name in _OF_TENSORS:
        given = [torch.as_tensor(each, dtype=torch.float64) for each in given]
    return ArrayStandIn(function(*given, **options))


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
        if function in _OF_NUMBERS and any(type(each) is Ranging for each in flat(args)):
            refuse(f"{function.__name__} of a number that is held in a range")
        if args and isinstance(args[0], ArrayStandIn):
            if function in (torch.as_tensor, torch.from_numpy, torch.tensor) and not kwargs:
                return args[0].tensor.clone() if function is torch.tensor else args[0].tensor
            refuse("an array in the place of a tensor")
        return function(*args, **(kwargs or {}))
