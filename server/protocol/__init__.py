"""What server and worker processes both know: questions, jobs, frames and errors, as plain data.

Starting processes and opening sockets is in ``supervisor`` and ``worker``, the shapes of the answers in ``schema``.
"""

from importlib import import_module
from typing import Any

_NAMES = {
    "answer": ("Answer", "asked_record", "empty_answer"),
    "errors": ("BadQuestion", "EngineBroken", "EngineBusy", "EngineFault", "Unsolved"),
    "frames": ("FRAME_PREFIX", "Frame", "pack", "parse_prefix", "unpack"),
    "job": ("ONE_THREAD", "Job"),
    "listed": ("counted",),
    "question": ("Element", "Question"),
    "views": ("DRAWN_VIEWS", "VIEWS", "VIEW_NAMES", "WRITTEN_VIEWS"),
}


def __getattr__(name: str) -> Any:
    """Loaded when it is asked for: the command line, which knows a job alone, starts the worker before all else."""
    for module, names in _NAMES.items():
        if name in names:
            return getattr(import_module(f".{module}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
