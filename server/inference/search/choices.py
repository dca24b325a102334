"""Candidates for one argument, the likeliest first: a kind of tensor and its fill, or the value of a constant."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch

from ..recipe.grammar import is_literal
from ..recipe.recipe import (
    EXAMPLE_MODULE,
    HIGH,
    LOW,
    NAMED_VALUES,
    SQUARE_FILLS,
    TINY,
    Constant,
    Fill,
    TensorArgument,
    is_square,
    literal,
    name_of_value,
)
from ..source import name_hints
from ..source.evidence import ArgumentEvidence
from ..source.signature import LEFT_OUT, NO_DEFAULT, SignatureArgument

# Weight of a type annotation, which outweighs any single line of source.
_ANNOTATED = 7.0
# Cost of a kind without evidence: tried last, but tried.
_UNLIKELY = 4.0
# The evidence that makes a default of None stand for a tensor.
_TENSOR_WEIGHT = 2.0
# Fractions that select some of a few elements; and steps of a quantiser, and divisors, large enough to be visible.
_SHARES, _STEPS = (0.5, 0.3), (0.5, 0.1)
# sample: how often a loop is run that does the same again and again: what it goes towards should be reached.
_OFTEN = 100
# Callables for one argument, two, or three.
_ONE, _TWO, _THREE = ("torch.tanh", "identity", "torch.exp"), ("torch.mul", "torch.sub"), ("torch.addcmul",)
_TENSORS = ("tensor", "index", "mask")
_PLAIN = ("number", "whole", "dim", "flag", "text", "sequence")
_KINDS: tuple[tuple[str, str], ...] = (
    (r"\bCallable\b", "callable"),
    (r"Tensor\b|ndarray|\bFloat\[|\bArray\b", "tensor"),
    (r"\b(list|tuple|List|Tuple|Sequence|Iterable|Size)\b", "sequence"),
    (r"\bbool\b", "flag"),
    (r"\bint\b", "whole"),
    (r"\b(float|Number|Real)\b", "number"),
    (r"\bstr\b|\bLiteral\b", "text"),
    (r"\bdtype\b", "dtype"),
    (r"\bdevice\b", "device"),
)


@dataclass(frozen=True)
class Choice:
    """A candidate for an argument: a tensor of a ``kind``, or a constant of this ``value``.

    ``cost`` says how unlikely it is, ``because`` is the reason for it.
    """

    kind: str
    cost: float
    because: str
    value: Any = None

    @property
    def is_tensor(self) -> bool:
        return self.kind in _TENSORS


def is_annotated(argument: SignatureArgument, tensor: bool) -> bool:
    """Whether the annotation of an argument says that it is a tensor, or that it is something else."""
    kinds = [kind for pattern, kind in _KINDS if re.search(pattern, argument.annotation)]
    return ("tensor" in kinds) if tensor else bool(kinds) and "tensor" not in kinds


def choices(argument: SignatureArgument, known: ArgumentEvidence, first: bool) -> list[Choice]:
    """The candidates for an argument, the likeliest first.

    A default that can be written is tried first; ``first`` says that it is the first argument, usually a tensor.
    """
    found = list(_default_choices(argument, known))
    for kind, cost, because in _kinds(argument, known, first):
        for place, value in enumerate(_values(kind, argument, known)):
            extra_cost = 0.4 * place if kind != "callable" else 0.8 * place
            found.append(Choice(kind, cost + extra_cost, because, value))
    unique: dict[tuple[str, str], Choice] = {}
    for each in sorted(found, key=lambda choice: choice.cost):
        unique.setdefault((each.kind if each.is_tensor else "", repr(each.value)), each)
    return list(unique.values())


def constant(name: str, value: Any) -> Constant:
    """A constant as a recipe writes it; a float of NumPy is one of Python."""
    value = float(value) if isinstance(value, float) else value
    return Constant(name, value, name_of_value(value))


def is_writable(value: Any) -> bool:
    """Whether a recipe can write this value so that it can be parsed again."""
    if any(value is known for known in NAMED_VALUES.values()):
        return True
    return isinstance(value, float) or (is_literal(value) and _is_read_again(value))


def _is_read_again(value: Any) -> bool:
    try:
        return bool(ast.literal_eval(literal(value)) == value)
    except Exception:  # noqa: BLE001 a user's default may be anything
        return False


def _default_choices(argument: SignatureArgument, known: ArgumentEvidence) -> Iterator[Choice]:
    if isinstance(argument.default, str | torch.device) and str(argument.default).startswith("cuda"):
        yield Choice("device", 0.0, f"its default is {argument.default}, and the tensors are on the CPU", "cpu")
        yield Choice("default", _UNLIKELY, "it is the default", argument.default)
        return
    if argument.default is not NO_DEFAULT and is_writable(argument.default):
        # None often stands for an optional tensor: with the tensor more of the Function is visible.
        optional = argument.default is None and (known.saved or known.weight("tensor") >= _TENSOR_WEIGHT)
        yield Choice("default", 1.5 if optional else 0.0, "it is the default", argument.default)
    if known.given and is_writable(known.given[0]):
        yield Choice(_kind_of(known.given[0]), -1.0 if argument.required else 0.2, known.given[1], known.given[0])


def _kinds(argument: SignatureArgument, known: ArgumentEvidence, first: bool) -> Iterator[tuple[str, float, str]]:
    """The possible kinds, each with its cost and the reason for it."""
    weights, reasons = dict(known.weights), {kind: known.why(kind) for kind in known.weights}
    annotated = [kind for pattern, kind in _KINDS if re.search(pattern, argument.annotation)]
    for place, kind in enumerate(annotated):
        weights[kind] = weights.get(kind, 0.0) + _ANNOTATED - place
        reasons[kind] = f"its annotation is {argument.annotation}"
    if not annotated:
        _add_name_hints(argument.name, weights, reasons)
    elif "tensor" in annotated:  # which an index and a mask are, too
        named = dict[str, float]()
        _add_name_hints(argument.name, named, reasons)
        likely = {kind: weights.get(kind, 0.0) + named.get(kind, 0.0) for kind in ("index", "mask")}
        weights |= {kind: weight + _ANNOTATED for kind, weight in likely.items() if weight > 0}
    lower = argument.name.lower()
    if known.differentiable is not True and "tensor" in weights and name_hints.is_whole(lower):
        # An index is a tensor: what says that it is one says that it is the other.
        weights["index"] = weights.get("index", 0.0) + max(weights["tensor"], 0.0) + 2
        reasons.setdefault("index", "its name")
    if known.saved:
        weights |= {kind: weights[kind] - _ANNOTATED for kind in _PLAIN if kind in weights}
    if first and not annotated:
        weights["tensor"] = weights.get("tensor", 0.0) + 3
        reasons.setdefault("tensor", "it stands first")
    if known.differentiable is False:
        weights["tensor"] = weights.get("tensor", 0.0) - 1
    if known.switch and known.differentiable is False:
        weights["mask"] = max(weights.values(), default=0.0) + 1
        reasons["mask"] = "one of its elements is asked whether it is 0 or 1"
    if argument.default is not NO_DEFAULT and argument.default is not None and argument.default is not LEFT_OUT:
        kind = _kind_of(argument.default)
        weights[kind] = weights.get(kind, 0.0) + 4
        reasons.setdefault(kind, "its default is one")
    if known.foreign and not known.typed:
        # A number has no such attributes: code that reads them only in a try would do nothing.
        weights = {kind: weight for kind, weight in weights.items() if _may_be_kind(known, kind, reasons.get(kind, ""))}
    elif _is_unused(argument, known, annotated):
        weights["nothing"], reasons["nothing"] = 6.0, "nothing is done with it"
    # Where a float works, an int or a bool may be meant, and vice versa.
    if weights.get("dim", 0) > 0:
        weights["whole"] = 0.0
    if not known.foreign or known.typed:
        weights.setdefault("tensor", 0.0)
        weights.setdefault("number", 0.5 if not annotated else 0.0)
    order = sorted(weights, key=lambda kind: -weights[kind])
    best = weights[order[0]]
    for place, kind in enumerate(order):
        far = (best - weights[kind]) * 0.4 + 0.2 * place
        yield kind, min(_UNLIKELY, far) if place else 0.0, reasons.get(kind) or "its name"


def _may_be_kind(known: ArgumentEvidence, kind: str, reason: str) -> bool:
    """Whether what has attributes of its own may yet be of a kind: a tensor if it is used as one, and what is written
    out, as an annotation or as a default.
    """
    tensor = kind in _TENSORS and known.weight(kind) > 0
    return tensor or kind not in (*_PLAIN, *_TENSORS) or reason.startswith(("its annotation", "its default"))


def _is_unused(argument: SignatureArgument, known: ArgumentEvidence, annotated: list[str]) -> bool:
    """Whether an argument is stored but never used, and its name suggests nothing."""
    kinds = {kind for kind, weight in known.weights.items() if weight > 0}
    named = name_hints.suggested_values(argument.name) or name_hints.TENSOR_NAME.search(argument.name)
    return not known.used and kinds == {"number"} and not (annotated or named) and argument.default is NO_DEFAULT


def _add_name_hints(name: str, weights: dict[str, float], reasons: dict[str, str]) -> None:
    patterns = (
        ("tensor", name_hints.TENSOR_NAME, 2.0),
        ("index", name_hints.INDEX_NAME, 2.0),
        ("mask", name_hints.MASK_NAME, 2.0),
        ("callable", name_hints.CALLABLE_NAME, 3.0),
    )
    for kind, pattern, weight in patterns:
        if pattern.search(name if kind == "tensor" else name.lower()):
            weights[kind] = weights.get(kind, 0.0) + weight
            reasons.setdefault(kind, "its name")
    if name_hints.suggested_values(name):
        weights["number"] = weights.get("number", 0.0) + 1
        reasons.setdefault("number", "its name")


def _kind_of(value: Any) -> str:
    kinds: tuple[tuple[Any, str], ...] = (
        *((bool, "flag"), (int, "whole"), (float, "number"), (str, "text"), (tuple, "sequence"), (list, "sequence")),
        *((torch.dtype, "dtype"), (torch.device, "device"), (torch.Tensor, "tensor")),
    )
    return next((kind for cls, kind in kinds if isinstance(value, cls)), "callable" if callable(value) else "object")


def _values(kind: str, argument: SignatureArgument, known: ArgumentEvidence) -> list[Any]:
    """The values of a kind that are tried, the likeliest first."""
    makers: dict[str, Callable[[], list[Any]]] = {
        "number": lambda: _numbers(argument.name, known),
        "whole": lambda: _wholes(argument.name, known),
        "dim": lambda: [-1, 1, 0, 2],
        "flag": lambda: [False, True],
        "text": lambda: _strings(argument, known),
        "callable": lambda: [NAMED_VALUES[name] for name in (_ONE, _ONE, _TWO, _THREE)[min(known.arity, 3)]],
        "object": lambda: stand_in_objects(known),
        "sequence": lambda: _sequences(argument.name, known),
        "nothing": lambda: [None],
        "dtype": lambda: [torch.float64, torch.float32],
        "device": lambda: ["cpu"],
    }
    if kind in _TENSORS:
        return [None]
    return makers[kind]() if kind in makers else []


def _numbers(name: str, known: ArgumentEvidence) -> list[Any]:
    suggested = name_hints.suggested_values(name)
    values = [*suggested, *known.numbers, *(() if suggested else (0.5, 1.0, 2))]
    if known.share:
        return list(_SHARES)
    if (known.step or known.divides) and name_hints.TINY_NAME.search(name.lower()):
        values = [*_STEPS, *values]
    if name_hints.is_tiny_constant(name, known.used):
        values = [TINY, *values]
    typed = any(known.weight(kind) > 0 for kind in ("whole", "dim", "flag", "sequence", "object"))
    if "backward" in known.used and "forward" not in known.used and not known.numbers and not typed and 1.0 in values:
        # A constant that backward alone uses, such as a factor of the gradient, shows nothing where it is 1.
        values = [0.5, *values]
    if known.weight("whole") < 2:
        # A number that is nowhere used as an int can be swept as a float.
        values = [
            float(each)
            if isinstance(each, int) and each not in known.numbers and place and not known.weight("dim")
            else each
            for place, each in enumerate(values)
        ]
    return values


def _wholes(name: str, known: ArgumentEvidence) -> list[int]:
    values = [each for each in name_hints.suggested_values(name) if isinstance(each, int | float)]
    rounded = [int(each) for each in values if int(each) == each]
    often = [_OFTEN] * known.repeats
    return list(dict.fromkeys([*known.numbers, *often, *rounded, 2, 1, 3, 4]))


def _strings(argument: SignatureArgument, known: ArgumentEvidence) -> list[str]:
    literal = re.findall(r"""['"]([^'"]*)['"]""", argument.annotation)
    found = list(dict.fromkeys([*literal, *known.strings]))
    return found or ["mean", "sum", "none"]


def _sequences(name: str, known: ArgumentEvidence) -> list[Any]:
    length = known.length or 2
    fills = [each for each in name_hints.suggested_values(name) if type(each) is int] or [1, 2]
    return [*((each,) * length for each in (*fills, 1, 0)), (1.0,) * length, [1] * length]


# Attributes that tell an nn.Module from any other object.
_MODULE_ATTRIBUTES = set(dir(torch.nn.Module)) | {"training"}
_MODULE_ONLY_ATTRIBUTES = _MODULE_ATTRIBUTES - set(dir(torch.Tensor))
_FLAG_NAME = re.compile(
    r"^(is|use|has|with|do|enable|return|apply|keep|no|need)_|^(training|inplace|causal|debug|verbose|bias|deterministic)$"
)
_TEXT_NAME = re.compile(r"(^|_)(mode|type|method|kind|reduction|name|act|activation)$")


def stand_in_objects(known: ArgumentEvidence) -> list[Any]:
    """Stand-ins for an argument whose attributes or keys are read; none where a recipe cannot write one."""
    if known.keys and not known.members:
        return [{each: _attribute_value(each) for each in dict.fromkeys(known.keys)}]
    read = dict.fromkeys(known.members)
    if not known.foreign:
        return []
    if set(read) <= _MODULE_ATTRIBUTES and set(read) & _MODULE_ONLY_ATTRIBUTES:
        return [NAMED_VALUES[EXAMPLE_MODULE]]
    if known.methods & set(read):
        return []
    return [SimpleNamespace(**{each: _attribute_value(each) for each in read})]


def _attribute_value(name: str) -> Any:
    """A plausible value for an attribute of this name."""
    if _FLAG_NAME.search(name.lower()):
        return False
    if _TEXT_NAME.search(name.lower()):
        return "mean"
    return next(iter(name_hints.suggested_values(name)), 0.5)


# Normal values exceed upper bounds below this.
_LARGE_BOUND = 2.0


def fill_from_evidence(known: ArgumentEvidence, shape: tuple[int, ...]) -> Fill | None:
    """The fill of a floating tensor that is not the first argument; None without evidence."""
    name = known.name.lower()
    if name_hints.is_tiny_constant(name, known.used):
        return "tiny"
    if known.few and shape == (2,):
        return "rising"
    zero_or_one = bool(known.binary) or bool(known.numbers and set(known.numbers) <= {0, 1})
    if name_hints.LABEL_NAME.search(name) and (zero_or_one or known.signs):
        return "binary" if zero_or_one else "signs"
    if len(shape) < 2 and name_hints.LOWER_BOUND_NAME.search(name) and not name_hints.POSITIVE_NAME.search(name):
        return "negative"
    bounds = len(shape) < 2 and name_hints.UPPER_BOUND_NAME.search(name)
    return "positive" if bounds or known.step or name_hints.POSITIVE_NAME.search(name) else None


def fill_from_name(tensor: TensorArgument) -> Fill | None:
    """The fill of a tensor whose name says what its values are to each other; None if it says nothing of that."""
    name, shape = tensor.name.lower(), tensor.shape
    if name_hints.PROBABILITY_NAME.search(name):
        return "simplex"
    if name_hints.SORTED_NAME.search(name):
        return "rising"
    return "spd" if is_square(shape) and name_hints.SYMMETRIC_NAME.search(name) else None


def fill_told(known: ArgumentEvidence, shape: tuple[int, ...]) -> Fill | None:
    """The fill of what the author says in words of the values of a tensor of this shape; None if that is nothing."""
    fill = known.told[0] if known.told and shape else None
    return None if fill in SQUARE_FILLS and not is_square(shape) else fill


_SAID = {
    "positive": "its numbers are positive",
    "negative": "its numbers are negative",
    "signs": "it is -1 or 1",
    "binary": "it is 0 or 1",
    "rising": "its elements rise",
    "simplex": "its elements are probabilities, which add up to 1",
    "marginal": "its elements are probabilities, and go on to add up to 1",
    "onehot": "one element of each row is 1, and the others are 0",
    "unit": "its norm is 1",
    "spd": "it is positive definite",
    "symmetric": "it is symmetric, and stays so",
    "orthogonal": "it is orthogonal",
    "stable": "its powers die out",
    "shuffled": "it picks every place once",
    "offsets": "it says where each part begins",
    "lengths": "it says how long each part is",
    "inverse": "it undoes the other",
}


def said_of_values(known: ArgumentEvidence, fill: str) -> str:
    """What is said of the values of a tensor, and what says so; empty where any will do."""
    if known.told and known.told[0] == fill:
        return f"{_SAID[fill]}, as “{known.told[1]}” says"
    quoted = known.binary or known.signs
    source = f"`{quoted}`" if fill in ("binary", "signs") and quoted else "its use" if fill in SQUARE_FILLS else ""
    bounded = fill_within_bounds(known) == fill or (fill == "positive" and known.step)
    how = source or ("the source" if bounded or (fill == "rising" and known.few) else "its name")
    return f"{_SAID[fill]}, as {how} says" if fill in _SAID else ""


def fill_within_bounds(known: ArgumentEvidence) -> Fill | None:
    """The fill that keeps the bounds that the source demands of the values; None where it demands none."""
    low, high = -math.inf if known.low is None else known.low, math.inf if known.high is None else known.high
    if (low <= LOW and HIGH <= high < _LARGE_BOUND) or (0 <= low <= LOW and high >= HIGH):
        return "positive"
    return "negative" if low <= -HIGH and -LOW <= high <= 0 else None
