"""Parsing and validation of a query: its words, and the ``Address`` that they stand for, or ``BadQuery``."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

from ..protocol.errors import Refusal
from ..protocol.parameter_kinds import (
    LARGEST,
    DeviceName,
    ElementName,
    Number,
    NumberList,
    QueryParameter,
    Several,
    SliderCounts,
    Switch,
    WordChoice,
)
from ..protocol.question import DTYPES, QUESTION_PARAMETERS, ParameterValue, Question
from ..schema.op import DeviceSummary, InputDescription, OpDescription, ParameterDescription
from .address import (
    ADDRESS_PARAMETERS,
    DRESS,
    FRAME_PARTS,
    PARAMETERS,
    Address,
    SliderCount,
    default_address,
    encoded_query,
    names_of_scope,
    value_bounds,
)
from .numbers import BadQuery, printable_excerpt, read_float, read_int, with_a_point
from .swept_elements import outside, read_element, shapes_by_name, suggestion, sweepable_shapes, with_second_axis

QueryWords = Mapping[str, str]  # the parameters of a query as text, by name

LONGEST_QUERY = 16_384  # bytes of a query string
# The largest number allowed for each dtype.
LARGEST_OF_DTYPE = dict(zip(DTYPES, (LARGEST, 3.4e38, 3.3e38, 65504.0), strict=True))
_SWITCH = ("true", "false")
_OF_MEASURING = ("step", "atol", "rtol")  # they are no numbers that the Function computes with
# Tracking parameters that newsletters and social networks append to links; they are ignored.
_TRACKING_PARAMETER = re.compile(r"utm_\w+|fbclid|gclid|dclid|msclkid|mc_[ce]id|igshid", re.ASCII)


class QueryTooLong(BadQuery):
    """The query string is too long."""


def parse_query(query: str) -> dict[str, str]:
    """The parameters of a query string by name, without those of trackers; raises ``BadQuery``."""
    if len(query) > LONGEST_QUERY:
        raise QueryTooLong(
            f"The query has {len(query)} bytes; at most {LONGEST_QUERY} are allowed, so leave defaults out."
        )
    words: dict[str, str] = {}
    for name, text in parse_qsl(query, keep_blank_values=True):
        if name in words:
            raise BadQuery(f"{printable_excerpt(name)} is given twice; give it once.", name)
        if not _TRACKING_PARAMETER.fullmatch(name):
            words[name] = text
    return words


def undressed_query(query: str) -> str:
    """What a query says of the figure itself: without theme, hidden parts and sizes; raises ``BadQuery``."""
    dress = names_of_scope("dress")
    return encoded_query({name: text for name, text in parse_query(query).items() if name not in dress})


def read_address(op: OpDescription, device: DeviceSummary, words: QueryWords) -> Address:
    """The address that the words of a query stand for.

    Raises ``BadQuery``, with a sentence for each parameter that is refused.
    """
    _check_names(op, words)
    parameters = {each["name"]: each for each in op["parameters"]}
    inputs = {each["name"]: each for each in op["inputs"]}
    refusals, found = _Refusals(), dict[str, Any]()
    for name, text in words.items():
        with refusals.collected():
            if name in parameters:
                found[name] = _parameter_value(parameters[name], text)
            elif name in inputs:
                found[name] = _input_values(inputs[name], text)
            elif text or not PARAMETERS[name].optional:
                found[name] = _value(PARAMETERS[name], text, op, device)
    refusals.raise_all()
    usual = default_address(op, found.get("wrt"))
    of_question = {name: value for name, value in found.items() if name in QUESTION_PARAMETERS} | {
        "parameters": usual.question.parameters | {name: found[name] for name in parameters if name in found},
        "inputs": usual.question.inputs | {name: found[name] for name in inputs if name in found},
        "recipe": op["recipe"],
    }
    of_address = {name: value for name, value in found.items() if name in ADDRESS_PARAMETERS}
    return checked_address(op, device, replace(usual, question=replace(usual.question, **of_question), **of_address))


def read_dress(words: QueryWords) -> dict[str, Any]:
    """How a frame is dressed; raises ``BadQuery``."""
    refusals, found = _Refusals(), dict[str, Any]()
    for name, text in words.items():
        with refusals.collected():
            if name not in DRESS:
                raise BadQuery(
                    f"{printable_excerpt(name)!r} is no parameter of this frame{suggestion(name, DRESS)}", name
                )
            kind: Any = PARAMETERS[name].kind
            kind = Several(FRAME_PARTS) if isinstance(kind, Several) else kind
            found[name] = _plain_value(name, text, kind) if text else None
    refusals.raise_all()
    return {name: value for name, value in found.items() if value is not None}


def checked_address(op: OpDescription, device: DeviceSummary, address: Address) -> Address:
    """The address with the second axis that it sweeps; raises ``BadQuery`` for what does not go together."""
    refusals, question = _Refusals(), address.question
    with refusals.collected():
        question = with_second_axis(op, question)
    for check in (_check_dtype(device, question), _check_size(question), _check_goal(op, question)):
        refusals.found += check
    if not refusals.found:
        refusals.found += _check_range(op, question)
    refusals.raise_all()
    return replace(address, question=question)


class _Refusals:
    """What was found to be wrong so far."""

    def __init__(self) -> None:
        self.found: list[Refusal] = []

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Go on after a ``BadQuery``."""
        try:
            yield
        except BadQuery as problem:
            self.found += problem.refusals

    def raise_all(self) -> None:
        if self.found:
            raise BadQuery.of(self.found)


