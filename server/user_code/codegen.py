"""Code generation: the ``Op(...)`` declaration that a page offers for copying."""

import math
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, fields
from pprint import pformat
from typing import Any

import torch

from ...ops import Input, Op, Parameter
from ..documents.pytest_file import MAX_COLUMNS, call_source, string_source
from ..inference.construction.op import free_names
from ..inference.recipe.recipe import OBJECT_TEXT, Constant, Recipe, TensorArgument, fill_tensor, identity
from ..runtime.arguments import (
    PARTS,
    BoundFunction,
    ComplexArgument,
    ConstantArgument,
    PassedArgument,
    callable_of,
    complex_parts,
)
from ..runtime.captured import only_device
from ..runtime.devices import without_device

_IDENTITY = "(lambda x: x)"
# Optional fields of a declaration, in the order in which they are written where they differ from their default.
_OPTIONAL_FIELDS = ("surrogate_formula", "broken", "check", "wrt", "of", "dtype", "reference")


def declaration_source(op: Op, recipe: Recipe, bound: str) -> str:
    """The source of an ``op_clamp = Op(...)`` to paste behind a Function; executed, it makes an op equal to this one.

    Each has a name of its own, so that many fit in one file. Tensors that a recipe fills are filled from the same seed
    again. ``bound`` is what the user's file calls what has no name of its own. A value that exists only in the user's
    ``example_inputs`` is left to be filled in.
    """
    call, declared = _call(op, recipe, bound), _op_source(op, recipe, bound)
    body = "\n\n".join(filter(None, (call, declared)))
    modules = [f"import {each}" for each in ("types", "torch") if _needs_import(each, body, op)]
    used = [each for each in ("fill_tensor", "keep_values") if f"{each}(" in body]
    imports = [f"from gradloupe import {', '.join(used)}"] * bool(used)
    imports += [f"from gradloupe.ops import Input, Op{', Parameter' * bool(op.parameters)}"]
    return "\n".join((*modules, *[""] * bool(modules), *imports, "", *[""] * bool(call), body))


def _called_function(op: Op) -> Any:
    """The Function, or the plain function, that an op calls."""
    return without_device(op.call.function) if isinstance(op.call, BoundFunction) else op.function


def _needs_import(module: str, body: str, op: Op) -> bool:
    """Whether the source names a module that is not imported where the Function is defined."""
    there = sys.modules.get(_called_function(op).__module__)
    return bool(re.search(rf"\b{module}\.", body)) and getattr(there, module, None) is not sys.modules.get(module)


def _call(op: Op, recipe: Recipe, bound: str) -> str:
    """The source of the ``call`` adapter of an op; empty where it needs none."""
    if not isinstance(op.call, BoundFunction):
        return ""
    names = [_variable(each.name) for each in op.inputs] + [each.name for each in op.parameters]
    lines, passed = list[str](), list[str]()
    device = only_device(op)
    there = f".to({string_source(device)})" * bool(device)
    for place, (each, argument) in enumerate(zip(recipe.arguments, op.call.arguments, strict=True)):
        if isinstance(argument, PassedArgument):
            passed.append(_passed(argument, names) + there * (argument.place < len(op.inputs)))
        elif isinstance(argument, ComplexArgument) and argument.held is None:
            both = (argument.real, argument.imag)
            parts = (_passed(part, names) for part in both if isinstance(part, PassedArgument))
            passed.append(f"torch.complex({', '.join(parts)}){there}")
        elif isinstance(each, Constant) and each.text == OBJECT_TEXT:
            lines.append(f"{each.name} = ...  # an object of your program, which cannot be written here: fill it in")
            passed.append(each.name)
        elif isinstance(each, Constant):
            passed.append(_constant(each))
        else:
            lines.append(f"{each.name} = {_constant_tensor(each, argument, place, names[0])}")
            passed.append(each.name + there)
    apply = f"{getattr(_called_function(op), '__qualname__', bound)}{'.apply' * _is_class(op)}"
    lines += _result_lines(apply, passed, op)
    head = call_source(f"def {_identifier('call', op)}", names, 0)
    return f"{head}:\n" + "".join(f"    {line}\n" for line in lines)


def _variable(name: str) -> str:
    """What a variable for an input is called; a part of a complex tensor has a dot in its name."""
    return name.replace(".", "_")


def _result_lines(apply: str, passed: list[str], op: Op) -> list[str]:
    """The lines that return what a call returns, in two parts where it is complex."""
    if only_device(op):
        home = f"{_variable(op.inputs[0].name)}.device"
        lines = [f"returned = {call_source(apply, passed, 4, len('returned = '))}"]
        several = f"tuple(each.to({home}) for each in returned)"
        return [*lines, f"return {several if len(op.outputs) > 1 else f'returned.to({home})'}"]
    if not any("." in name for name in op.outputs):
        return [f"return {call_source(apply, passed, 4, len('return '))}"]
    whole = ", ".join(dict.fromkeys(name.partition(".")[0] for name in op.outputs))
    call = call_source(apply, passed, 4, len(f"{whole} = "))
    return [f"{whole} = {call}", f"return {', '.join(op.outputs)}"]


