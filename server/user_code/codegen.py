"""Code generation: the ``Op(...)`` declaration and the pytest file that a page offers for copying, and their values."""

from __future__ import annotations

import math
import re
from dataclasses import MISSING, fields
from pprint import pformat
from typing import Any

import torch

from ...ops import Input, Op, Parameter
from ..inference.recipe.recipe import OBJECT_TEXT, Constant, Recipe, TensorArgument, identity
from ..runtime.arguments import (
    BoundArgument,
    BoundFunction,
    ComplexArgument,
    ConstantArgument,
    PassedArgument,
    callable_of,
)
from .gradcheck_inputs import GradcheckInputs, default_verdict, gradcheck_inputs_of

_MAX_COLUMNS, _VALUE_COLUMNS = 110, 96
# A tensor with more elements is drawn from a seeded generator instead of written out.
_MAX_LITERAL = 96
_IDENTITY = "(lambda x: x)"
# Optional fields of a declaration, in the order in which they are written where they differ from their default.
_OPTIONAL_FIELDS = ("surrogate_formula", "broken", "check", "wrt", "of", "dtype", "reference")
_CLAIM_NAMES = {"surrogate": "that_of_its_surrogate", "broken": "wrong"}


def declaration_source(op: Op, recipe: Recipe, import_line: str = "") -> str:
    """The source of an ``op_clamp = Op(...)`` to paste behind a Function; executed, it makes an op equal to this one.

    Each has a name of its own, so that many fit in one file. ``import_line`` is put above it where the Function is in
    another file. A value that exists only in the user's ``example_inputs`` is left to be filled in.
    """
    call, torch_too = _call(op, recipe, import_line)
    imports = ["import types"] * ("types.SimpleNamespace" in call) + ["import torch"] * torch_too
    imports += [f"from gradloupe.ops import Input, Op{', Parameter' * bool(op.parameters)}"]
    imports += _imports(op, import_line)
    declared = _op_source(op, import_line, bool(call))
    return "\n".join((*imports, "", *(("", call, "") if call else ()), declared))


def pytest_source(op: Op, recipe: Recipe | None = None, import_line: str = "") -> str:
    """The source of a pytest file for an op, complete: one test with Gradloupe, one with ``gradcheck``.

    Without a recipe ``import_line`` imports the declaration, as ``op``; with one, the Function that the recipe calls.
    A Function that claims to be exact is asserted to be right, any other to give the result it gives now; for that
    it is run.
    """
    subject = _subject(op, import_line) if recipe else _imported(import_line) or "op"
    tests = [_first_test(op, recipe, subject)]
    try:
        tests.append(_second_test(op, recipe, subject))
    except _NoSource as missing:
        tests.append(f"# gradcheck is not asked here: what {missing} is cannot be written down.")
    body = "\n\n\n".join(tests)
    imports = ["import types", ""] * ("types.SimpleNamespace" in body)
    imports += ["import pytest"] * ("pytest." in body) + ["import torch"] * ("torch." in body)
    imports += ["from torch.autograd import gradcheck"] * ("gradcheck(" in body)
    docstring = f'"""What Gradloupe says of {op.title or op.name}, and what gradcheck says beside it."""'
    return "\n".join(
        (docstring, "", *imports, "", "import gradloupe", *[import_line] * bool(import_line), "", "", body, "")
    )


def _first_test(op: Op, recipe: Recipe | None, subject: str) -> str:
    """The source of the test with ``gradloupe.check``."""
    recipe_argument = f", {_string_source(recipe.text())}" if recipe and not _has_object(recipe) else ""
    name = _CLAIM_NAMES.get(op.claim, "the_derivative_of_forward")
    head = f"def test_backward_is_{name}():\n    found = gradloupe.check("
    test = f"{head}{subject}{recipe_argument})"
    if max(map(len, test.splitlines())) > _MAX_COLUMNS:
        test = f"{head}\n        {subject},\n        {recipe_argument[2:]},\n    )"
    if op.check:
        return f'{test}\n    assert "{op.check}" in [each.id for each in found.findings if each.level != "fine"]'
    word = "matches" if op.claim == "exact" else default_verdict(op)
    return f'{test}\n    assert found.word == "{word}", found.sentence'