def _check_names(op: OpDescription, words: QueryWords) -> None:
    names = [each["name"] for each in (*op["parameters"], *op["inputs"])] + list(PARAMETERS)
    for name in words:
        if name not in names:
            raise BadQuery(
                f"{printable_excerpt(name)!r} is not a parameter of this address{suggestion(name, names)}", name
            )
    if words.get("recipe") and not op["own"]:
        reason = f"{op['name']} declares how it is called, so leave it out"
        raise BadQuery(f"recipe is for Functions of your own; {reason}.", "recipe")


def _value(parameter: QueryParameter, text: str, op: OpDescription, device: DeviceSummary) -> Any:
    """The value of a parameter that every address has; raises ``BadQuery``."""
    name = parameter.name
    match parameter.kind:
        case ElementName("swept"):
            return read_element(name, text, sweepable_shapes(op))
        case ElementName():
            return read_element(name, text, shapes_by_name(op["outputs"]))
        case DeviceName():
            return _choice(name, text, ["auto", *(each["kind"] for each in device["devices"])])
        case SliderCounts(low, high):
            return _sliders(op, text, low, high)
    return _plain_value(name, text, parameter.kind)


def _plain_value(name: str, text: str, kind: Any) -> Any:
    """The value of a parameter of a kind that has nothing to do with the op; raises ``BadQuery``."""
    match kind:
        case Number(low, high, whole):
            return (read_int if whole else read_float)(name, text, low, high)
        case WordChoice(choices):
            return choices[[*map(str, choices)].index(_choice(name, text, choices))]
        case Several(choices):
            return _several(name, text, choices)
        case Switch():
            return _choice(name, text, _SWITCH) == "true"
        case NumberList():
            return tuple(read_float(name, each) for each in _split_values(text))
    return text


def _parameter_value(declared: ParameterDescription, text: str) -> ParameterValue:
    """The value of a parameter that the op declares; raises ``BadQuery``."""
    name = declared["name"]
    if declared["kind"] == "switch":
        return _choice(name, text, _SWITCH) == "true"
    if declared["kind"] == "choice":
        return _choice(name, text, declared["choices"])
    low, high = value_bounds(declared)
    read_number = read_int if declared["kind"] == "int" else read_float
    return read_number(name, text, max(low, -LARGEST), min(high, LARGEST))


def _choice(name: str, text: str, choices: Sequence[str | int]) -> str:
    allowed = [str(each) for each in choices]
    if text not in allowed:
        raise BadQuery(f"{name}={printable_excerpt(text)} is not one of its words{suggestion(text, allowed)}", name)
    return text


def _several(name: str, text: str, choices: Sequence[str]) -> tuple[str, ...]:
    given = [_choice(name, part, choices) for part in text.split(",") if part]
    return tuple(each for each in choices if each in given)


def _input_values(declared: InputDescription, text: str) -> tuple[float, ...]:
    name, count = declared["name"], math.prod(declared["shape"])
    texts = _split_values(text) if count or text.strip() else []
    if len(texts) != count:
        shape = " of shape [" + ",".join(map(str, declared["shape"])) + "]" if declared["shape"] else ""
        meant = with_a_point(text) if count == 1 else ""
        how = f"written with a point: {meant}" if meant else "separated by commas"
        raise BadQuery(
            f"{name}={printable_excerpt(text)} holds {len(texts)} values; {name}{shape} needs {count}, {how}.",
            name,
        )
    return tuple(read_float(name, each) for each in texts)


