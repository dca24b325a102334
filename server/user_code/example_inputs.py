"""Overrides of the inferred call: ``--recipe``, a ``Gradloupe:`` line in a docstring, or ``example_inputs``."""

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

import torch

from ..inference.infer import settled_example
from ..inference.recipe.grammar import DOCSTRING_LINE, MOST_ARGUMENTS, MOST_ELEMENTS, is_literal, parse_recipe
from ..inference.recipe.recipe import (
    COMPLEX,
    FLOATS,
    NAMED_VALUES,
    OBJECT_TEXT,
    RECIPE_DTYPES,
    BadRecipe,
    Constant,
    Recipe,
    TensorArgument,
)
from ..protocol.listed import closest_match
from ..runtime.arguments import unsupported
from ..runtime.arrays import dtype_name
from .discover import EXAMPLES, is_user_function
from .import_errors import encodable

_MAX_NAMED = 20


def reasons(recipe: Recipe, reason: str) -> tuple[tuple[str, str], ...]:
    """The same reason for each argument of a recipe."""
    return tuple((each.name, reason) for each in recipe.arguments)


def unknown_example_names(module: ModuleType) -> Iterator[str]:
    """A warning for each name in ``example_inputs`` that the module does not define."""
    examples = vars(module).get(EXAMPLES)
    for name in examples if isinstance(examples, Mapping) else ():
        if isinstance(name, str) and name.partition(".")[0] not in vars(module):
            functions = [each for each, value in vars(module).items() if is_user_function(value)]
            suggestion = closest_match(name, functions)
            hint = f"did you mean {suggestion}?" if suggestion else f"it has {', '.join(functions[:_MAX_NAMED])}."
            yield encodable(f"{EXAMPLES} says how to call {name[:80]!r}, and nothing in the file has that name; {hint}")


_MOST_GIVEN = 1 << 17  # budget: elements of a tensor that is given; of many a sample is looked at


@dataclass(frozen=True)
class Override:
    """The ``recipe`` that the user gave, where, and the tensors and objects of it by argument name.

    ``values`` are all arguments as a captured call had them, None for any other.
    """

    recipe: Recipe
    where: str
    given: dict[str, torch.Tensor] = field(default_factory=dict)
    objects: dict[str, Any] = field(default_factory=dict)
    values: dict[str, Any] | None = None


def override_for(
    function: Callable[..., Any],
    names: Sequence[str],
    namespace: Mapping[str, Any],
    alone: bool,
    recipe: str = "",
) -> Override | None:
    """How the user says a Function is called; None where the user does not.

    ``names`` are the arguments of ``forward``, ``namespace`` is that of its module. ``alone`` says that it is the only
    Function there, so that ``example_inputs`` need not name it; ``recipe`` is that of the command line, which
    comes before the others. Raises ``BadRecipe``.
    """
    line = DOCSTRING_LINE.search(inspect.cleandoc(getattr(function, "__doc__", None) or ""))
    examples = _examples(function, namespace, alone)
    found = None if examples is None else _from_examples(examples, names)
    objects = found.objects if found else {}
    if recipe:
        found = _from_text(recipe, names, objects, "--recipe", "--recipe")
    elif line is not None:
        found = _from_text(line[1], names, objects, "the docstring", "The line “Gradloupe: …” in the docstring")
    return found and replace(found, recipe=settled_example(function, found.recipe))


def has_example(function: Callable[..., Any], namespace: Mapping[str, Any]) -> bool:
    """Whether ``example_inputs`` of a module names a Function, which it may have imported."""
    return _examples(function, namespace, alone=False) is not None


def _from_text(text: str, names: Sequence[str], objects: dict[str, Any], where: str, culprit: str) -> Override:
    try:
        return Override(parse_recipe(text, names, objects), f"{where} says so", objects=objects)
    except BadRecipe as problem:
        raise BadRecipe(f"{culprit} cannot be used. {problem}") from problem


def _examples(function: Callable[..., Any], namespace: Mapping[str, Any], alone: bool) -> Any:
    """The entry of ``example_inputs`` for this Function; None if there is none."""
    examples = namespace.get(EXAMPLES)
    if not isinstance(examples, Mapping):
        return examples if alone and isinstance(examples, torch.Tensor | tuple | list | str) else None
    for key, value in examples.items():
        if key is function or (
            isinstance(key, str) and key in (getattr(function, "__qualname__", ""), getattr(function, "__name__", ""))
        ):
            return value
    return None


def _from_examples(examples: Any, names: Sequence[str]) -> Override:
    try:
        if isinstance(examples, str):
            return Override(parse_recipe(examples, names), f"{EXAMPLES} says so")
        return override_of_values(arguments_by_name(examples, names))
    except BadRecipe as problem:
        raise BadRecipe(f"{EXAMPLES} cannot be used. {problem}") from problem


