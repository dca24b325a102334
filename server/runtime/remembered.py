"""What does not depend on the grid is remembered while one zooms, pans, or asks for another count."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, TypeVar

from .section import Section

_T = TypeVar("_T")
_MOST = 64  # budget: the most results of one function that are kept
_KEPT: list[dict[Hashable, Any]] = []


def remembered(worth: Callable[[Any], bool] = lambda result: True) -> Callable[[Callable[..., _T]], Callable[..., _T]]:
    """Keep the last results of a function of sections and numbers that are ``worth`` it.

    The results must follow from the arguments alone, so that nobody can tell whether they were remembered. What cannot
    be hashed, as a section made with lists, is computed each time.
    """

    def keeping(function: Callable[..., _T]) -> Callable[..., _T]:
        kept: dict[Hashable, _T] = {}
        _KEPT.append(kept)

        @wraps(function)
        def ask(*arguments: Any) -> _T:
            key = tuple(map(_key, arguments))
            try:
                known = kept.get(key)
            except TypeError:
                return function(*arguments)
            if known is not None:
                return known
            result = function(*arguments)
            if worth(result):
                kept[key] = result
                if len(kept) > _MOST:
                    del kept[next(iter(kept))]
            return result

        return ask

    return keeping


def forget() -> None:
    """Forget all that is remembered: Functions may be other ones under the same names, or read what has changed."""
    for each in _KEPT:
        each.clear()


def _key(argument: Any) -> Hashable:
    """What tells an argument from all others: of numbers also the sign of 0 and the type, which ``==`` leaves out."""
    if isinstance(argument, Section):
        zeros = [values for _, values in argument.inputs if 0.0 in values]
        return argument, repr((argument.parameters, zeros))
    return argument, repr(argument) if isinstance(argument, float) else ""
