"""A Function that runs on a GPU alone, called with tensors that are elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from .arguments import as_tensor_or_tuple, callable_of
from .devices import devices


@dataclass(frozen=True, eq=False)
class DeviceCall:
    """A Function, or a plain function of tensors, that is called on a ``device``, wherever its tensors are.

    They are moved there, and what it returns to where the first of them was; autograd takes gradients both ways.
    """

    function: Callable[..., Any]
    device: str

    def __call__(self, *given: Any) -> Any:
        """Call it with these arguments, also with tensors in lists and tuples."""
        home = next((each.device for each in given if isinstance(each, torch.Tensor)), torch.device("cpu"))
        returned = as_tensor_or_tuple(callable_of(self.function)(*(_moved(each, self.device) for each in given)))
        return _moved(returned, home)


def _moved(value: Any, device: str | torch.device) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if type(value) in (list, tuple):
        return type(value)(_moved(each, device) for each in value)
    return value


def on_gpu(function: Callable[..., Any]) -> DeviceCall | None:
    """The same called on the GPU of this machine; None where there is none, or where it is called there already."""
    gpu = devices()[0].kind
    return None if gpu == "cpu" or isinstance(function, DeviceCall) else DeviceCall(function, gpu)


def without_device(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself, wherever it is called."""
    return function.function if isinstance(function, DeviceCall) else function
