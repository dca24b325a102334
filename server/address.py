"""Addresses of sections: every control as text, and the shortest address that says the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from .number import write
from .question import Element, Question, Value

LAYOUTS = ("stacked", "overlaid")
COUNT = 401


@dataclass(frozen=True)
class Address:
    """A question, and how the page lays its curves out."""

    question: Question
    layout: str = LAYOUTS[0]


def bounds(parameter: dict[str, Any]) -> tuple[float, float]:
    """What a numeric parameter may be, infinities included."""
    low, high = parameter["minimum"], parameter["maximum"]
    return (float("-inf") if low is None else low, float("inf") if high is None else high)


def extent(op: dict[str, Any], wrt: Element) -> tuple[float, float]:
    """The interval swept when the address names none: the input's domain, or the parameter's bounds."""
    for each in op["inputs"]:
        if each["name"] == wrt.name:
            start, stop = each["domain"]
            return start, stop
    parameter = next(each for each in op["parameters"] if each["name"] == wrt.name)
    low, high = parameter["minimum"], parameter["maximum"]
    return (parameter["default"] - 3 if low is None else low, parameter["default"] + 3 if high is None else high)


def default(op: dict[str, Any], wrt: Element | None = None) -> Address:
    """The address of an op without a query, or with nothing but ``wrt`` in it."""
    wrt = wrt or Element(op["wrt"]["name"], tuple(op["wrt"]["index"]))
    start, stop = extent(op, wrt)
    return Address(
        Question(
            op=op["name"],
            wrt=wrt,
            of=Element(op["of"]["name"], tuple(op["of"]["index"])),
            start=start,
            stop=stop,
            count=COUNT,
            parameters={each["name"]: each["default"] for each in op["parameters"]},
            inputs={each["name"]: tuple(map(float, each["values"])) for each in op["inputs"]},
        )
    )


def texts(address: Address) -> dict[str, str]:
    """The text of every control by its name in the address; empty where the numerics shall choose."""
    asked = address.question
    numbers = {"step": asked.step, "atol": asked.atol, "rtol": asked.rtol}
    return {
        **{name: _text(value) for name, value in asked.parameters.items()},
        **{name: ",".join(map(write, values)) for name, values in asked.inputs.items()},
        "wrt": str(asked.wrt),
        "of": str(asked.of),
        "start": write(asked.start),
        "stop": write(asked.stop),
        "count": write(asked.count),
        "grad_output": write(asked.grad_output),
        "dtype": asked.dtype,
        "device": asked.device,
        **{name: "" if value is None else write(value) for name, value in numbers.items()},
        "layout": address.layout,
    }


def canonical(op: dict[str, Any], address: Address) -> str:
    """The shortest path and query of this section: declared order, defaults left out."""
    usual = texts(default(op, address.question.wrt)) | {"wrt": texts(default(op))["wrt"]}
    differing = [(name, text) for name, text in texts(address).items() if text != usual[name]]
    query = "&".join(f"{quote(name)}={quote(text, safe='[],;:')}" for name, text in differing)
    return f"/ops/{op['name']}" + (f"?{query}" if query else "")


def _text(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else write(value)
