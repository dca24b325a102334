"""The job of a worker: what it loads, its limits of time and memory, and the command that starts its process."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import Any

from ..paths import PACKAGE, ROOT

# A question may take this many times its deadline while other processes use the CPU: where somebody waits for it, and
# in a report, which is to say the same on a busy machine.
_PATIENCE, _PATIENCE_OF_A_REPORT = 2.0, 20.0

# A Function of a file that has loaded a compiler may take this many times as long: of bitnet's, 10 s were not enough.
_COMPILING = 6.0

EDITED = "edit.py"  # what a text that was edited in a page is called


@dataclass(frozen=True)
class Job:
    """The job of one worker.

    ``targets`` are as on the command line (``my_ops.py``, ``package.module:Name``); without any it serves the gallery.
    ``deadline`` and ``loading`` are limits in seconds, for one question and until its handshake, in which waiting for a
    processor does not count; ``memory`` is MiB of resident memory, that of its children included, 0 for no limit.
    ``text`` is code that was edited in a page: instead of targets, its Functions are served, and run in a sandbox. It
    is sent when the worker is connected; until then it may be "", and the worker is a spare one. None without any.
    ``again`` counts explicit reloads, which also invalidate what is read beside the source. ``report`` says that all
    its Functions are looked at once, in every view, and nobody waits for a single answer. ``recipes`` are names of
    Functions, each with how it is called. ``data`` is the file of a capture, whose calls are the recipes of others.
    ``workers`` is how many of them share the questions; those beside the first start ``warm``, once all that any
    question needs is imported.
    """

    deadline: float = 10.0
    targets: tuple[str, ...] = ()
    loading: float = 120.0
    memory: int = 0
    again: int = 0
    report: bool = False
    text: str | None = None
    recipes: tuple[tuple[str, str], ...] = ()
    data: str = ""
    workers: int = 1
    warm: bool = False

    @property
    def foreign(self) -> tuple[str, ...]:
        """What it loads that is no part of Gradloupe: its targets, or the text."""
        return self.targets or (EDITED,) * (self.text is not None)

    def seconds(self, compiles: bool) -> float:
        """The limit for one question, where a compiler is at work or not."""
        return self.deadline * (_COMPILING if compiles else 1.0)

    @property
    def patience(self) -> float:
        """How many times its limits it may take by the clock while other processes use the CPU."""
        return _PATIENCE_OF_A_REPORT if self.report else _PATIENCE

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> Job:
        """The job from its plain JSON data."""
        recipes = tuple((name, recipe) for name, recipe in plain["recipes"])
        return cls(**{**plain, "targets": tuple(plain["targets"]), "recipes": recipes})


ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def python_command(module: str, *arguments: str) -> list[str]:
    """The command that runs a module of ``server``, and imports nothing from the working directory."""
    # `-m` puts the working directory in front of the path, where a stranger's `torch.py` may lie.
    found_here = os.path.dirname(ROOT) == os.getcwd()
    return [sys.executable, *["-P"] * (not found_here), "-m", f"{PACKAGE}.server.{module}", *arguments]
