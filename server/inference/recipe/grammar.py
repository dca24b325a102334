"""Parser of the text form of a recipe: ``x: float64[7]; k = 2; index: int64[7] < 3``."""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import torch

from .recipe import (
    COMPLEX,
    COMPLEX_FILLS,
    FLOAT_FILLS,
    FLOATS,
    INDEX_FILLS,
    INTEGERS,
    NAMED_VALUES,
    NAMESPACE_CLASS,
    OBJECT_TEXT,
    RECIPE_DTYPES,
    SQUARE_FILLS,
    BadRecipe,
    Constant,
    Recipe,
    TensorArgument,
    is_square,
    name_of_value,
    namespace_attributes,
)

_MAX_TEXT, MOST_ARGUMENTS, MOST_ELEMENTS, _MAX_DIMENSIONS = 2000, 32, 16_384, 8

_EXAMPLE = "write for example x: float64[7]; k = 2"

_NAME = r"[^\W\d]\w*"
_TENSOR = re.compile(rf"({_NAME})\s*:\s*(\w+)\s*\[([\d\s,]*)\]\s*(.*)", re.DOTALL)
_VALUE = re.compile(rf"({_NAME})\s*=(?!=)\s*(.*)", re.DOTALL)
_LIKE = re.compile(rf"\s*like\s+(?={_NAME}\s*[:=])")
# A number with the minus sign and the power of ten with which pages and reports show it.
_TYPESET = re.compile(r"([-−]?)(?:(\d[\d.]*)|(?:(\d[\d.]*)·)?10(⁻?[⁰¹²³⁴-⁹]+))")
_LOWERED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
# The line of a docstring that holds a recipe.
DOCSTRING_LINE = re.compile(r"^[ \t]*Gradloupe:[ \t]*(\S.*?)[ \t]*$", re.MULTILINE)
# Everything up to a semicolon or newline outside of a string.
_PIECES = re.compile(r"""(?:'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|[^;\n])+""")


def parse_recipe(text: str, names: Sequence[str] | None = None, objects: Mapping[str, Any] | None = None) -> Recipe:
    """The recipe written in a line of text, its arguments in the order of ``names``, which are those of ``forward``.

    An example begins with the word ``like``, as in ``like x: float64[7]``.
    ``names`` may end with ``*args``, which allows ``args0``, ``args1`` and so on. Without ``names`` any name is
    allowed, and the order is that of the text. ``objects`` are what ``name = <object>`` stands for. Raises
    ``BadRecipe``.
    """
    if len(text) > _MAX_TEXT:
        raise BadRecipe(f"The recipe has {len(text)} characters, and at most {_MAX_TEXT} are allowed; shorten it.")
    example = _LIKE.match(text)
    pieces = [piece.strip() for piece in _PIECES.findall(text[example.end() if example else 0 :]) if piece.strip()]
    if len(pieces) > MOST_ARGUMENTS:
        raise BadRecipe(f"The recipe has {len(pieces)} arguments, and at most {MOST_ARGUMENTS} are allowed.")
    arguments = {}
    for each in (_argument(piece, objects or {}) for piece in pieces):
        if each.name in arguments:
            raise BadRecipe(f"The recipe gives {each.name!r} twice; give every argument once.")
        arguments[each.name] = each
    if not any(isinstance(each, TensorArgument) and each.grad for each in arguments.values()):
        raise BadRecipe(f"The recipe has no floating tensor that can be swept, and needs one; {_EXAMPLE}.")
    return Recipe(tuple(arguments.values() if names is None else _ordered(arguments, names)), bool(example))


def _ordered(
    arguments: dict[str, TensorArgument | Constant], names: Sequence[str]
) -> Iterator[TensorArgument | Constant]:
    """The arguments in the order of ``forward``; raises ``BadRecipe`` for one it does not take, or a gap."""
    rest = [name[1:] for name in names if name.startswith("*")]
    order = [name for name in names if not name.startswith("*")]
    order += [f"{name}{place}" for name in rest for place in range(MOST_ARGUMENTS)]
    for name in arguments:
        if name not in order:
            takes = ", ".join([each for each in names if not each.startswith("*")] + [f"{each}0 ..." for each in rest])
            raise BadRecipe(f"{name!r} is not an argument of forward, which takes {takes}; name one of those.")
    last = max(order.index(name) for name in arguments)
    for name in order[: last + 1]:
        if name not in arguments:
            raise BadRecipe(
                f"The recipe leaves out {name!r}, which stands before {order[last]!r}; say {name} = ... too."
            )
        yield arguments[name]


def _argument(piece: str, objects: Mapping[str, Any]) -> TensorArgument | Constant:
    tensor = _TENSOR.fullmatch(piece)
    if tensor:
        return _tensor(piece, *tensor.groups())
    value = _VALUE.fullmatch(piece)
    if value:
        return _constant(value[1], value[2].strip(), objects)
    raise BadRecipe(
        f"{_short(piece)} is not an argument of a recipe; those are `name: dtype[shape]` or `name = value`; {_EXAMPLE}."
    )


