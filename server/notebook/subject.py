"""The subject of a check: the op made from a Function, its description, and the section asked for."""

from __future__ import annotations

import inspect
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

import torch

from ...ops import Op
from ..catalogue.op_description import describe_op
from ..catalogue.output_shapes import measured_shapes
from ..inference.construction.op import free_names, op_of
from ..inference.infer import infer
from ..inference.recipe.grammar import parse_recipe
from ..inference.recipe.recipe import BadRecipe, Constant, Recipe
from ..inference.source.signature import SignatureArgument, signature_of
from ..protocol.errors import BadQuestion
from ..protocol.frames import Frame
from ..protocol.question import Question
from ..protocol.suggest import closest_match
from ..url.address import Address, default_address, value_text
from ..url.numbers import BadQuery, write_number
from ..url.parse import _QUERY_NAMES, read_address
from ..user_code.definition_lines import SourceFile, code_of
from ..user_code.discover import declaration_of, is_user_function
from ..user_code.example_inputs import constant_from_value, override_for
from ..user_code.scalar_inputs import with_scalar_inputs
from ..worker.answer import answer_question, device_summary

_GROUP = "here"
_TENSORS = (torch.Tensor, list, tuple)


@dataclass(frozen=True)
class CheckArguments:
    """The arguments of ``check``: how the Function is called, and which section is asked for."""

    recipe: str = ""
    x: tuple[float, float] | None = None
    wrt: str = ""
    of: str = ""
    example_inputs: Any = None
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def somewhere(self) -> bool:
        """Whether a section is asked for explicitly."""
        return bool(self.x is not None or self.wrt or self.of or self.parameters)

    def without(self, names: Collection[str]) -> CheckArguments:
        """The same without some parameters."""
        return replace(self, parameters={name: one for name, one in self.parameters.items() if name not in names})

    def address(self, op: dict[str, Any]) -> Address:
        """The address of the section of a described op; raises ``BadQuestion``."""
        if not self.somewhere:
            return default_address(op)
        try:
            return read_address(op, device_summary(), urlencode(self._query()))
        except BadQuery as problem:
            raise BadQuestion(str(problem)) from None

    def _query(self) -> dict[str, str]:
        query = {name: _text(name, value) for name, value in self.parameters.items()}
        query |= {name: text for name, text in (("wrt", self.wrt), ("of", self.of)) if text}
        if self.x is None:
            return query
        if not isinstance(self.x, list | tuple) or len(self.x) != 2:
            raise BadQuestion(f"x={self.x!r} is no interval; give its two ends, like x=(-3, 3).")
        return query | {"start": _text("x", self.x[0]), "stop": _text("x", self.x[1])}


@dataclass(frozen=True)
class Subject:
    """An op, its description ``told``, and the arguments of ``check``; an in-process ``Engine`` for this one op."""

    op_: Op
    told: dict[str, Any]
    wanted: CheckArguments = field(default_factory=CheckArguments)

    async def stub(self, name: str) -> dict[str, Any]:
        return self.told

    async def op(self, name: str, recipe: str = "") -> dict[str, Any]:
        return self.told

    async def answer(self, question: Question) -> Frame:
        return self.frame(question)

    def frame(self, question: Question) -> Frame:
        """The same without a coroutine; raises ``BadQuestion``."""
        header, columns = answer_question(question, self.op_)
        return Frame(header, {name: column.data for name, column in columns.items()})


def function_name(function: Any) -> str:
    """The name of a Function, op or callable object."""
    named = function.name or function.function.__qualname__ if isinstance(function, Op) else function
    return named if isinstance(named, str) else str(getattr(named, "__qualname__", type(named).__name__))


def make_subject(function: Any, wanted: CheckArguments) -> Subject:
    """The op of a Function, called with the values given for its arguments, and its description.

    Raises ``NotInferred``, ``BadRecipe``, ``BadQuestion``, and whatever the Function may raise.
    """
    if is_user_function(function) and not wanted.recipe and wanted.example_inputs is None:
        declared = declaration_of(function)
        function = declared[1] if declared else function
    name = function_name(function)
    recipe: Recipe | None
    assumed: tuple[tuple[str, str], ...] = ()
    if isinstance(function, Op):
        if wanted.recipe or wanted.example_inputs is not None:
            raise BadRecipe("An Op declares itself how it is called; change its inputs, or give its Function instead.")
        op, recipe = with_scalar_inputs(replace(function, name=name)), None
        check_names(name, wanted.parameters, [each.name for each in op.inputs] + [one.name for one in op.parameters])
    else:
        recipe, given, assumed = _recipe(function, wanted)
        arguments = signature_of(function).arguments
        recipe, used = recipe_with_values(recipe, wanted.parameters, arguments)
        wanted = wanted.without(used)
        named = [each.name for each in recipe.arguments] + [each.name for each in arguments if not each.star]
        there = free_names(dict.fromkeys(named))
        check_names(name, wanted.parameters, list(there.values()))
        assumed = tuple(each for each in assumed if there.get(each[0], "") not in used)
        op = op_of(function, recipe, name, name.rpartition(".")[2], _GROUP, given)
    file, first, source = _source_of(op)
    vars(op)["_written"] = (first or 1, source)  # the source of a class in a notebook cell comes from linecache
    text = recipe.text() if recipe else ""
    description = describe_op(op, measured_shapes(op)) | {
        "own": recipe is not None,
        "declared": recipe is None,
        "recipe": text,
        "usual_recipe": text,
        "assumed": [list(each) for each in assumed],
        "source": source,
        "first_line": first or 1,
        "file": file,
        "group": _GROUP,
    }
    return Subject(op, description, wanted)