def _second_test(op: Op, recipe: Recipe | None, subject: str) -> str:
    """The source of the test with ``gradcheck``, at literal inputs. Raises ``NotSpelled``."""
    numbers = gradcheck_inputs_of(op)
    input_names = [_variable(each.name) for each in op.inputs]
    lines = [
        f"{name} = {_tensor_line(op, each.name, numbers, place)}"
        for place, (name, each) in enumerate(zip(input_names, op.inputs, strict=True))
    ]
    values = [f"{name}.clone()" if numbers.in_place else name for name in input_names]
    values += [_number_source(each.default) for each in op.parameters]
    if recipe:
        arguments = _argument_plan(op.call, len(values))
        lines += [f"{name} = {text}" for name, text in _constant_tensor_sources(recipe, arguments).items()]
        call_arguments = ", ".join(_argument_sources(recipe, arguments, values, scalars=False))
    else:
        call_arguments = ", ".join(values)
    apply = ".apply" if recipe and _is_class(op) else ""
    names = ", ".join(input_names)
    assertion = _gradcheck_lines(op, numbers, names, f"lambda {names}: {subject}{apply}({call_arguments})")
    inside = "\n".join((*lines, *assertion)).replace("\n", "\n    ")
    result = "agrees" if op.claim == "exact" else numbers.says
    return f"def test_gradcheck_{result}():\n    {inside}"


def _gradcheck_lines(op: Op, numbers: GradcheckInputs, names: str, function: str) -> list[str]:
    """The lines that call ``gradcheck`` and assert its result."""
    comma = "" if "," in names else ","
    options = ["fast_mode=True"] * numbers.fast
    options += ["eps=1e-2", "atol=1e-2", "rtol=1e-2"] * (op.dtype == "float32")
    result = "passes" if op.claim == "exact" else numbers.says
    options += ["raise_exception=False"] * (result == "fails")
    arguments = ", ".join((f"({names}{comma})", *options))
    lines = [f"call = {function}"] if len(function) + len(arguments) > _MAX_COLUMNS - 24 else []
    gradcheck_call = f"gradcheck({'call' if lines else function}, {arguments})"
    if result == "raises":
        return [*lines, "with pytest.raises(Exception):  # noqa: B017", f"    {gradcheck_call}"]
    return [*lines, f"assert {'not ' * (result == 'fails')}{gradcheck_call}"]


def _tensor_line(op: Op, name: str, numbers: GradcheckInputs, seed: int) -> str:
    tensor = numbers.tensors[name]
    tracked = ("requires_grad=True",) if tensor.numel() <= _MAX_LITERAL else ()
    text = _tensor_source(tensor, f"dtype={tensor.dtype}", *tracked, seed=seed)
    if "generator=" in text:
        return f"({text}).requires_grad_()" if "+" in text else f"{text}.requires_grad_()"
    return text


def _call(op: Op, recipe: Recipe, import_line: str) -> tuple[str, bool]:
    """The source of the ``call`` adapter of an op, and whether it needs torch; empty where it needs no adapter."""
    if not isinstance(op.call, BoundFunction):
        return "", False
    names = [_variable(each.name) for each in op.inputs] + [each.name for each in op.parameters]
    subject = _subject(op, import_line) + (".apply" if _is_class(op) else "")
    arguments = op.call.arguments
    constants = _constant_tensor_sources(recipe, arguments, names[0])
    lines = [f"{name} = {text}" for name, text in constants.items()]
    call_arguments = []
    for each, argument in zip(recipe.arguments, arguments, strict=True):
        try:
            call_arguments += _argument_sources(Recipe((each,)), (argument,), names)
        except _NoSource as missing:
            lines.append(f"{missing} = ...  # an object of your program, which cannot be written here: fill it in")
            call_arguments.append(str(missing))
    lines += _result_lines(f"{subject}({', '.join(call_arguments)})", op)
    body = "\n".join(lines).replace("\n", "\n    ")
    text = f"def {_identifier('call', op)}({', '.join(names)}):\n    {body}\n"
    return text, "torch." in body


def _variable(name: str) -> str:
    """What a variable for an input is called; a part of a complex tensor has a dot in its name."""
    return name.replace(".", "_")


def _result_lines(call: str, op: Op) -> list[str]:
    """The lines that return what a call returns, in two parts where it is complex."""
    if not any("." in name for name in op.outputs):
        return [f"return {call}"]
    whole = dict.fromkeys(name.partition(".")[0] for name in op.outputs)
    return [f"{', '.join(whole)} = {call}", f"return {', '.join(op.outputs)}"]


