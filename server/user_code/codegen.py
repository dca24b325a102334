"""Code generation: the ``Op(...)`` declaration and the pytest file that a page offers for copying."""

from __future__ import annotations

from dataclasses import MISSING, fields
from pprint import pformat

from ...ops import Input, Op, Parameter
from ..inference.recipe.recipe import Recipe
from ..runtime.arguments import BoundFunction, callable_of
from . import to_source
from .gradcheck_inputs import GradcheckInputs, default_verdict, gradcheck_inputs_of
from .to_source import NoSource

_WIDE = 110
# Optional fields of a declaration, in the order in which they are written where they differ from their default.
_TOLD = ("surrogate_formula", "broken", "check", "wrt", "of", "dtype", "reference")
_SAID = {"surrogate": "that_of_its_surrogate", "broken": "wrong"}


def declaration_source(op: Op, recipe: Recipe, import_line: str = "") -> str:
    """The source of an ``op_clamp = Op(...)`` to paste behind a Function; executed, it makes an op equal to this one.

    Each has a name of its own, so that many fit in one file. ``import_line`` is put above it where the Function is in
    another file. A value that exists only in the user's ``example_inputs`` is left to be filled in.
    """
    call, torch_too = _call(op, recipe, import_line)
    imports = ["import types"] * ("types.SimpleNamespace" in call) + ["import torch"] * torch_too
    imports += [f"from gradloupe.ops import {', '.join(_nouns(op))}"]
    imports += _imports(op, import_line)
    declared = _declared(op, import_line, bool(call))
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
    except NoSource as missing:
        tests.append(f"# gradcheck is not asked here: what {missing} is cannot be written down.")
    body = "\n\n\n".join(tests)
    imports = ["import types", ""] * ("types.SimpleNamespace" in body)
    imports += ["import pytest"] * ("pytest." in body) + ["import torch"] * ("torch." in body)
    imports += ["from torch.autograd import gradcheck"] * ("gradcheck(" in body)
    begin = f'"""What Gradloupe says of {op.title or op.name}, and what gradcheck says beside it."""'
    return "\n".join(
        (begin, "", *imports, "", "import gradloupe", *[import_line] * bool(import_line), "", "", body, "")
    )


def _first_test(op: Op, recipe: Recipe | None, subject: str) -> str:
    """The source of the test with ``gradloupe.check``."""
    asked = f", {to_source.string_source(recipe.text())}" if recipe and not _missing(recipe) else ""
    begin = f"def test_backward_is_{_SAID.get(op.claim, 'the_derivative_of_forward')}():\n    found = gradloupe.check("
    one = f"{begin}{subject}{asked})"
    if max(map(len, one.splitlines())) > _WIDE:
        one = f"{begin}\n        {subject},\n        {asked[2:]},\n    )"
    if op.check:
        return f'{one}\n    assert "{op.check}" in [each.id for each in found.findings if each.level != "fine"]'
    word = "matches" if op.claim == "exact" else default_verdict(op)
    return f'{one}\n    assert found.word == "{word}", found.sentence'


def _second_test(op: Op, recipe: Recipe | None, subject: str) -> str:
    """The source of the test with ``gradcheck``, at literal inputs. Raises ``NotSpelled``."""
    numbers = gradcheck_inputs_of(op)
    given = [each.name for each in op.inputs]
    lines = [f"{name} = {_leaf(op, name, numbers, place)}" for place, name in enumerate(given)]
    own = [f"{name}.clone()" if numbers.in_place else name for name in given]
    own += [to_source.number_source(each.default) for each in op.parameters]
    if recipe:
        arguments = to_source.argument_plan(op.call, len(own))
        lines += [f"{name} = {text}" for name, text in to_source.constant_tensor_sources(recipe, arguments).items()]
        called = ", ".join(to_source.argument_sources(recipe, arguments, own, scalars=False))
    else:
        called = ", ".join(own)
    apply = ".apply" if recipe and _is_class(op) else ""
    names = ", ".join(given)
    asked = _asked(op, numbers, names, f"lambda {names}: {subject}{apply}({called})")
    inside = "\n".join((*lines, *asked)).replace("\n", "\n    ")
    says = "agrees" if op.claim == "exact" else numbers.says
    return f"def test_gradcheck_{says}():\n    {inside}"


def _asked(op: Op, numbers: GradcheckInputs, names: str, function: str) -> list[str]:
    """The lines that call ``gradcheck`` and assert its result."""
    comma = "" if "," in names else ","
    words = ["fast_mode=True"] * numbers.fast
    words += ["eps=1e-2", "atol=1e-2", "rtol=1e-2"] * (op.dtype == "float32")
    says = "passes" if op.claim == "exact" else numbers.says
    words += ["raise_exception=False"] * (says == "fails")
    arguments = ", ".join((f"({names}{comma})", *words))
    lines = [f"call = {function}"] if len(function) + len(arguments) > _WIDE - 24 else []
    asked = f"gradcheck({'call' if lines else function}, {arguments})"
    if says == "raises":
        return [*lines, "with pytest.raises(Exception):  # noqa: B017", f"    {asked}"]
    return [*lines, f"assert {'not ' * (says == 'fails')}{asked}"]