def arguments_by_name(examples: Any, names: Sequence[str], said: str = "It", gaps: bool = False) -> dict[str, Any]:
    """The arguments of a call by name, in the order of ``forward``, from a mapping, a tuple or a single one.

    ``said`` names the call in the sentence where they do not fit; ``gaps`` allows a mapping to leave some out. Raises
    ``BadRecipe``.
    """
    order = [name for name in names if not name.startswith("*")]
    takes = ", ".join(names)
    if isinstance(examples, Mapping):
        unknown = [name for name in examples if name not in order]
        last = max((order.index(name) for name in examples if name in order), default=-1)
        missing = [name for name in order[: last + 1] if name not in examples and not gaps]
        if unknown or missing:
            left_out = f"{said} leaves out {missing[0]!r}" if missing else ""
            culprit = f"{unknown[0]!r} is not an argument of forward" if unknown else left_out
            raise BadRecipe(f"{culprit}, which takes {takes}; give a tuple of them in this order.")
        return {name: examples[name] for name in order if name in examples}
    values = tuple(examples) if isinstance(examples, tuple | list) else (examples,)
    order += [f"{name[1:]}{i}" for name in names if name.startswith("*") for i in range(MOST_ARGUMENTS)]
    if len(values) > min(len(order), MOST_ARGUMENTS):
        raise BadRecipe(f"{said} gives {len(values)} arguments, and forward takes {takes}; give a tuple of those.")
    return dict(zip(order, values, strict=False))


def override_of_values(values: Mapping[str, Any], said: str = "It", numbers: Collection[str] = ()) -> Override:
    """The call with these arguments: tensors that require grad are its inputs, or all floating ones where none does.

    ``numbers`` are arguments that are held unless they require grad. Raises ``BadRecipe``, which begins with ``said``,
    where there is nothing to sweep.
    """
    tracked = any(isinstance(value, torch.Tensor) and value.requires_grad for value in values.values())
    given = {name: value.detach().cpu() for name, value in values.items() if _is_supported_tensor(value)}
    arguments = tuple(
        tensor_argument(name, given[name], value.requires_grad or not (tracked or name in numbers))
        if name in given
        else constant_from_value(name, value)
        for name, value in values.items()
    )
    if not any(isinstance(each, TensorArgument) and each.grad for each in arguments):
        if opaque := next(((name, what) for name, one in values.items() if (what := unsupported(one))), None):
            raise BadRecipe(
                f"{opaque[0]} is {opaque[1]}, which is unsupported here; give a plain tensor of its numbers."
            )
        raise BadRecipe(
            f"{said} gives no floating tensor that can be swept, and needs one; give for example torch.randn(7)."
        )
    objects = {each.name: each.value for each in arguments if isinstance(each, Constant) and each.text == OBJECT_TEXT}
    return Override(Recipe(arguments), f"{EXAMPLES} says so", given, objects)


def _is_supported_tensor(value: object) -> bool:
    """Whether a value is a tensor that a recipe can describe: dense and not quantised."""
    return (
        isinstance(value, torch.Tensor)
        and value.layout == torch.strided
        and not value.is_quantized
        and not value.is_meta
        and not unsupported(value)
        and dtype_name(value.dtype) in RECIPE_DTYPES
    )


def tensor_argument(name: str, value: torch.Tensor, grad: bool) -> TensorArgument:
    """The argument of a recipe for a tensor; ``grad`` says whether it is swept. Raises ``BadRecipe`` if it is large."""
    if value.numel() > _MOST_GIVEN:
        raise BadRecipe(
            f"{name!r} has {value.numel()} elements, and at most {_MOST_GIVEN} can be looked at; give a smaller one."
        )
    dtype = dtype_name(value.dtype)
    below = int(value.max()) + 1 if "int" in dtype and value.numel() else 2
    below = min(max(1, below), MOST_ELEMENTS)  # what a recipe may write
    return TensorArgument(name, tuple(value.shape), dtype, "normal", below, grad and dtype in (*FLOATS, *COMPLEX))


def constant_from_value(name: str, value: Any) -> Constant:
    """The constant of a recipe for a value of any kind; ``<object>`` where it has no literal."""
    if hasattr(value, "item") and not isinstance(value, torch.Tensor) and getattr(value, "ndim", None) == 0:
        value = value.item()  # a NumPy scalar
    if is_literal(value):
        return Constant(name, value)
    text = next((text for text, one in NAMED_VALUES.items() if one is value), OBJECT_TEXT)
    return Constant(name, value, text)
