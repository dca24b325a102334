"""What a worker is for, and how much it may take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

BUSY = 2.0  # how many times as long as it may take a question may last in all, where others have the processors


@dataclass(frozen=True)
class Work:
    """The task of one worker.

    ``targets`` are what stands on the command line (``my_ops.py``, ``package.module:Name``); with none it serves the
    gallery. ``deadline`` and ``loading`` are seconds, for one question and until it has greeted; ``memory`` is MiB of
    resident memory, that of its children included, 0 for no bound. ``again`` counts how often somebody has asked for
    the same to be loaded: what it reads beside the source may be another.
    """

    deadline: float = 10.0
    targets: tuple[str, ...] = ()
    loading: float = 120.0
    memory: int = 0
    again: int = 0

    @classmethod
    def told(cls, plain: dict[str, Any]) -> Work:
        """The same work after its way through JSON."""
        return cls(**{**plain, "targets": tuple(plain["targets"])})
