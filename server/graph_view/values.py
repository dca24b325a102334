"""Bounded summary of any Python value for display: type, shape, dtype and a short text."""

from collections.abc import Iterable
from dataclasses import dataclass
from reprlib import Repr
from typing import Any

import torch

from ..numerics.formatting.numbers import format_number
from ..protocol.listed import shortened
from ..runtime.arrays import dtype_name

# Limits: characters of a text, elements of a tensor that are written out, elements of a list that are searched.
MAX_CHARS, _ELEMENTS, _LOOKED_AT = 80, 6, 1000
_CONTAINERS = (list, tuple, dict, set, str, bytes)

_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = 2 * MAX_CHARS
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = _SHORT.maxset = 2 * _ELEMENTS


@dataclass(frozen=True)
class ValueSummary:
    """Summary of a value.

    ``kind`` is ``tensor`` or the name of its type; ``text`` its first elements or its repr, at most 80 characters.
    ``shape``, ``dtype`` and ``strides`` are those of a tensor; ``size`` is its bytes.
    """

    kind: str
    text: str
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    strides: tuple[int, ...] | None = None
    size: int = 0


def value_summary(value: Any) -> ValueSummary:
    """Summarise a value as it is now; a repr that raises gives a text as well."""
    if not isinstance(value, torch.Tensor):
        return ValueSummary(_kind(value), _written(value))
    try:
        strides = tuple(value.stride())
    except (RuntimeError, NotImplementedError):  # a sparse tensor has none
        strides = None
    size = value.numel() * value.element_size()
    return ValueSummary("tensor", _elements(value), tuple(value.shape), dtype_name(value.dtype), strides, size)


def tensors_in(value: Any) -> list[torch.Tensor]:
    """The tensors in a list, a tuple or a dictionary."""
    if isinstance(value, dict):
        value = list(value.values())
    return [each for each in value[:_LOOKED_AT] if isinstance(each, torch.Tensor)] if _plain(value) else []


def _written(value: Any) -> str:
    """The repr of a value, shortened; if it raises, a text that says so."""
    if isinstance(value, bool) or not isinstance(value, float):
        try:
            # Repr stops early: a long list need not be written out only to be shortened.
            return one_line(_SHORT.repr(value) if isinstance(value, _CONTAINERS) else repr(value))
        except Exception as error:  # noqa: BLE001 the repr of a class of the user
            return one_line(f"its repr raises {type(error).__name__}")
    return format_number(value)


def one_line(text: str, most: int = MAX_CHARS) -> str:
    """The text on one line, shortened with an ellipsis."""
    return shortened(" ".join(text[: 2 * most].split()), most)


def shape_as_list(shape: Iterable[int]) -> str:
    """A shape as torch prints it: ``[2, 3]``."""
    return f"[{', '.join(map(str, shape))}]"


def _plain(value: Any) -> bool:
    return isinstance(value, list | tuple) and not isinstance(value, torch.Size)


def _kind(value: Any) -> str:
    if value is None:
        return "None"
    inside = len(tensors_in(value))
    name = one_line(type(value).__name__, MAX_CHARS // 2)
    return f"{name} with {inside} tensor{'s' * (inside > 1)}" if inside else name


def _elements(tensor: torch.Tensor) -> str:
    """The first elements, with an ellipsis if there are more."""
    try:
        some = tensor.detach().reshape(-1)[:_ELEMENTS].tolist()
    except (RuntimeError, NotImplementedError) as error:  # it has no elements to show, as on the device meta
        return one_line(f"no values: {error}")
    texts = [format_number(each) if isinstance(each, float) else _written(each) for each in some]
    return one_line(", ".join([*texts, "…"] if tensor.numel() > _ELEMENTS else texts))
