"""The call that the arguments of ``check`` stand for: given as values, written as a recipe, declared, or found out."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import torch

from ..inference.construction.op import free_names
from ..inference.infer import settled_example
from ..inference.recipe.grammar import is_literal, parse_recipe
from ..inference.recipe.recipe import BadRecipe, Constant, Recipe, TensorArgument
from ..inference.search.trial import RepeatableCall
from ..inference.source.signature import Signature, SignatureArgument
from ..protocol.errors import BadQuestion
from ..runtime.isolation import quietly
from ..user_code.discover import is_user_function
from ..user_code.example_inputs import (
    Override,
    arguments_by_name,
    constant_from_value,
    override_for,
    override_of_values,
    tensor_argument,
)
from ..user_code.usual_call import UsualCall, found_call, written_call
from .arguments import CheckArguments

_SAID = "The call"


def call_of(function: Any, signature: Signature, wanted: CheckArguments) -> tuple[UsualCall, CheckArguments]:
    """How the Function is called, and the arguments that say something else.

    Raises ``NotInferred``, ``BadRecipe`` and ``BadQuestion``.
    """
    written = wanted.recipe or wanted.example_inputs
    if isinstance(written, str):
        own = _written_in_the_module(function, signature)
        recipe = parse_recipe(written, signature.names, own.objects if own else None)
        return _written(function, Override(settled_example(function, recipe), "the recipe says so")), wanted
    examples = _examples_of(function, signature, wanted.example_inputs)
    if examples is None and not wanted.tensors:
        return _usual_call(function, signature), wanted
    values, used = _values(signature, wanted, examples or {})
    missing = next((each.name for each in signature.arguments if each.required and each.name not in values), "")
    if not missing:
        override = override_of_values(_with_defaults(signature, values), _SAID, _numbers(signature))
        return UsualCall(override.recipe, given=override.given), wanted.without(used)
    if examples is None:
        return _call_with(function, signature, wanted.tensors), wanted
    takes = ", ".join(signature.names)
    raise BadRecipe(f"{_SAID} leaves out {missing!r}, and {signature.name} takes {takes}; give that too.")


def recipe_with_values(
    recipe: Recipe, values: Mapping[str, Any], arguments: tuple[SignatureArgument, ...]
) -> tuple[Recipe, list[str]]:
    """The recipe with the given values of its constants, by their names in the op, and the names that were used.

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
    changed = replace(recipe, arguments=tuple(replaced.get(each.name, each) for each in recipe.arguments))
    return changed, [names[name] for name in replaced]


def _usual_call(function: Any, signature: Signature) -> UsualCall:
    """The call that the docstring or the module declares, or that is found out."""
    declared = _written_in_the_module(function, signature)
    return found_call(function) if declared is None else _written(function, declared)


def _written(function: Any, override: Override) -> UsualCall:
    """The call of a recipe; an example is assumed."""
    call = written_call(function, override)
    return call if call.recipe.like else replace(call, assumed=())


def _written_in_the_module(function: Any, signature: Signature) -> Override | None:
    module = getattr(function, "__module__", None) or ""
    names = vars(sys.modules[module]) if module in sys.modules else {}
    functions = [each for each in names.values() if is_user_function(each) and each.__module__ == module]
    return override_for(function, signature.names, names, alone=functions == [function])


def _examples_of(function: Any, signature: Signature, examples: Any) -> dict[str, Any] | None:
    """The arguments by name, of a tuple, of a mapping, or of the entry that a mapping has for this Function."""
    if isinstance(examples, Mapping):
        names = (function, getattr(function, "__qualname__", ""), signature.name)
        examples = next((value for key, value in examples.items() if key in names), examples)
    return None if examples is None else arguments_by_name(examples, signature.names, _SAID, gaps=True)