def _op_source(op: Op, import_line: str, call: bool) -> str:
    """The source of ``op_name = Op(...)``."""
    function = _function(op, import_line)
    lines = [f"function={function}"]
    lines += [f"{name}={_string_source(getattr(op, name))}" for name in ("title", "group", "forward", "backward")]
    lines += [f"inputs=({_items_source([_input(each) for each in op.inputs])})"]
    lines += [f"parameters=({_items_source([_parameter(each) for each in op.parameters])})"] * bool(op.parameters)
    lines += [f"outputs=({', '.join(map(_string_source, op.outputs))},)"] * (op.outputs != ("y",))
    lines += [f"call={_identifier('call', op)}"] * call
    defaults = {each.name: each.default for each in fields(Op)}
    lines += [
        f"{name}={_string_source(getattr(op, name))}"
        for name in _OPTIONAL_FIELDS
        if getattr(op, name) != defaults[name]
    ]
    return f"{_identifier('op', op)} = Op(\n" + "".join(f"    {line},\n" for line in lines) + ")\n"


def _items_source(items: list[str]) -> str:
    return "\n" + "".join(f"        {_indent_lines(item, 8)},\n" for item in items) + "    "


def _input(each: Input) -> str:
    options = [f"shape={each.shape!r}"] * bool(each.shape)
    options += [f"domain={each.domain!r}"] * (each.domain != (-3.0, 3.0))
    options += [f"value={pformat(each.value, width=90, compact=True)}"] * (each.value != 1.0)
    description = [_string_source(each.description)] * bool(each.description)
    return f"Input({', '.join((_string_source(each.name), *description, *options))})"


def _parameter(each: Parameter) -> str:
    options = [
        f"{field.name}={_number_source(getattr(each, field.name))}"
        for field in fields(Parameter)
        if field.default is not MISSING and getattr(each, field.name) != field.default
    ]
    name, default = _string_source(each.name), _number_source(each.default)
    return f"Parameter({', '.join((name, default, *options))})"


def _identifier(what: str, op: Op) -> str:
    return f"{what}_" + "".join(letter if letter.isalnum() else "_" for letter in op.name).lower()


def _called(op: Op) -> Any:
    return op.call.function if isinstance(op.call, BoundFunction) else op.function


def _is_class(op: Op) -> bool:
    called = _called(op)
    return op.call is None or callable_of(called) is not called


def _subject(op: Op, import_line: str) -> str:
    """The name of the Function, or of the plain function that is called, in the file it is imported into."""
    called = _called(op)
    name, imported = getattr(called, "__qualname__", ""), _imported(import_line)
    return imported if imported and name.partition(".")[0] != imported else name


def _function(op: Op, import_line: str) -> str:
    """The name of the Function class of an op; a plain function may call a class of another name in its module."""
    called = _called(op)
    return _subject(op, import_line) if called is op.function else op.function.__qualname__


def _imports(op: Op, import_line: str) -> list[str]:
    """The lines that import the Function, and the class of the op where that is another one."""
    called = _called(op)
    if not import_line or called is op.function:
        return [import_line] * bool(import_line)
    name = op.function.__qualname__.partition(".")[0]
    if getattr(called, "__module__", "") == op.function.__module__:
        return [f"{import_line.rpartition(' import ')[0]} import {name}, {import_line.rpartition(' import ')[2]}"]
    return [import_line, f"from {op.function.__module__} import {name}"]


def _imported(import_line: str) -> str:
    if " = " in import_line:  # of a file whose name cannot stand in an import
        return import_line.partition(" = ")[0]
    return import_line.split(" import ")[-1].split(" as ")[-1].strip() if import_line else ""


def _has_object(recipe: Recipe) -> bool:
    return "<object>" in recipe.text()


class _NoSource(Exception):
    """A value that exists only in the user's program and has no source; the message is the name of its argument."""


def _constant(each: Constant) -> str:
    """The source of a constant of a recipe. Raises ``_NoSource``."""
    if each.text == OBJECT_TEXT:
        raise _NoSource(each.name)
    if each.value is identity:
        return _IDENTITY[1:-1]
    return (
        _number_source(each.value)
        if isinstance(each.value, float)
        else re.sub(r"\bidentity\b", _IDENTITY, each.written)
    )


