"""Parsing and validation of the query of a section: a query string in, an ``Address`` out, or ``BadQuery``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

from ..protocol.question import VIEW_NAMES, ParameterValue, Question
from .address import HIDEABLE_PARTS, LAYOUTS, THEMES, Address, default_address, value_bounds
from .numbers import LARGEST, BadQuery, printable_excerpt, read_float, read_int
from .swept_elements import read_element, read_second_axis, shapes_by_name, suggestion, sweepable_shapes

LONGEST_QUERY = 16_384  # bytes of a query string
COUNT_BOUNDS = (2, 5001)
# The largest number allowed for each dtype.
LARGEST_OF_DTYPE = {"float64": LARGEST, "float32": 3.4e38, "bfloat16": 3.3e38, "float16": 65504.0}
_QUERY_NAMES = (
    *("wrt", "of", "start", "stop", "count", "grad_output", "order", "dtype", "device", "step", "atol", "rtol"),
    *("layout", "view", "at", "compile", "lr", "steps", "goal", "wrt2", "start2", "stop2"),
    *("theme", "hide", "width", "height", "sliders", "recipe"),
)
ORDERS = ("1", "2")
STEPS_BOUNDS = (1, 500)  # of a descent
WIDTH_BOUNDS, HEIGHT_BOUNDS = (200, 2400), (150, 2400)  # pixels
SLIDER_VALUE_BOUNDS = (2, 41)  # of one slider
# Tracking parameters that newsletters and social networks append to links; they are ignored.
TRACKING_PARAMETER = re.compile(r"utm_\w+|fbclid|gclid|dclid|msclkid|mc_[ce]id|igshid", re.ASCII)


class QueryTooLong(BadQuery):
    """The query string is too long."""


def read_recipe(query: str) -> str:
    """The ``recipe`` of a visitor's own Function in the query, empty where there is none; raises ``BadQuery``."""
    check_length(query)
    return dict(parse_qsl(query)).get("recipe", "")


def read_address(op: dict[str, Any], device: dict[str, Any], query: str) -> Address:
    """The address that a query string stands for; raises ``BadQuery``."""
    given = _given_parameters(op, query)
    if given.get("recipe") and not op["own"]:
        raise BadQuery(f"recipe is for Functions of your own; {op['name']} declares how it is called, so leave it out.")
    wrt = read_element("wrt", given["wrt"], sweepable_shapes(op)) if "wrt" in given else None
    usual = default_address(op, wrt)
    asked = usual.question
    question = replace(
        asked,
        of=read_element("of", given["of"], shapes_by_name(op["outputs"])) if "of" in given else asked.of,
        start=read_float("start", given["start"]) if given.get("start") else asked.start,
        stop=read_float("stop", given["stop"]) if given.get("stop") else asked.stop,
        count=read_int("count", given["count"], *COUNT_BOUNDS) if "count" in given else asked.count,
        grad_output=read_float("grad_output", given["grad_output"]) if "grad_output" in given else asked.grad_output,
        order=int(_choice("order", given.get("order", str(asked.order)), ORDERS)),
        dtype=_choice("dtype", given.get("dtype", asked.dtype), list(LARGEST_OF_DTYPE)),
        device=_choice("device", given.get("device", "auto"), ["auto", *(d["kind"] for d in device["devices"])]),
        step=read_float("step", given["step"], math.ulp(0.0)) if given.get("step") else None,
        atol=read_float("atol", given["atol"], 0.0) if given.get("atol") else None,
        rtol=read_float("rtol", given["rtol"], 0.0) if given.get("rtol") else None,
        parameters=asked.parameters | {p["name"]: _value(p, given[p["name"]]) for p in _given(op["parameters"], given)},
        inputs=asked.inputs | {i["name"]: _values(i, given[i["name"]]) for i in _given(op["inputs"], given)},
        view=_choice("view", given.get("view", asked.view), VIEW_NAMES),
        at=read_float("at", given["at"]) if given.get("at") else None,
        compile=_choice("compile", given.get("compile", "false"), ("true", "false")) == "true",
        lr=_learning_rate(given["lr"]) if given.get("lr") else None,
        steps=read_int("steps", given["steps"], *STEPS_BOUNDS) if given.get("steps") else None,
        recipe=op["recipe"],
        goal=tuple(read_float("goal", each) for each in _split_values(given["goal"])) if given.get("goal") else None,
    )
    if any(given.get(name) for name in ("wrt2", "start2", "stop2")) or question.view == "surface":
        wrt2, start2, stop2 = read_second_axis(op, question.wrt, given)
        if question.view == "surface":
            question = replace(question, wrt2=wrt2, start2=start2, stop2=stop2)
    _check_dtype(device, question)
    _check_size(question)
    _check_goal(op, question)
    _check_range(op, question)
    return Address(
        question,
        layout=_choice("layout", given.get("layout", usual.layout), LAYOUTS),
        theme=_choice("theme", given.get("theme", usual.theme), THEMES),
        hide=tuple(part for part in HIDEABLE_PARTS if part in _hidden_parts(given.get("hide", ""))),
        width=read_int("width", given["width"], *WIDTH_BOUNDS) if given.get("width") else None,
        height=read_int("height", given["height"], *HEIGHT_BOUNDS) if given.get("height") else None,
        sliders=_sliders(op, given["sliders"]) if given.get("sliders") else (),
    )