def _values(
    signature: Signature, wanted: CheckArguments, examples: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """The arguments by name, and which parameters are among them; raises ``BadQuestion`` for one given twice."""
    names = [each.name for each in signature.arguments if not each.star]
    free = free_names(names)
    plain = {name: wanted.parameters[free[name]] for name in names if free[name] in wanted.parameters}
    twice = next((name for name in (*wanted.tensors, *plain) if name in examples), "")
    if twice:
        raise BadQuestion(f"{twice} is given twice, by its place and by its name; give it once.")
    return {**examples, **wanted.tensors, **plain}, [free[name] for name in plain]


def _numbers(signature: Signature) -> set[str]:
    """The arguments whose default is a number: a tensor in their place is swept only where it requires grad."""
    return {each.name for each in signature.arguments if isinstance(each.default, int | float)}


def _with_defaults(signature: Signature, values: dict[str, Any]) -> dict[str, Any]:
    """The values in the order of forward, with defaults between them and, where those can be written, behind them."""
    ordered, rest = dict[str, Any](), dict(values)
    for each in signature.arguments:
        if each.star or not (each.name in rest or rest or is_literal(each.default)):
            break
        ordered[each.name] = rest.pop(each.name, each.default)
    return ordered | rest


def _call_with(function: Any, signature: Signature, tensors: Mapping[str, torch.Tensor]) -> UsualCall:
    """The usual call with these tensors, and with other shapes for the rest where that is what they go with."""
    usual = _usual_call(function, signature)
    tracked = any(each.requires_grad for each in tensors.values())
    given = {name: each.detach().cpu().clone() for name, each in tensors.items()}
    numbers = _numbers(signature) if not tracked else tensors.keys()
    told = {
        name: tensor_argument(name, each, each.requires_grad or name not in numbers) for name, each in tensors.items()
    }
    for recipe in _with_shapes_like(usual.recipe, told, signature):
        recipe = Recipe(tuple(_held(each) if tracked and each.name not in told else each for each in recipe.arguments))
        others = {name: each for name, each in usual.given.items() if name not in told}
        with quietly(), suppress(Exception, SystemExit):
            RepeatableCall.at(function, recipe, {**others, **given}).forward()
            return replace(usual.changed(recipe, told), given={**others, **given})
    missing = " and ".join(each.name for each in signature.arguments if each.required and each.name not in told)
    shapes = ", ".join(each.text for each in told.values())
    raise BadQuestion(f"No {missing} was found that {signature.name} takes beside {shapes}; give {missing} too.")


def _with_shapes_like(usual: Recipe, told: Mapping[str, TensorArgument], signature: Signature) -> Iterator[Recipe]:
    """The usual recipe with the tensors ``told``; the others in sizes and shapes that go with these, or as they are."""
    arguments = {each.name: each for each in usual.arguments}
    sizes, shapes = dict[int, int](), dict[tuple[int, ...], tuple[int, ...]]()
    for name, each in told.items():
        before = arguments.get(name)
        if isinstance(before, TensorArgument):
            shapes[before.shape] = each.shape
            sizes |= dict(zip(before.shape, each.shape, strict=False)) if len(before.shape) == len(each.shape) else {}
    dtype = next((each.dtype for each in told.values() if each.floating and each.shape), "")
    last = max(place for place, each in enumerate(signature.arguments) if each.name in (*arguments, *told))
    order = [each for each in signature.arguments[: last + 1] if not each.star]
    whole = [
        told.get(each.name) or arguments.get(each.name) or constant_from_value(each.name, each.default)
        for each in order
    ]
    changes: tuple[Callable[[tuple[int, ...]], tuple[int, ...]], ...] = (
        lambda shape: tuple(sizes.get(size, size) for size in shape),
        lambda shape: shapes.get(shape, shape),
        lambda shape: shape,
    )
    for changed in changes:
        yield Recipe(
            tuple(
                replace(each, shape=changed(each.shape), dtype=dtype if dtype and each.floating else each.dtype)
                if isinstance(each, TensorArgument) and each.name not in told
                else each
                for each in whole
            )
        )


def _held(argument: TensorArgument | Constant) -> TensorArgument | Constant:
    return replace(argument, grad=False) if isinstance(argument, TensorArgument) else argument


def _with_missing_arguments(
    recipe: Recipe, values: Mapping[str, Any], arguments: tuple[SignatureArgument, ...]
) -> Recipe:
    present, added_constants = {each.name for each in recipe.arguments}, list[Constant]()
    names, added = free_names(each.name for each in arguments), recipe
    for each in arguments:
        if each.name in present:
            continue
        given = names[each.name] in values
        if each.star or (each.required and not given):
            break
        added_constants.append(constant_from_value(each.name, values[names[each.name]] if given else each.default))
        if given:
            added = replace(recipe, arguments=(*recipe.arguments, *added_constants))
    return added


def _constant_like(before: Any, value: Any) -> Constant:
    whole = isinstance(before, Constant) and type(before.value) is float and type(value) is int
    return constant_from_value(before.name, float(value) if whole else value)


def _is_no_tensor(value: Any) -> bool:
    return value is None or isinstance(value, bool | str)