def _split_values(text: str) -> list[str]:
    return re.split(r"[,;]|\r?\n", text.strip())


def _sliders(op: OpDescription, text: str, low: int, high: int) -> tuple[SliderCount, ...]:
    kinds = {"grad_output": "float"} | {each["name"]: each["kind"] for each in op["parameters"]}
    sliders: dict[str, int] = {}
    for each in text.split(","):
        name, _, values = each.partition(":")
        problem = _slider_problem(name, values, kinds, sliders)
        if problem:
            raise BadQuery(f"sliders={printable_excerpt(text)} {problem}", "sliders")
        numeric = kinds[name] in ("float", "int")
        sliders[name] = read_int("sliders", values, low, high, f"sliders: {name}") if numeric else 0
    return tuple(SliderCount(name, count) for name, count in sliders.items())


def _slider_problem(name: str, values: str, kinds: Mapping[str, str], sliders: Mapping[str, int]) -> str:
    """What is wrong with one of the sliders; empty where nothing is."""
    if name not in kinds:
        return f"names {printable_excerpt(name)!r}, no control{suggestion(name, list(kinds))}"
    if name in sliders:
        return f"names {name} twice; name it once."
    numeric = kinds[name] in ("float", "int")
    if bool(values) != numeric:
        hint = f"say how many, {name}:9" if numeric else f"it has all of its values, so write {name} alone"
        return f"is wrong for {name}; {hint}."
    return ""


def _check_range(op: OpDescription, asked: Question) -> Iterator[Refusal]:
    beyond = outside(op, asked.wrt, {"start": asked.start, "stop": asked.stop, "at": asked.place})
    if beyond:
        yield from beyond
        return
    culprit = f"The range from start={asked.start:g} to stop={asked.stop:g}"
    finest = 4 * math.ulp(max(abs(asked.start), abs(asked.stop)))
    if asked.start >= asked.stop:
        yield Refusal(
            "start", f"{culprit} is {'empty' if asked.start == asked.stop else 'reversed'}; start must be below stop."
        )
    elif (asked.stop - asked.start) / (asked.count - 1) < finest:
        reason = f"is too narrow for {asked.count} different points; widen it or lower count"
        yield Refusal("start", f"{culprit} {reason}.")


def _check_dtype(device: DeviceSummary, asked: Question) -> Iterator[Refusal]:
    for each in device["devices"]:
        if each["kind"] == asked.device and asked.dtype not in each["dtypes"]:
            allowed = ", ".join(each["dtypes"])
            yield Refusal("dtype", f"dtype={asked.dtype} does not exist on {each['name']}; allowed are {allowed}.")


def _check_goal(op: OpDescription, asked: Question) -> Iterator[Refusal]:
    shape = next(each["shape"] for each in op["outputs"] if each["name"] == asked.of.name)
    if asked.goal is not None and len(asked.goal) not in (1, math.prod(shape)):
        wanted = "1" if math.prod(shape) == 1 else f"1, or {math.prod(shape)} separated by commas"
        sentence = f"goal holds {len(asked.goal)} values; what {asked.of.name} is to reach needs {wanted}."
        yield Refusal("goal", sentence)


def _check_size(asked: Question) -> Iterator[Refusal]:
    largest = LARGEST_OF_DTYPE[asked.dtype]
    for name, values in _numbers(asked).items():
        value = next((each for each in values if abs(each) > largest), None)
        if value is not None:
            hint = f"give a number of at most {largest:g} in size, or choose dtype=float64"
            yield Refusal(name, f"{name}={value:g} is too large for {asked.dtype}; {hint}.")


def _numbers(asked: Question) -> dict[str, tuple[float, ...]]:
    """The numbers that the Function computes with, by the parameter that says them."""
    said = {name: getattr(asked, name) for name, each in QUESTION_PARAMETERS.items() if isinstance(each.kind, Number)}
    single = {name: (value,) for name, value in said.items() if value is not None and name not in _OF_MEASURING}
    return {**single, **asked.inputs, "goal": asked.goal or ()}