def _recipe(
    function: Any, wanted: CheckArguments
) -> tuple[Recipe, dict[str, torch.Tensor], tuple[tuple[str, str], ...]]:
    """The recipe that is given, declared or inferred, tensors to use as they are, and reasons for an inferred one."""
    names = signature_of(function).names
    if wanted.recipe:
        return parse_recipe(wanted.recipe, names), {}, ()
    examples = {} if wanted.example_inputs is None else {"example_inputs": wanted.example_inputs}
    declared = override_for(function, names, examples, alone=True)
    if declared is not None:
        return declared.recipe, declared.given, ()
    guess = infer(function)
    return guess.recipe, {}, guess.because


def _source_of(op: Op) -> tuple[str, int, str]:
    """The file (empty for a cell), the first line and the text of the source."""
    function = inspect.unwrap(op.function)
    code = code_of(function)
    if code is None:
        return "", 0, ""
    try:
        source_file = SourceFile(code.co_filename)
        lines = source_file.place(function)
    except (SyntaxError, ValueError):  # a cell with IPython magic is no Python
        return "", 0, ""
    file = os.path.relpath(code.co_filename) if os.path.exists(code.co_filename) else ""
    return file, lines.first, source_file.text(lines)


def _text(name: str, value: Any) -> str:
    """A value as the query of a URL has it; raises ``BadQuestion``."""
    if isinstance(value, _TENSORS) or hasattr(value, "tolist"):
        flat = torch.as_tensor(value).detach().reshape(-1).tolist()
        return ",".join(write_number(float(each)) for each in flat)
    if isinstance(value, bool | int | float | str):
        return value_text(value)
    raise BadQuestion(f"{name}={value!r} cannot be asked for; give a number, a word, or the numbers of a tensor.")


def recipe_with_values(
    recipe: Recipe, values: Mapping[str, Any], arguments: tuple[SignatureArgument, ...]
) -> tuple[Recipe, list[str]]:
    """The recipe with the given values of its constants, and the names that were used.

    An int becomes a float where the recipe has a float. Arguments that the recipe leaves out are added, with the
    defaults of those between. A tensor's value is not part of a recipe; None, a bool or a string for it is.
    """
    recipe = _with_missing_arguments(recipe, values, arguments)
    names = free_names(each.name for each in recipe.arguments)
    given = {each.name: values[names[each.name]] for each in recipe.arguments if names[each.name] in values}
    replaced = {
        each.name: _constant_like(each, given[each.name])
        for each in recipe.arguments
        if each.name in given and (isinstance(each, Constant) or _is_no_tensor(given[each.name]))
    }
    changed = Recipe(tuple(replaced.get(each.name, each) for each in recipe.arguments))
    return changed, [names[name] for name in replaced]


def check_names(name: str, values: Mapping[str, Any], known: list[str]) -> None:
    """Raise ``BadQuestion`` for a name that is neither an argument nor a parameter of a URL."""
    for each in values:
        if each not in (*known, *_QUERY_NAMES):
            suggestion = closest_match(each, [*known, *_QUERY_NAMES])
            hint = f"; did you mean {suggestion}? It has" if suggestion else "; it has"
            raise BadQuestion(f"{name} has no argument {each}{hint} {', '.join(known)}.")


def _with_missing_arguments(
    recipe: Recipe, values: Mapping[str, Any], arguments: tuple[SignatureArgument, ...]
) -> Recipe:
    present, added_constants = {each.name for each in recipe.arguments}, list[Constant]()
    added = recipe
    for each in arguments:
        if each.name in present:
            continue
        if each.star or (each.required and each.name not in values):
            break
        added_constants.append(constant_from_value(each.name, values.get(each.name, each.default)))
        if each.name in values and each.name not in _QUERY_NAMES:
            added = Recipe((*recipe.arguments, *added_constants))
    return added


def _constant_like(before: Any, value: Any) -> Constant:
    whole = isinstance(before, Constant) and type(before.value) is float and type(value) is int
    return constant_from_value(before.name, float(value) if whole else value)


def _is_no_tensor(value: Any) -> bool:
    return value is None or isinstance(value, bool | str)
