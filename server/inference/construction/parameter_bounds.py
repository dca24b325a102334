"""Parameter bounds: the usual range for a name and value, shrunk until forward stays finite in it."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator
from typing import Any

from ....ops import Parameter
from ..recipe.recipe import Constant
from ..search.trial import RepeatableCall
from ..source.function_source import source_tree
from .swept_element import ElementPair

# Beginnings of names of numbers that have to be positive.
_POSITIVE_NAMES = (
    *("eps", "scale", "sigma", "std", "alpha", "beta", "gamma", "tau", "temp", "width", "slope", "lambda", "lambd"),
    *("rate", "lr", "momentum", "radius", "power", "steep", "sharp", "soft", "norm", "delta", "step", "decay"),
)
_LIMIT_NAMES = ("clip", "clamp", "limit", "thresh", "cap")
_FRACTION_NAMES = ("p", "prob", "ratio", "keep", "momentum", "dropout", "drop", "decay", "share", "fraction")
# How far below and above an int is tried, step by step until one fails; from _LARGE_INT on, half and double instead.
# Of seeds as many are offered, from a multiple of that on.
_INT_STEPS, _LARGE_INT, _SEEDS = 5, 12, 100
_SHRINKINGS = 5
_SAMPLED_FRACTIONS = (0.0, 0.03, 0.27, 0.5, 0.73, 1.0)
_SECONDS = 0.5


def bounded_parameter(attempt: RepeatableCall, pair: ElementPair, constant: Constant, name: str) -> Parameter | None:
    """The parameter of an op that a constant becomes, with bounds in which forward stays finite.

    None if no other value works, or if it is no number, bool or string. For a Function too slow to be tried they are
    the usual ones for the name and value.
    """
    value = constant.value
    tried = attempt.within(_SECONDS)

    def works(other: object) -> bool:
        return tried.out_of_time or _works(tried.with_values({constant.name: other}), pair)

    if isinstance(value, bool):
        return Parameter(name, value, kind="switch") if works(not value) else None
    if isinstance(value, str):
        strings = [each for each in _compared_strings(attempt.function, constant.name) if each == value or works(each)]
        choices = tuple(dict.fromkeys([value, *strings]))
        return Parameter(name, value, kind="choice", choices=choices) if len(choices) > 1 else None
    if isinstance(value, int):
        first = value - value % _SEEDS
        seeds = first, first + _SEEDS - 1
        offered = "seed" in name and all(map(works, seeds))
        least, most = seeds if offered else _int_range(value, works, 1 if tried.out_of_time else _INT_STEPS)
        return Parameter(name, value, least, most, kind="int") if least < most else None
    if isinstance(value, float) and math.isfinite(value):
        low, high = _float_range(value, constant.name.lower(), works)
        return Parameter(name, value, low, high) if low < high else None
    return None


def _works(attempt: RepeatableCall, pair: ElementPair) -> bool:
    """Whether the observed output element still exists and is finite."""
    outputs = attempt.outputs()
    out = outputs[pair.output] if outputs and pair.output < len(outputs) else None
    if out is None or out.dim() != len(pair.of_index):
        return False
    fits = all(place < size for place, size in zip(pair.of_index, out.shape, strict=True))
    return fits and math.isfinite(float(out[pair.of_index]))


def _int_range(value: int, works: Callable[[object], bool], far: int) -> tuple[int, int]:
    """The range of consecutive ints around a value that all work."""
    if abs(value) > _LARGE_INT:
        ends = sorted((value // 2, value * 2))
        return tuple(end if works(end) else value for end in ends)  # type: ignore[return-value]
    low = high = value
    while low > value - far and (low > 0 or value < 0) and works(low - 1):
        low -= 1
    while high < value + far and works(high + 1):
        high += 1
    return low, high


def _float_range(value: float, name: str, works: Callable[[object], bool]) -> tuple[float, float]:
    low, high = _usual_range(value, name)
    return _shrunken_bound(value, low, works), _shrunken_bound(value, high, works)


def _usual_range(value: float, name: str) -> tuple[float, float]:
    words = name.replace("_", " ").split()
    if 0.0 <= value <= 1.0 and any(word in _FRACTION_NAMES for word in words):
        return 0.0, 1.0
    far = max(3.0, _two_figures(2 * abs(value)))
    if value > 0 and any(word in name for word in _LIMIT_NAMES):
        return 0.0, far
    if value > 0 and any(word.startswith(_POSITIVE_NAMES) for word in words):
        return _two_figures(value / 10), _two_figures(value * 5)
    return -far, far


def _shrunken_bound(value: float, end: float, works: Callable[[object], bool]) -> float:
    """The usual end, or one closer to the value, such that sampled points between them work."""
    for _ in range(_SHRINKINGS):
        if all(works(value + (end - value) * share) for share in _SAMPLED_FRACTIONS[::-1]):
            return float(f"{end:.9g}")
        end = value + (end - value) / 2
    return value


def _two_figures(number: float) -> float:
    """The number rounded to two significant figures."""
    return float(f"{number:.2g}")


def _compared_strings(function: Callable[..., Any], name: str) -> list[str]:
    """The strings that the source compares an argument with, or that are keys of a dict it indexes, in order."""
    found: list[str] = []
    for part in ("forward", "setup_context", "backward"):
        tree = source_tree(getattr(function, part, None) if isinstance(function, type) else function)
        for node in ast.walk(tree) if tree else ():
            found += [each for each in _strings(node, name) if each not in found]
    return found


def _strings(node: ast.AST, name: str) -> Iterator[str]:
    if isinstance(node, ast.Compare) and any(_is_argument(each, name) for each in (node.left, *node.comparators)):
        inside: list[ast.AST] = [node]
    elif isinstance(node, ast.Match) and _is_argument(node.subject, name):
        inside = [case.pattern for case in node.cases]
    elif isinstance(node, ast.Subscript) and _is_argument(node.slice, name) and isinstance(node.value, ast.Dict):
        inside = [each for each in node.value.keys if each]
    else:
        return
    for each in inside:
        for part in ast.walk(each):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield part.value


def _is_argument(node: ast.expr, name: str) -> bool:
    """Whether a node is the argument, also as an attribute of ctx or behind a method such as ``lower()``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        node = node.func.value
    return (isinstance(node, ast.Name) and node.id == name) or (isinstance(node, ast.Attribute) and node.attr == name)
