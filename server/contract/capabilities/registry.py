"""What else of torch a Function works with: one badge each, and the reason in a sentence."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np

from ...runtime import timing
from ...runtime.section import Section
from ...runtime.timeouts import TookTooLong, within
from ..examination.call import Call
from .capability import Badge, raised
from .compile import compiling
from .dtypes import autocast, complex_numbers, half
from .transforms import func_grad, jvp, vmap

__all__ = ["Badge", "badges"]

# The order in which they are shown; torch.compile is tried last, with what time there is left.
ORDER = ("vmap", "jvp", "func.grad", "compile", "autocast", "complex", "half")
# Seconds for each of the others.
ONE = 1.5


@np.errstate(all="ignore")
def badges(section: Section, call: Call, until: float = math.inf, compiled: bool = False) -> tuple[Badge, ...]:
    """All badges of a working ``call``. Raises nothing that the Function raises.

    torch.compile takes seconds, and is tried where ``compiled`` says so. ``section`` is what complex numbers are tried
    on. All is done at the time ``until``; what is not is unknown.
    """
    asked: dict[str, Callable[[], Badge]] = {
        "vmap": lambda: vmap(call),
        "jvp": lambda: jvp(call),
        "func.grad": lambda: func_grad(call),
        "autocast": lambda: autocast(call),
        "complex": lambda: complex_numbers(section),
        "half": lambda: half(call),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {name: _tried(name, ask, until) for name, ask in asked.items()}
        found["compile"] = compiling(call, compiled, until - timing.now())
        return tuple(found[name] for name in ORDER)


def _tried(name: str, ask: Callable[[], Badge], until: float) -> Badge:
    """A badge, unknown where it cannot be found out."""
    left = until - timing.now()
    if left <= 0:
        return Badge(name, "unknown", "The Function is too slow for all badges.")
    try:
        with within(min(left, ONE)):
            return ask()
    except TookTooLong:
        return Badge(name, "unknown", "The Function was not back in time.")
    except Exception as error:  # noqa: BLE001 what a Function raises, or gives us to raise, is a result
        return Badge(name, "unknown", f"It could not be tried: it met {raised(error)}.")
