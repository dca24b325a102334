"""Functions that no call is found for on the CPU are tried on the GPU: a kernel may run nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ...runtime.devices import on_gpu
from ..recipe.recipe import NotInferred
from ..source.signature import Unfit

_Found = TypeVar("_Found")


def here_or_on_gpu(function: Callable[..., Any], attempt: Callable[[Callable[..., Any]], _Found]) -> _Found:
    """What ``attempt`` makes of a function, or else of the same called on the GPU of this machine.

    Raises ``NotInferred``: where both fail that of the CPU, unless that asks for what is not there.
    """
    try:
        return attempt(function)
    except Unfit:
        raise
    except NotInferred as problem:
        there = on_gpu(function)
        if there is None:
            raise
        try:
            return attempt(there)
        except NotInferred as other:
            raise (other if problem.missing_here else problem) from None
