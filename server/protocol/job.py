"""The job of a worker: what it loads, and its limits of time and memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

BUSY_FACTOR = 2.0  # a question may take this many times its deadline while other processes use the CPU


@dataclass(frozen=True)
class Job:
    """The job of one worker.

    ``targets`` are as on the command line (``my_ops.py``, ``package.module:Name``); without any it serves the gallery.
    ``deadline`` and ``loading`` are limits in seconds, for one question and until its handshake; ``memory`` is MiB of
    resident memory, that of its children included, 0 for no limit. ``again`` counts explicit reloads, which also
    invalidate what is read beside the source.
    """

    deadline: float = 10.0
    targets: tuple[str, ...] = ()
    loading: float = 120.0
    memory: int = 0
    again: int = 0

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> Job:
        """The job from its plain JSON data."""
        return cls(**{**plain, "targets": tuple(plain["targets"])})
