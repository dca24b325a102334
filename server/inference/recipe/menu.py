"""What a recipe may name besides literals; nothing in it is ever evaluated."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch


def identity(x: Any) -> Any:
    """Return what is given: the plainest callable a recipe can name."""
    return x


FLOATS = ("float64", "float32", "float16", "bfloat16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
DTYPES = (*FLOATS, *INTEGERS, "bool")
FUNCTIONS = ("tanh", "abs", "exp", "sin", "relu", "sigmoid", "mul", "sub", "addcmul")
KINDS = (*DTYPES, "complex64", "complex128", "float8_e4m3fn")
MODULE = "torch.nn.Tanh()"
MENU: dict[str, Any] = {
    "identity": identity,
    **{f"torch.{name}": getattr(torch, name) for name in (*FUNCTIONS, *KINDS)},
    MODULE: torch.nn.Tanh(),
    **{name: float(name) for name in ("inf", "-inf", "nan")},
}
# An object of which only attributes are read is written with them.
ATTRIBUTES = "types.SimpleNamespace"


def word(value: Any) -> str:
    """How a recipe names a value that no literal writes: something to call, or a dtype; "" if it has no name."""
    named = callable(value) or isinstance(value, torch.dtype)
    found = next((text for text, known in MENU.items() if named and value is known), "")
    return found or (str(value) if isinstance(value, torch.dtype) else "")


def attributes(value: Any) -> dict[str, Any] | None:
    """The attributes of an object that a recipe can write; None for anything else."""
    return vars(value) if type(value) is SimpleNamespace else None