def _given(declared: Iterable[dict[str, Any]], given: dict[str, str]) -> list[dict[str, Any]]:
    return [each for each in declared if each["name"] in given]


def _given_parameters(op: dict[str, Any], query: str) -> dict[str, str]:
    check_length(query)
    names = [each["name"] for each in (*op["parameters"], *op["inputs"])] + list(_QUERY_NAMES)
    given: dict[str, str] = {}
    for name, text in parse_qsl(query, keep_blank_values=True):
        if TRACKING_PARAMETER.fullmatch(name):
            continue
        if name not in names:
            raise BadQuery(f"{printable_excerpt(name)!r} is no name of this address{suggestion(name, names)}")
        if name in given:
            raise BadQuery(f"{name} is given twice; give it once.")
        given[name] = text
    return given


def check_length(query: str) -> None:
    """Raises ``QueryTooLong``."""
    if len(query) > LONGEST_QUERY:
        raise QueryTooLong(
            f"The query has {len(query)} bytes; at most {LONGEST_QUERY} are allowed, so leave defaults out."
        )


def _choice(name: str, text: str, choices: Sequence[str]) -> str:
    if text not in choices:
        raise BadQuery(f"{name}={printable_excerpt(text)} is not one of its words{suggestion(text, choices)}")
    return text


def _value(parameter: dict[str, Any], text: str) -> ParameterValue:
    name, kind = parameter["name"], parameter["kind"]
    if kind == "switch":
        return _choice(name, text, ("true", "false")) == "true"
    if kind == "choice":
        return _choice(name, text, parameter["choices"])
    low, high = value_bounds(parameter)
    read_number = read_int if kind == "int" else read_float
    return read_number(name, text, max(low, -LARGEST), min(high, LARGEST))


def _values(declared: dict[str, Any], text: str) -> tuple[float, ...]:
    name, count = declared["name"], math.prod(declared["shape"])
    texts = _split_values(text) if count or text.strip() else []
    if len(texts) != count:
        shape = " of shape [" + ",".join(map(str, declared["shape"])) + "]" if declared["shape"] else ""
        raise BadQuery(
            f"{name}={printable_excerpt(text)} holds {len(texts)} values; "
            f"{name}{shape} needs {count}, separated by commas."
        )
    return tuple(read_float(name, each) for each in texts)


def _split_values(text: str) -> list[str]:
    return re.split(r"[,;]|\r?\n", text.strip())


def _hidden_parts(text: str) -> list[str]:
    return [_choice("hide", part, HIDEABLE_PARTS) for part in text.split(",") if part]