def _tensor(piece: str, name: str, dtype: str, dimensions: str, words: str) -> TensorArgument:
    if dtype not in RECIPE_DTYPES:
        raise BadRecipe(f"{dtype!r} is not a dtype of a recipe; those are {', '.join(RECIPE_DTYPES)}; {_EXAMPLE}.")
    shape = _shape(piece, dimensions)
    fill, below, grad = "normal", 2, True
    for option in re.findall(r"<\s*\d+|\S+", words):
        if option[0] == "<" and dtype in INTEGERS and option[1:]:
            below = _below(piece, option, dtype)
        elif fill == "normal" and option in _fills(dtype):
            fill = option
        elif option == "nograd":
            grad = False
        else:
            raise BadRecipe(f"{_short(option)} cannot stand in {_short(piece)}; {_words(dtype)}.")
    if fill in SQUARE_FILLS and not is_square(shape):
        raise BadRecipe(
            f"{_short(piece)} is not square, as {fill} has to be; write for example {name}: {dtype}[4,4] {fill}."
        )
    return TensorArgument(name, shape, dtype, fill, below, grad)  # type: ignore[arg-type]


def _fills(dtype: str) -> tuple[str, ...]:
    """The words for values that may stand behind the shape of a tensor of this dtype."""
    if dtype in FLOATS:
        return FLOAT_FILLS
    return COMPLEX_FILLS if dtype in COMPLEX else INDEX_FILLS * (dtype in INTEGERS)


def _words(dtype: str) -> str:
    if dtype in FLOATS or dtype in COMPLEX:
        return f"allowed behind a shape are {', '.join(_fills(dtype))} and nograd, for example x: {dtype}[7] positive"
    others = f", x: int64[7] < 3, and behind the shape {', '.join(INDEX_FILLS)}"
    return f"allowed is x: {dtype}[7]" + others * (dtype in INTEGERS)


def _below(piece: str, word: str, dtype: str) -> int:
    below, most = int(word[1:]), min(MOST_ELEMENTS, torch.iinfo(getattr(torch, dtype)).max)
    if not 1 <= below <= most:
        raise BadRecipe(f"The bound in {_short(piece)} has to lie from 1 to {most}, as in index: {dtype}[7] < 3.")
    return below


def _shape(piece: str, text: str) -> tuple[int, ...]:
    numbers = [each.strip() for each in text.split(",")] if text.strip() else []
    if numbers and not numbers[-1]:
        numbers.pop()
    if not all(each.isdecimal() for each in numbers):
        raise BadRecipe(f"The shape in {_short(piece)} has to be whole numbers between commas, as in x: float64[2,3].")
    shape = tuple(map(int, numbers))
    if len(shape) > _MAX_DIMENSIONS or math.prod(shape) > MOST_ELEMENTS:
        raise BadRecipe(
            f"{_short(piece)} has {len(shape)} dimensions and {math.prod(shape)} elements, and at most "
            f"{_MAX_DIMENSIONS} and {MOST_ELEMENTS} are allowed; make it smaller."
        )
    return shape


def _constant(name: str, text: str, objects: Mapping[str, Any]) -> Constant:
    if text == OBJECT_TEXT and name in objects:
        return Constant(name, objects[name], OBJECT_TEXT)
    if text in NAMED_VALUES:
        return Constant(name, NAMED_VALUES[text], name_of_value(NAMED_VALUES[text]))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            value = _value(ast.parse(_as_python(text.strip()), mode="eval").body)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        value = ...
    if not _is_writable(value):
        raise BadRecipe(
            f"{_short(f'{name} = {text}')} cannot stand in a recipe; values are a number, True, False, a 'string', "
            f"None, a tuple, list or dict of those, one of {', '.join(NAMED_VALUES)}, or {NAMESPACE_CLASS}(k=2) for an "
            f"object with attributes; write for example {name} = 2."
        )
    return Constant(name, value)


def _as_python(text: str) -> str:
    """A number as a page writes it, such as −1 or 2·10⁻⁶, as Python does; any other text as it is."""
    if not (found := _TYPESET.fullmatch(text)):
        return text
    sign, plain, factor, exponent = found.groups()
    number = plain or f"{factor or 1}e{exponent.translate(_LOWERED)}"
    return f"-{number}" if sign else number


def _value(node: ast.expr) -> Any:
    """The value of an expression of literals and of names that a recipe may use. Raises ``ValueError``."""
    name = ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute | ast.Call) else ""
    if name in NAMED_VALUES:
        return NAMED_VALUES[name]
    if isinstance(node, ast.Tuple | ast.List):
        values = [_value(each) for each in node.elts]
        return values if isinstance(node, ast.List) else tuple(values)
    if isinstance(node, ast.Dict) and all(node.keys):
        return {_value(key): _value(each) for key, each in zip(node.keys, node.values, strict=True) if key}
    if isinstance(node, ast.Call) and ast.unparse(node.func) == NAMESPACE_CLASS and not node.args:
        named = {each.arg: _value(each.value) for each in node.keywords if each.arg}
        return SimpleNamespace(**named) if len(named) == len(node.keywords) else ...
    return ast.literal_eval(node)


def _is_writable(value: object) -> bool:
    """Whether a recipe can write a value: literals, names it may use, and containers of those."""
    held = namespace_attributes(value)
    if held is not None:
        return all(map(_is_writable, held.values()))
    if isinstance(value, tuple | list):
        return not hasattr(value, "_fields") and all(map(_is_writable, value))
    if isinstance(value, dict):
        return all(is_literal(key) and _is_writable(each) for key, each in value.items())
    return is_literal(value) or bool(name_of_value(value))


def is_literal(value: object) -> bool:
    """Whether a value can be written as a literal: a number, bool, string, None, or a tuple, list or dict of those."""
    if isinstance(value, (tuple, list)):
        return not hasattr(value, "_fields") and all(map(is_literal, value))  # a named tuple has attributes
    if isinstance(value, dict):
        return all(is_literal(each) for item in value.items() for each in item)
    return value is None or type(value) in (bool, int, float, complex, str)  # an enum, say, is written in another way


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
