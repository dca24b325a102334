"""The status of a single point: whether backward agrees with forward there, and if not, why."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """The verdict at one point."""

    AGREES = 0
    SUBGRADIENT = 1
    JUMP = 2
    EDGE = 3
    UNDECIDED = 4
    DIFFERS = 5
    GAP = 6
