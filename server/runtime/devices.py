"""The available devices (CUDA, MPS, CPU) and the dtypes that each supports."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

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
