"""The attributes of torch and NumPy, one setting of this process: a Function may replace them for all others."""

import operator
from types import ModuleType
from typing import Any

import numpy as np
import torch

from ..runtime.settings import Setting

_Copies = tuple[dict[str, Any], ...]
_SPACES: tuple[ModuleType | type, ...] = (torch, torch.Tensor, torch.autograd.Function, torch.nn.functional, np)
_ABSENT = object()
_FOLLOWS_DTYPE = "Storage"  # torch itself replaces it where the default dtype is set
_MOST_NAMED = 3  # sample: of the names that are told
_last: _Copies = ({},) * len(_SPACES)


def _read() -> _Copies:
    """The attributes of each space; the very same copies as the last time while nothing has changed."""
    global _last
    if not all(_is_copy(copy, vars(space)) for copy, space in zip(_last, _SPACES, strict=True)):
        _last = tuple(dict(vars(space)) for space in _SPACES)
    return _last


def _is_copy(copy: dict[str, Any], own: Any) -> bool:
    return len(copy) == len(own) and all(map(operator.is_, copy.values(), own.values()))


def _replaced(before: _Copies, after: _Copies) -> list[tuple[ModuleType | type, str, Any]]:
    """The public names that stand for something else, and what they stood for.

    A new name counts where it hides an inherited one: else it is a module that was imported, or an addition.
    """
    if before is after:
        return []
    return [
        (space, name, old.get(name, _ABSENT))
        for space, old, new in zip(_SPACES, before, after, strict=True)
        for name in sorted(old.keys() | new.keys())
        if old.get(name, _ABSENT) is not new.get(name, _ABSENT)
        and (name in old or _is_inherited(space, name))
        and (name.startswith("__") or not name.startswith("_"))
        and name != _FOLLOWS_DTYPE
    ]


def _is_inherited(space: ModuleType | type, name: str) -> bool:
    return isinstance(space, type) and any(name in vars(base) for base in space.__mro__[1:])


def _write(before: _Copies) -> None:
    global _last
    for space, name, value in _replaced(before, _read()):
        if value is _ABSENT:
            delattr(space, name)
        else:
            setattr(space, name, value)
    _last = before  # what stood there is let go now


def _words(before: _Copies, after: _Copies) -> tuple[str, str]:
    names = [f"{_path(space)}.{name}" for space, name, _ in _replaced(before, after)]
    more = " and others" * (len(names) > _MOST_NAMED)
    return f"replaces {', '.join(names[:_MOST_NAMED])}{more}", "that is undone"


def _path(space: ModuleType | type) -> str:
    return f"{space.__module__}.{space.__qualname__}" if isinstance(space, type) else space.__name__


ATTRIBUTES = Setting(_read, _write, _words, lambda before, after: bool(_replaced(before, after)))
