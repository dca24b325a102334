"""The badge: the record that says whether a Function works with one feature of torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

BadgeState = Literal["yes", "no", "wrong", "unknown"]
# At most so many characters of a message of torch are quoted.
MAX_MESSAGE = 160


@dataclass(frozen=True)
class CapabilityBadge:
    """``state`` is ``yes``, ``no`` (it is refused), ``wrong`` (it runs, with other numbers) or ``unknown``."""

    name: str
    state: BadgeState
    sentence: str


def exception_summary(error: BaseException) -> str:
    """The type of an exception and the first sentence of its message, without the full stop."""
    try:
        lines = str(error)[: 4 * MAX_MESSAGE].strip().splitlines() or [""]
    except Exception:  # noqa: BLE001 an exception may be a Function's own
        lines = [""]
    said, kind = lines[0].split(". ")[0].rstrip(".:"), type(error).__name__[:MAX_MESSAGE]
    return f"{kind}: {said if len(said) <= MAX_MESSAGE else said[: MAX_MESSAGE - 1] + '…'}" if said else kind
