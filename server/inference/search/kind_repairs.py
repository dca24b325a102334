"""Repairs of the kind of an argument: a callable, a bool, a dtype, half precision."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ..recipe.recipe import NAMED_VALUES, Constant, TensorArgument
from ..source import name_hints
from .failed_call import FailedCall, Repair

_Match = re.Match[str]
_CALLED = ("torch.tanh", "torch.mul", "identity", "torch.addcmul")


def as_callable(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    """A callable."""
    named = [place for place, each in enumerate(broken.recipe.arguments) if name_hints.CALLABLE_NAME.search(each.name)]
    for place in dict.fromkeys((*broken.places(), *named)):
        given = broken.given(place)
        if isinstance(given, Constant) and isinstance(given.value, tuple | list):
            # Its elements are called.
            yield from broken.valued(place, ((NAMED_VALUES["torch.tanh"],), [NAMED_VALUES["torch.tanh"]]), 0.3)
        yield from broken.valued(place, tuple(NAMED_VALUES[name] for name in _CALLED), 0.4, 0.3)


def distinct_numbers(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    """Distinct numbers, where equal ones are rejected."""
    numbers = [(place, each) for place, each in broken.constants() if type(each.value) in (int, float)]
    values = [each.value for _, each in numbers]
    for place, each in numbers:
        if values.count(each.value) > 1:
            yield from broken.valued(place, (each.value * 2 or 1, each.value + 1), 0.4)


def as_bool(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    """A bool."""
    for place, each in broken.constants():
        if type(each.value) is not bool:
            yield from broken.valued(place, (True, False), 0.4)
    for place, _ in broken.tensors(False):
        if place:
            yield from broken.valued(place, (True, False), 1.4)


def as_dtype(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    """A dtype of the kind that the message names."""
    names = ("torch.float8_e4m3fn",) if "float8" in match.string else ("torch.float32", "torch.float64")
    for place, each in broken.constants():
        yield from broken.valued(
            place, tuple(NAMED_VALUES[name] for name in names if NAMED_VALUES[name] is not each.value), 0.4
        )


def half_precision(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    """Half precision, bfloat16 or float16."""
    for step, to in enumerate(("bfloat16", "float16")):
        yield from broken.all(lambda each, to=to: _of(each, to), 0.5 + 0.2 * step)  # type: ignore[misc]


def callable_of_arity(broken: FailedCall, match: _Match) -> Iterator[Repair]:
    """A callable that takes this number of arguments."""
    count = int(next(filter(None, match.groups()), "2"))
    for place, each in broken.constants():
        if callable(each.value):
            fitting = ("torch.addcmul",) if count > 2 else ("torch.mul", "torch.sub") if count == 2 else ("torch.tanh",)
            yield from broken.valued(place, tuple(NAMED_VALUES[name] for name in fitting), 0.3)


def _of(each: TensorArgument, dtype: str) -> TensorArgument:
    return replace(each, dtype=dtype) if each.floating else each
