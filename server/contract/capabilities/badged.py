"""The badges as rows: what other parts of torch make of a Function."""

from __future__ import annotations

from ..examination.probe import Check, Level
from ..examination.references import AMP, FUNC, MECHANICS, PRECISION
from ..examination.session import Examined
from .capability import Badge

FAMILY = "Other parts of torch"
TITLES = {
    "vmap": ("VMAP", "torch.func.vmap", FUNC),
    "jvp": ("JVP", "Forward mode", FUNC),
    "func.grad": ("FUNC-GRAD", "torch.func.grad", FUNC),
    "compile": ("COMPILE", "torch.compile", "torch.compile"),
    "autocast": ("AUTOCAST", "torch.autocast", AMP),
    "complex": ("COMPLEX", "If it is ever given complex numbers", MECHANICS),
    "half": ("HALF", "Half precision", PRECISION),
}
# How bad it is to get other numbers than right ones; a Function of real numbers need not be one of complex numbers.
GRAVE: dict[str, Level] = {"vmap": "error", "jvp": "error", "func.grad": "error", "complex": "note", "half": "note"}
# Where a refusal is no more than what the badge says of it.
REFUSES = {"vmap", "jvp", "func.grad", "complex", "half"}
ADVICE = {
    "jvp": "The jvp has to return the derivative of forward along the tangent, as backward is that of its transpose.",
    "complex": "For complex numbers a gradient is grad_output times the conjugate of the derivative.",
    "autocast": "Decorate with torch.amp.custom_fwd and torch.amp.custom_bwd.",
}


def rows(at: Examined, badges: tuple[Badge, ...]) -> tuple[Check, ...]:
    """One row for each badge that has something to say beside its own sentence."""
    known = [badge for badge in badges if badge.state in ("yes", "wrong") or badge.name not in REFUSES]
    return tuple(_row(at, badge) for badge in known if badge.state != "unknown")


def _row(at: Examined, badge: Badge) -> Check:
    id_, title, document = TITLES[badge.name]
    level: Level = "fine" if badge.state == "yes" else "note"
    if badge.state == "wrong":
        level = GRAVE.get(badge.name, "warning")
    advice = ADVICE.get(badge.name, "") if badge.state == "wrong" else ""
    line = at.source.defined(badge.name) if badge.name in ("vmap", "jvp") else None
    return Check(id_, FAMILY, level, title, badge.sentence, "", advice, line, document)