def _op_source(op: Op, recipe: Recipe, bound: str) -> str:
    """The source of ``op_name = Op(...)``."""
    called = _called_function(op)
    lines = [f"function={getattr(called if called is op.function else op.function, '__qualname__', bound)}"]
    lines += [f"{name}={string_source(getattr(op, name))}" for name in ("title", "group", "forward", "backward")]
    lines += [f"inputs=({_items_source(_inputs(op, recipe))})"]
    lines += [f"parameters=({_items_source(map(_parameter, op.parameters))})"] * bool(op.parameters)
    lines += [f"outputs=({', '.join(map(string_source, op.outputs))},)"] * (op.outputs != ("y",))
    lines += [f"call={_identifier('call', op)}"] * isinstance(op.call, BoundFunction)
    defaults = {each.name: each.default for each in fields(Op)}
    lines += [
        f"{name}={string_source(getattr(op, name))}" for name in _OPTIONAL_FIELDS if getattr(op, name) != defaults[name]
    ]
    return f"{_identifier('op', op)} = Op(\n" + "".join(f"    {line},\n" for line in lines) + ")\n"


def _items_source(items: Iterator[str]) -> str:
    return "\n" + "".join(f"        {item},\n" for item in items) + "    "


def _inputs(op: Op, recipe: Recipe) -> Iterator[str]:
    own = free_names(each.name for each in recipe.arguments)
    places = {own[each.name]: (place, "") for place, each in enumerate(recipe.arguments)}
    places |= {own[each.name] + part: (place, part) for place, each in enumerate(recipe.arguments) for part in PARTS}
    for each in op.inputs:
        place, part = places[each.name]
        argument = recipe.arguments[place]
        assert isinstance(argument, TensorArgument)
        options = [f"shape={each.shape!r}"] * bool(each.shape)
        options += [f"domain={each.domain!r}"] * (each.domain != (-3.0, 3.0))
        options += [f"value={_held_value(each, argument, place, part)}"] * (each.value != 1.0)
        yield call_source("Input", [string_source(each.name), *options], 8)


def _held_value(given: Input, argument: TensorArgument, seed: int, part: str) -> str:
    """The source of the value of an input, which is one number where all elements are one."""
    numbers = torch.tensor(given.values, dtype=torch.float64).reshape(given.shape)
    return _fill(argument, numbers, seed, part) or pformat(given.value, width=MAX_COLUMNS - 12, compact=True)


def _constant_tensor(argument: TensorArgument, held: ConstantArgument | ComplexArgument, seed: int, like: str) -> str:
    """The source of a tensor that a call holds, with the device of the input ``like``, and its dtype if it follows."""
    if isinstance(held, ComplexArgument):
        held = ConstantArgument(held.held)
    words = [f"dtype={like}.dtype"] * held.follows + [f"device={like}.device"]
    filled = _fill(argument, held.value, seed)
    integers = not argument.floating and len(str(held.value.tolist())) < MAX_COLUMNS // 2
    if filled and not integers:
        return f"{filled}.to({like if held.follows else f'{like}.device'})"
    if not held.follows and held.value.dtype not in (torch.int64, torch.bool):
        words.insert(0, f"dtype={held.value.dtype}")
    return call_source("torch.tensor", [str(_rounded(held.value.tolist())), *words], 4, len(argument.name) + 3)


def _fill(argument: TensorArgument, value: torch.Tensor, seed: int, part: str = "") -> str:
    """The source that fills a tensor, or its real or imaginary ``part``, as its recipe does.

    Empty where it holds other numbers, or a single one.
    """
    filled = fill_tensor(argument.shape, argument.fill, argument.dtype, argument.below, seed)
    filled = dict(zip(PARTS, complex_parts(filled), strict=True))[part] if part else filled
    if value.numel() < 2 or value.shape != filled.shape or not torch.equal(value.to(filled), filled):
        return ""
    options = [string_source(argument.fill)] * (argument.fill != "normal")
    options += [f"dtype={string_source(argument.dtype)}"] * (argument.dtype != "float64")
    options += [f"below={argument.below}"] * (argument.fill == "index")
    options += [f"seed={seed}"] * bool(seed)
    return f"fill_tensor({', '.join((str(argument.shape), *options))}){part}"


def _parameter(each: Parameter) -> str:
    options = [
        f"{field.name}={_number_source(getattr(each, field.name))}"
        for field in fields(Parameter)
        if field.default is not MISSING and getattr(each, field.name) != field.default
    ]
    return call_source("Parameter", [string_source(each.name), _number_source(each.default), *options], 8)


def _identifier(what: str, op: Op) -> str:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|\W", "_", op.name)
    return f"{what}_{words.lower()}"


def _is_class(op: Op) -> bool:
    called = _called_function(op)
    return op.call is None or callable_of(called) is not called


def _passed(argument: PassedArgument, names: Sequence[str]) -> str:
    """The source of an argument that the op is given; a 0-dimensional one may come as a vector."""
    text = names[argument.place] + ".reshape(())" * argument.scalar
    text = f"keep_values({text}, {string_source(argument.kept)})" if argument.kept else text
    return text if argument.dtype is None else f"{text}.to({argument.dtype})"


def _constant(each: Constant) -> str:
    if each.value is identity:
        return _IDENTITY[1:-1]
    if isinstance(each.value, float):
        return _number_source(each.value)
    text = re.sub(r"\bidentity\b", _IDENTITY, each.written)
    return text if '"' in text or "\\" in text else text.replace("'", '"')


def _number_source(value: object) -> str:
    """The source of a number, string or bool."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return string_source(value) if isinstance(value, str) else repr(value)


def _rounded(numbers: Any) -> Any:
    if isinstance(numbers, list):
        return [_rounded(each) for each in numbers]
    return float(f"{numbers:.9g}") if isinstance(numbers, float) else numbers
