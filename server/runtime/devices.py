"""The available devices (CUDA, MPS, CPU), the dtypes that each supports, and Functions that run on a GPU alone."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from .arguments import as_tensor_or_tuple, callable_of

TORCH_DTYPES = {
    "float64": torch.float64,
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}


@dataclass(frozen=True)
class Device:
    """A device torch can use: its kind (``cpu``, ``cuda``, ``mps``), its name and its dtypes."""

    kind: str
    name: str
    dtypes: tuple[str, ...]


@cache
def devices() -> tuple[Device, ...]:
    """The available devices, the one that ``auto`` selects first: CUDA, else MPS, else the CPU."""
    found = []
    if torch.cuda.is_available():
        found.append(Device("cuda", torch.cuda.get_device_name(), tuple(TORCH_DTYPES)))
    if torch.backends.mps.is_available():
        found.append(Device("mps", "Apple GPU (Metal)", tuple(name for name in TORCH_DTYPES if name != "float64")))
    return (*found, Device("cpu", _processor(), tuple(TORCH_DTYPES)))


def gpu_error() -> str:
    """The error after which this process can use its GPU no more, on one line; empty where there is none.

    CUDA reports it late, and to whoever waits for the GPU next.
    """
    cuda: Any = torch.cuda  # partly untyped
    if cuda.is_initialized():
        try:
            cuda.synchronize()
        except RuntimeError as error:
            return str(error).partition("\n")[0]
    return ""


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
            named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    except OSError:
        named = []
    return named[0] if named and named[0] else platform.processor() or platform.machine() or "CPU"


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


class _Gpu:
    """Whether what does not run on the CPU may be called on a GPU."""

    allowed = True


@contextmanager
def without_gpu() -> Iterator[None]:
    """Inside, nothing is called on a GPU for want of a call on the CPU."""
    _Gpu.allowed = False
    try:
        yield
    finally:
        _Gpu.allowed = True


def on_gpu(function: Callable[..., Any]) -> DeviceCall | None:
    """The same called on the GPU of this machine; None where there is none, or where it is called there already."""
    gpu = devices()[0].kind
    here = gpu == "cpu" or not _Gpu.allowed
    return None if here or isinstance(function, DeviceCall) else DeviceCall(function, gpu)


def without_device(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself, wherever it is called."""
    return function.function if isinstance(function, DeviceCall) else function
