"""All capability badges: tries each under a time limit, and turns them into rows of the report."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np

from ...runtime import timing
from ...runtime.section import Section
from ...runtime.timeouts import TookTooLong, time_limit
from ..examination.call import Call
from ..examination.contract_check import AMP, MECHANICS, PRECISION, TORCH_FUNC, CheckRow, Level
from ..examination.session import CheckSession
from .badges import (
    CapabilityBadge,
    autocast_badge,
    complex_badge,
    exception_summary,
    func_grad_badge,
    half_precision_badge,
    jvp_badge,
    vmap_badge,
)
from .compile import compile_badge

__all__ = ["Call", "CapabilityBadge", "badge_rows", "capability_badges", "exception_summary"]

_FAMILY = "Other parts of torch"
_TITLES = {
    "vmap": ("VMAP", "torch.func.vmap", TORCH_FUNC),
    "jvp": ("JVP", "Forward mode", TORCH_FUNC),
    "func.grad": ("FUNC-GRAD", "torch.func.grad", TORCH_FUNC),
    "compile": ("COMPILE", "torch.compile", "torch.compile"),
    "autocast": ("AUTOCAST", "torch.autocast", AMP),
    "complex": ("COMPLEX", "If it is ever given complex numbers", MECHANICS),
    "half": ("HALF", "Half precision", PRECISION),
}
# How serious wrong numbers are; a Function for real numbers need not support complex ones.
_LEVELS: dict[str, Level] = {"vmap": "error", "jvp": "error", "func.grad": "error", "complex": "note", "half": "note"}
# Badges whose refusal ("no") gets no row of its own.
_NO_ROW_IF_REFUSED = {"vmap", "jvp", "func.grad", "complex", "half"}
_ADVICE = {
    "jvp": "The jvp has to return the derivative of forward along the tangent, as backward is that of its transpose.",
    "complex": "For complex numbers a gradient is grad_output times the conjugate of the derivative.",
    "autocast": "Decorate with torch.amp.custom_fwd and torch.amp.custom_bwd.",
}


def badge_rows(session: CheckSession, badges: tuple[CapabilityBadge, ...]) -> tuple[CheckRow, ...]:
    """The rows of those badges that belong among the checks."""
    known = [badge for badge in badges if badge.state in ("yes", "wrong") or badge.name not in _NO_ROW_IF_REFUSED]
    return tuple(_row(session, badge) for badge in known if badge.state != "unknown")


def _row(session: CheckSession, badge: CapabilityBadge) -> CheckRow:
    id_, title, document = _TITLES[badge.name]
    level: Level = "fine" if badge.state == "yes" else "note"
    if badge.state == "wrong":
        level = _LEVELS.get(badge.name, "warning")
    advice = _ADVICE.get(badge.name, "") if badge.state == "wrong" else ""
    line = session.source.defined(badge.name) if badge.name in ("vmap", "jvp") else None
    return CheckRow(id_, _FAMILY, level, title, badge.sentence, "", advice, line, document)


# The order in which they are shown; torch.compile is tried last, in the time that is left.
_ORDER = ("vmap", "jvp", "func.grad", "compile", "autocast", "complex", "half")
# budget: time limit in seconds for each of the others.
_BADGE_SECONDS = 1.5


@np.errstate(all="ignore")
def capability_badges(
    section: Section, call: Call, until: float = math.inf, compiled: bool = False
) -> tuple[CapabilityBadge, ...]:
    """Try all badges on a working ``call``. Exceptions of the Function become badges.

    torch.compile takes seconds, and is tried only with ``compiled``. Complex numbers are tried on ``section``. What is
    not tried by the time ``until`` is unknown.
    """
    makers: dict[str, Callable[[], CapabilityBadge]] = {
        "vmap": lambda: vmap_badge(call),
        "jvp": lambda: jvp_badge(call),
        "func.grad": lambda: func_grad_badge(call),
        "autocast": lambda: autocast_badge(call),
        "complex": lambda: complex_badge(section),
        "half": lambda: half_precision_badge(call),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {name: _tried(name, make, until) for name, make in makers.items()}
        found["compile"] = compile_badge(call, compiled, until - timing.now())
        return tuple(found[name] for name in _ORDER)


def _tried(name: str, make: Callable[[], CapabilityBadge], until: float) -> CapabilityBadge:
    """The badge; unknown if trying it takes too long or raises."""
    left = until - timing.now()
    if left <= 0:
        return CapabilityBadge(name, "unknown", "The Function is too slow for all badges.")
    try:
        with time_limit(min(left, _BADGE_SECONDS)):
            return make()
    except TookTooLong as error:
        return CapabilityBadge(name, "unknown", f"The Function did not finish in time{error.place}.")
    except Exception as error:  # noqa: BLE001 what a Function raises, or gives us to raise, is a result
        return CapabilityBadge(name, "unknown", f"It could not be tried: it raised {exception_summary(error)}.")
