"""What was asked, in one line: parameters, where inputs are held, grad_output, dtype and device."""

from __future__ import annotations

from ..documents.typography import chosen
from ..protocol.frames import Frame
from ..url.address import spelled


def asked(answer: Frame) -> str:
    """Every choice that the curves depend on; lists of numbers are left out."""
    header = answer.header
    held = {name: values[0] for name, values in header["inputs"].items() if len(values) == 1}
    choices = {**header["parameters"], **held, "grad_output": header["grad_output"]}
    named = [f"{name} = {spelled(value, chosen)}" for name, value in choices.items() if name != header["wrt"]]
    order = " · second derivative" if header["order"] == 2 else ""
    return f"{', '.join(named)}{order} · {header['dtype']} on {header['device']['kind']}"