def _sliders(op: dict[str, Any], text: str) -> tuple[tuple[str, int], ...]:
    """The sliders with their numbers of values; 0 for a switch or a choice, which has all of its own."""
    kinds = {"grad_output": "float"} | {each["name"]: each["kind"] for each in op["parameters"]}
    sliders: dict[str, int] = {}
    for each in text.split(","):
        name, _, values = each.partition(":")
        if name not in kinds:
            raise BadQuery(
                f"sliders={printable_excerpt(text)} names {printable_excerpt(name)!r}, "
                f"no control{suggestion(name, list(kinds))}"
            )
        if name in sliders:
            raise BadQuery(f"sliders={printable_excerpt(text)} names {name} twice; name it once.")
        numeric = kinds[name] in ("float", "int")
        if bool(values) != numeric:
            hint = f"say how many, {name}:9" if numeric else f"it has all of its values, so write {name} alone"
            raise BadQuery(f"sliders={printable_excerpt(text)} is wrong for {name}; {hint}.")
        sliders[name] = read_int(f"sliders: {name}", values, *SLIDER_VALUE_BOUNDS) if numeric else 0
    return tuple(sliders.items())


def _check_range(op: dict[str, Any], asked: Question) -> None:
    low, high = next((value_bounds(p) for p in op["parameters"] if p["name"] == asked.wrt.name), (-LARGEST, LARGEST))
    for name, value in (("start", asked.start), ("stop", asked.stop), ("at", asked.place)):
        if not low <= value <= high:
            read_float(name, repr(value), low, high)
    culprit = f"The range from start={asked.start:g} to stop={asked.stop:g}"
    if asked.start == asked.stop:
        raise BadQuery(f"{culprit} is empty; start must be below stop.")
    if asked.start > asked.stop:
        raise BadQuery(f"{culprit} is reversed; start must be below stop.")
    finest = 4 * math.ulp(max(abs(asked.start), abs(asked.stop)))
    if (asked.stop - asked.start) / (asked.count - 1) < finest:
        raise BadQuery(f"{culprit} is too narrow for {asked.count} different points; widen it or lower count.")


def _check_dtype(device: dict[str, Any], asked: Question) -> None:
    for each in device["devices"]:
        if each["kind"] == asked.device and asked.dtype not in each["dtypes"]:
            allowed = ", ".join(each["dtypes"])
            raise BadQuery(f"dtype={asked.dtype} does not exist on {each['name']}; allowed are {allowed}.")


def _learning_rate(text: str) -> float:
    rate = read_float("lr", text)
    if rate <= 0:
        raise BadQuery(f"lr={printable_excerpt(text)} leads nowhere, or uphill; give a number above 0, such as 0.1.")
    return rate


def _check_goal(op: dict[str, Any], asked: Question) -> None:
    shape = next(each["shape"] for each in op["outputs"] if each["name"] == asked.of.name)
    if asked.goal is not None and len(asked.goal) not in (1, math.prod(shape)):
        wanted = "1" if math.prod(shape) == 1 else f"1, or {math.prod(shape)} separated by commas"
        raise BadQuery(f"goal holds {len(asked.goal)} values; what {asked.of.name} is to reach needs {wanted}.")


def _check_size(asked: Question) -> None:
    largest = LARGEST_OF_DTYPE[asked.dtype]
    numbers = [("start", asked.start), ("stop", asked.stop), ("at", asked.place), ("grad_output", asked.grad_output)]
    numbers += [(name, value) for name, values in asked.inputs.items() for value in values]
    numbers += [("start2", asked.start2 or 0.0), ("stop2", asked.stop2 or 0.0)]
    numbers += [("lr", asked.lr or 0.0), *(("goal", each) for each in asked.goal or ())]
    for name, value in numbers:
        if abs(value) > largest:
            raise BadQuery(
                f"{name}={value:g} is too large for {asked.dtype}; give a number of at most {largest:g} in size,"
                " or choose dtype=float64."
            )
