"""Addresses of sections: the record ``Address``, its defaults, and its canonical (shortest) path and query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Any
from urllib.parse import quote

from ..protocol.question import DEFAULT_COUNT, VIEW_NAMES, Element, ParameterValue, Question
from .numbers import write_number

LAYOUTS = ("stacked", "overlaid")
THEMES = ("auto", "light", "dark")
HIDEABLE_PARTS = ("title", "verdict", "legend", "controls", "source", "reading")
_DEFAULT_REACH = 3  # a parameter without a bound is swept this far to either side of its default


@dataclass(frozen=True)
class Address:
    """A question to the engine, and the options of its display.

    ``hide`` are the parts of the page that are left out; ``width`` and ``height`` are pixels, None where the
    representation chooses; ``sliders`` are the controls that stay live in a file of its own, each with its number of
    values.
    """

    question: Question
    layout: str = LAYOUTS[0]
    theme: str = THEMES[0]
    hide: tuple[str, ...] = ()
    width: int | None = None
    height: int | None = None
    sliders: tuple[tuple[str, int], ...] = ()


def curves_only(address: Address) -> Address:
    """The address of the main figure, in the view ``curves`` and without the options of the other views."""
    options: dict[str, Any] = dict.fromkeys(("at", "lr", "steps", "goal", "wrt2", "start2", "stop2"))
    return replace(address, question=replace(address.question, view=VIEW_NAMES[0], compile=False, **options))


def without_display_options(address: Address) -> Address:
    """The address without its display options: theme, hidden parts, size of a picture, sliders."""
    return replace(address, theme=THEMES[0], hide=(), width=None, height=None, sliders=())


def with_range(address: Address, span: tuple[float, float]) -> Address:
    """The address with another range of x."""
    return replace(address, question=replace(address.question, start=span[0], stop=span[1]))


def value_bounds(parameter: dict[str, Any]) -> tuple[float, float]:
    """The least and the greatest value of a numeric parameter; infinite where it has no bound."""
    low, high = parameter["minimum"], parameter["maximum"]
    return (float("-inf") if low is None else low, float("inf") if high is None else high)


def default_ranges(op: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """The default range of everything numeric, by name: an input's domain, a parameter's bounds."""
    domains = {each["name"]: (each["domain"][0], each["domain"][1]) for each in op["inputs"]}
    return domains | {each["name"]: _usual_range(each) for each in op["parameters"] if each["kind"] in ("float", "int")}


def _usual_range(parameter: dict[str, Any]) -> tuple[float, float]:
    low, middle, high = parameter["minimum"], parameter["default"], parameter["maximum"]
    return (middle - _DEFAULT_REACH if low is None else low, middle + _DEFAULT_REACH if high is None else high)


def default_address(op: dict[str, Any], wrt: Element | None = None) -> Address:
    """The address of an op without a query, or with nothing but ``wrt`` in it."""
    wrt = wrt or Element(op["wrt"]["name"], tuple(op["wrt"]["index"]))
    start, stop = default_ranges(op)[wrt.name]
    return Address(
        Question(
            op=op["name"],
            wrt=wrt,
            of=Element(op["of"]["name"], tuple(op["of"]["index"])),
            start=start,
            stop=stop,
            count=DEFAULT_COUNT,
            parameters={each["name"]: each["default"] for each in op["parameters"]},
            inputs={each["name"]: tuple(map(float, each["values"])) for each in op["inputs"]},
            dtype=op["dtype"],
            recipe=op["usual_recipe"],
        )
    )


def default_wrt2(op: dict[str, Any], wrt: Element) -> Element | None:
    """The default of ``wrt2``: what a surface sweeps beside ``wrt``; None where there is no other number to sweep.

    The same element of the next input, where the outputs are as large as both; else the next element of its tensor,
    the next input, or a float parameter.
    """
    inputs = {each["name"]: each["shape"] for each in op["inputs"]}
    names, shape = list(inputs), inputs.get(wrt.name, [])
    others = names[names.index(wrt.name) + 1 :] + names[: names.index(wrt.name)] if wrt.name in names else names
    size = prod(shape)
    if wrt.name in names and all(prod(out["shape"]) == size for out in op["outputs"]):
        for name in others:
            if inputs[name] == shape:
                return Element(name, wrt.index)
    if wrt.name in names and size > 1:
        return Element(wrt.name, _next_index(wrt.index, shape))
    numbers = [each["name"] for each in op["parameters"] if each["kind"] == "float" and each["name"] != wrt.name]
    first = [Element(name, (0,) * len(inputs[name]) if prod(inputs[name]) > 1 else ()) for name in others]
    return next(iter([*(each for each in first if prod(inputs[each.name])), *map(Element, numbers)]), None)


def _next_index(index: tuple[int, ...], shape: list[int]) -> tuple[int, ...]:
    """The element after this one in row-major order, the first one after the last."""
    digits, carry = [], 1
    for i, size in zip(reversed(index), reversed(shape), strict=True):
        carry, digit = divmod(i + carry, size)
        digits.append(digit)
    return tuple(reversed(digits))


def query_values(address: Address) -> dict[str, str]:
    """Every query parameter as text, by name; empty where the numerics choose the value."""
    asked = address.question
    return {
        **{name: value_text(value) for name, value in asked.parameters.items()},
        **{name: _values_text(values) for name, values in asked.inputs.items()},
        "wrt": str(asked.wrt),
        "of": str(asked.of),
        "start": write_number(asked.start),
        "stop": write_number(asked.stop),
        "count": write_number(asked.count),
        "grad_output": write_number(asked.grad_output),
        "order": str(asked.order),
        "dtype": asked.dtype,
        "device": asked.device,
        "step": _number_text(asked.step),
        "atol": _number_text(asked.atol),
        "rtol": _number_text(asked.rtol),
        "layout": address.layout,
        "theme": address.theme,
        "hide": ",".join(address.hide),
        "width": _number_text(address.width),
        "height": _number_text(address.height),
        "sliders": ",".join(f"{name}:{values}" if values else name for name, values in address.sliders),
        "view": asked.view,
        "at": _number_text(asked.at),
        "compile": value_text(asked.compile),
        "lr": _number_text(asked.lr),
        "steps": _number_text(asked.steps),
        "goal": _values_text(asked.goal or ()),
        "wrt2": "" if asked.wrt2 is None else str(asked.wrt2),
        "start2": _number_text(asked.start2),
        "stop2": _number_text(asked.stop2),
        "recipe": asked.recipe,
    }


def default_query_values(op: dict[str, Any], wrt: Element) -> dict[str, str]:
    """The defaults of all query parameters as text, in order; ``start`` and ``stop`` are those of ``wrt``."""
    return query_values(default_address(op, wrt)) | {"wrt": query_values(default_address(op))["wrt"]}


def canonical_address(op: dict[str, Any], address: Address, place: str = "/ops/{name}") -> str:
    """The canonical path and query: declared order, defaults left out; ``place`` is the template of the path."""
    defaults = default_query_values(op, address.question.wrt) | _second_axis_defaults(op, address.question)
    query = encoded_query({name: text for name, text in query_values(address).items() if text != defaults[name]})
    return place.format(name=op["name"]) + (f"?{query}" if query else "")


def encoded_query(values: dict[str, str]) -> str:
    """The query string of these parameters, with as few characters escaped as may be."""
    return "&".join(f"{quote(name)}={quote(text, safe='[],;:')}" for name, text in values.items())


def _second_axis_defaults(op: dict[str, Any], asked: Question) -> dict[str, str]:
    """The defaults of a surface's second element and its range."""
    if asked.wrt2 is None:
        return {}
    low, high = default_ranges(op)[asked.wrt2.name]
    return {"wrt2": str(default_wrt2(op, asked.wrt)), "start2": write_number(low), "stop2": write_number(high)}


def _number_text(value: float | None) -> str:
    return "" if value is None else write_number(value)


def _values_text(values: tuple[float, ...]) -> str:
    return ",".join(map(write_number, values))


def value_text(value: ParameterValue, number: Callable[[float], str] = write_number) -> str:
    """The value of a parameter as text; ``number`` formats numbers."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else number(value)