def _number_source(value: object) -> str:
    """The source of a number, string or bool."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return _string_source(value) if isinstance(value, str) else repr(value)


def _string_source(text: str) -> str:
    """The source of a string, in double quotes where it contains none."""
    plain = repr(text)
    return f'"{plain[1:-1]}"' if plain[0] == "'" and '"' not in text else plain


def _tensor_source(value: torch.Tensor, *words: str, seed: int = 0) -> str:
    """The source of a tensor, on one line or several. ``words`` are further arguments of ``torch.tensor``."""
    if value.numel() > _MAX_LITERAL and value.is_floating_point():
        return _random_source(value, *words, seed=seed)
    numbers = [_rounded(each) for each in value.reshape(-1).tolist()]
    arguments = (_nested_list(numbers, tuple(value.shape)), *words)
    line = f"torch.tensor({', '.join(arguments)})"
    if len(line) <= _VALUE_COLUMNS and "\n" not in line:
        return line
    return "torch.tensor(\n" + "".join(f"    {_indent_lines(each, 4)},\n" for each in arguments) + ")"


def _dtype_argument(value: torch.Tensor) -> tuple[str, ...]:
    """The ``dtype=`` argument, where ``torch.tensor`` would not infer that dtype."""
    return () if value.dtype in (torch.int64, torch.bool) else (f"dtype={value.dtype}",)


def _random_source(value: torch.Tensor, *words: str, seed: int) -> str:
    arguments = (str(tuple(value.shape)), f"generator=torch.Generator().manual_seed({seed})", *words)
    positive = bool((value > 0).all())
    return f"torch.{'rand' if positive else 'randn'}({', '.join(arguments)})" + " + 0.5" * positive


def _rounded(value: Any) -> Any:
    return float(f"{value:.9g}") if isinstance(value, float) else value


def _nested_list(numbers: list[Any], shape: tuple[int, ...]) -> str:
    if not shape:
        return repr(numbers[0])
    for size in reversed(shape[1:]):
        numbers = [numbers[i : i + size] for i in range(0, len(numbers), size)] if size else []
    return pformat(numbers, width=_VALUE_COLUMNS, compact=True)


def _indent_lines(text: str, indent: int) -> str:
    """The text with all lines but the first indented."""
    return text.replace("\n", "\n" + " " * indent)


def _argument_plan(call: object, count: int) -> tuple[BoundArgument, ...]:
    """For each argument of a call whether it is ``Taken`` or ``Held``; ``count`` is how many arguments the op has."""
    return call.arguments if isinstance(call, BoundFunction) else tuple(PassedArgument(place) for place in range(count))


def _constant_tensor_sources(recipe: Recipe, arguments: tuple[BoundArgument, ...], like: str = "") -> dict[str, str]:
    """The source of the constant tensors of a call, by name, with the dtype and device of the tensor ``like``."""
    sources = {}
    for each, argument in zip(recipe.arguments, arguments, strict=True):
        if isinstance(argument, ComplexArgument) and (held := argument.held) is not None:
            sources[each.name] = _tensor_source(held, f"dtype={held.dtype}")
        if isinstance(argument, ConstantArgument) and isinstance(argument.value, torch.Tensor):
            words = (f"dtype={like}.dtype",) if like and argument.follows else _dtype_argument(argument.value)
            sources[each.name] = _tensor_source(argument.value, *words, *((f"device={like}.device",) if like else ()))
    return sources


def _argument_sources(
    recipe: Recipe, arguments: tuple[BoundArgument, ...], given: list[str], scalars: bool = True
) -> list[str]:
    """The source of each argument of the call; ``given`` are the names that an op is called with.

    ``scalars`` says that a 0-dimensional input is given as a vector, and has to be reshaped. Raises ``_NoSource``.
    """
    return [
        _argument_source(each, argument, given, scalars)
        for each, argument in zip(recipe.arguments, arguments, strict=True)
    ]


def _argument_source(each: TensorArgument | Constant, argument: BoundArgument, given: list[str], scalars: bool) -> str:
    if isinstance(argument, ComplexArgument):
        if argument.held is not None:
            return each.name
        parts = (_argument_source(each, part, given, scalars) for part in (argument.real, argument.imag))
        return f"torch.complex({', '.join(parts)})"
    if isinstance(argument, ConstantArgument):
        return _constant(each) if isinstance(each, Constant) else each.name
    text = given[argument.place]
    text += ".reshape(())" if argument.scalar and scalars else ""
    return text if argument.dtype is None else f"{text}.to({argument.dtype})"