def _leaf(op: Op, name: str, numbers: GradcheckInputs, seed: int) -> str:
    tensor = numbers.tensors[name]
    tracked = ("requires_grad=True",) if tensor.numel() <= to_source.LONGEST_LITERAL else ()
    text = to_source.tensor_source(tensor, f"dtype={tensor.dtype}", *tracked, seed=seed)
    if "generator=" in text:
        return f"({text}).requires_grad_()" if "+" in text else f"{text}.requires_grad_()"
    return text


def _call(op: Op, recipe: Recipe, import_line: str) -> tuple[str, bool]:
    """The source of the ``call`` adapter of an op, and whether it needs torch; empty where it needs no adapter."""
    if not isinstance(op.call, BoundFunction):
        return "", False
    given = [each.name for each in op.inputs] + [each.name for each in op.parameters]
    subject = _subject(op, import_line) + (".apply" if _is_class(op) else "")
    arguments = op.call.arguments
    held = to_source.constant_tensor_sources(recipe, arguments, op.inputs[0].name)
    lines = [f"{name} = {text}" for name, text in held.items()]
    passed = []
    for each, argument in zip(recipe.arguments, arguments, strict=True):
        try:
            passed += to_source.argument_sources(Recipe((each,)), (argument,), given)
        except NoSource as missing:
            lines.append(f"{missing} = ...  # an object of your program, which cannot be written here: fill it in")
            passed.append(str(missing))
    lines.append(f"return {subject}({', '.join(passed)})")
    body = "\n".join(lines).replace("\n", "\n    ")
    text = f"def {_own_name('call', op)}({', '.join(given)}):\n    {body}\n"
    return text, "torch." in body


def _declared(op: Op, import_line: str, call: bool) -> str:
    """The source of ``op_name = Op(...)``."""
    function = _function(op, import_line)
    lines = [f"function={function}"]
    lines += [
        f"{name}={to_source.string_source(getattr(op, name))}" for name in ("title", "group", "forward", "backward")
    ]
    lines += [f"inputs=({_each([_input(each) for each in op.inputs])})"]
    lines += [f"parameters=({_each([_parameter(each) for each in op.parameters])})"] * bool(op.parameters)
    lines += [f"outputs=({', '.join(map(to_source.string_source, op.outputs))},)"] * (op.outputs != ("y",))
    lines += [f"call={_own_name('call', op)}"] * call
    defaults = {each.name: each.default for each in fields(Op)}
    lines += [
        f"{name}={to_source.string_source(getattr(op, name))}" for name in _TOLD if getattr(op, name) != defaults[name]
    ]
    return f"{_own_name('op', op)} = Op(\n" + "".join(f"    {line},\n" for line in lines) + ")\n"


def _each(items: list[str]) -> str:
    return "\n" + "".join(f"        {to_source.indent_lines(item, 8)},\n" for item in items) + "    "


def _input(each: Input) -> str:
    said = [f"shape={each.shape!r}"] * bool(each.shape)
    said += [f"domain={each.domain!r}"] * (each.domain != (-3.0, 3.0))
    said += [f"value={pformat(each.value, width=90, compact=True)}"] * (each.value != 1.0)
    described = [to_source.string_source(each.description)] * bool(each.description)
    return f"Input({', '.join((to_source.string_source(each.name), *described, *said))})"


def _parameter(each: Parameter) -> str:
    said = [
        f"{field.name}={to_source.number_source(getattr(each, field.name))}"
        for field in fields(Parameter)
        if field.default is not MISSING and getattr(each, field.name) != field.default
    ]
    return f"Parameter({', '.join((to_source.string_source(each.name), to_source.number_source(each.default), *said))})"


def _nouns(op: Op) -> list[str]:
    return ["Input", "Op", *["Parameter"] * bool(op.parameters)]


def _own_name(what: str, op: Op) -> str:
    return f"{what}_" + "".join(letter if letter.isalnum() else "_" for letter in op.name).lower()


def _is_class(op: Op) -> bool:
    called = op.call.function if isinstance(op.call, BoundFunction) else op.function
    return op.call is None or callable_of(called) is not called


def _subject(op: Op, import_line: str) -> str:
    """The name of the Function, or of the plain function that is called, in the file it is imported into."""
    called = op.call.function if isinstance(op.call, BoundFunction) else op.function
    name, imported = getattr(called, "__qualname__", ""), _imported(import_line)
    return imported if imported and name.partition(".")[0] != imported else name


def _function(op: Op, import_line: str) -> str:
    """The name of the Function class of an op; a plain function may call a class of another name in its module."""
    called = op.call.function if isinstance(op.call, BoundFunction) else op.function
    return _subject(op, import_line) if called is op.function else op.function.__qualname__


def _imports(op: Op, import_line: str) -> list[str]:
    """The lines that import the Function, and the class of the op where that is another one."""
    called = op.call.function if isinstance(op.call, BoundFunction) else op.function
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


def _missing(recipe: Recipe) -> bool:
    return "<object>" in recipe.text()
