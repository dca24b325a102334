"""What one point says of backward."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """What one point says of backward."""

    AGREES = 0
    SUBGRADIENT = 1
    JUMP = 2
    EDGE = 3
    UNDECIDED = 4
    DIFFERS = 5
    GAP = 6
