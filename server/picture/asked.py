"""What was asked, in one line: parameters, where inputs are held, grad_output, dtype and device."""

from __future__ import annotations

from typing import Any

from ..frames import Frame
from .typography import number


def asked(answer: Frame) -> str:
    """Every choice that the curves depend on; lists of numbers are left out."""
    header = answer.header
    held = {name: values[0] for name, values in header["inputs"].items() if len(values) == 1}
    chosen = {**header["parameters"], **held, "grad_output": header["grad_output"]}
    named = [f"{name} = {_value(value)}" for name, value in chosen.items() if name != header["wrt"]]
    return f"{', '.join(named)} · {header['dtype']} on {header['device']['kind']}"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else number(value)
