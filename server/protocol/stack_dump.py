"""Parses the stack traces that ``faulthandler`` writes when a worker crashes or is killed, and writes like ones."""

from __future__ import annotations

import os
import re
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass

from ..paths import SERVER

STACK = re.compile(r"^(Current thread|Thread|Stack)\b.*\(most recent call first\):$")
_LINE = re.compile(r'^  File "(.*)", line (\d+) in (.*)$')
MOST_COPIES = 16  # living children by os.fork
TOO_MANY = "Too many copies of this process\n"  # written before the stack of the os.fork call that exceeds that
ESCAPED = re.compile(r"\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|\\U[0-9a-f]{8}")
LIBRARIES = tuple(os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platstdlib", "purelib", "platlib"))


@dataclass(frozen=True)
class Fault:
    """One stack frame, with the absolute path of its file."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}, line {self.line}, in {self.function}"

    def lies_in(self, file: str) -> bool:
        """Whether this frame is in ``file``, a path or the end of one."""
        return bool(file) and (self.file == file or self.file.endswith(f"/{file}"))


def faults(dump: str) -> tuple[Fault, ...]:
    """The stack frames in a dump of ``faulthandler``, innermost first; those of the crashed thread before others."""
    stacks: list[tuple[bool, list[Fault]]] = []
    for text in dump.splitlines():
        if head := STACK.match(text):
            stacks.append((head[1] != "Thread", []))
        elif stacks and (call := _LINE.match(text)):
            stacks[-1][1].append(Fault(_unescaped(call[1]), int(call[2]), _unescaped(call[3])))
    stacks.reverse()  # the last dump was written by the crash
    stacks.sort(key=lambda stack: not stack[0])
    return tuple(call for _, calls in stacks for call in calls)


def written(calls: Iterable[Fault]) -> str:
    """Stack frames in the format of ``faulthandler``."""
    lines = (f'  File "{call.file}", line {call.line} in {call.function}\n' for call in calls)
    return "".join(("Stack (most recent call first):\n", *lines))


def last_line(calls: Iterable[Fault], file: str = "") -> Fault | None:
    """The innermost frame in ``file``; without one, the innermost outside of our code and of installed packages."""
    calls = tuple(calls)
    inside = [call for call in calls if call.lies_in(file)]
    return next(iter(inside or [call for call in calls if _is_a_visitors(call.file)]), None)


def _is_a_visitors(file: str) -> bool:
    return not file.startswith((SERVER, "<", *LIBRARIES))


def _unescaped(text: str) -> str:
    return ESCAPED.sub(lambda found: chr(int(found[0][2:], 16)), text)
