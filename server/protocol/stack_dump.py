"""Parses the stack traces that ``faulthandler`` writes when a worker crashes or is killed, and writes like ones."""

import linecache
import os
import re
import signal
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import FrameType

from ..paths import SERVER

_STACK_HEADER = re.compile(r"^(Current thread|Thread|Stack)\b.*\(most recent call first\):$")
_LINE = re.compile(r'^  File "(.*)", line (\d{1,9}) in (.*)$')
DUMP_SIGNAL = signal.SIGUSR2  # makes a worker write its stack
MAX_FORKS = 16  # living children by os.fork
TOO_MANY_FORKS = "Too many copies of this process\n"  # written before the stack of the os.fork call that exceeds that
_MOST_QUOTED = 100  # characters of a line of source
_ESCAPED = re.compile(r"\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|\\U[0-9a-f]{8}")
LIBRARIES = tuple(os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platstdlib", "purelib", "platlib"))


@dataclass(frozen=True)
class StackFrame:
    """One stack frame, with the absolute path of its file."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}, line {self.line}, in {self.function}"

    @property
    def quoted(self) -> str:
        """The same, with the text of the line as far as it can be read."""
        linecache.checkcache(self.file)
        text = linecache.getline(self.file, self.line).strip()
        more = "…" * (len(text) > _MOST_QUOTED)
        return f"{self}: `{text[:_MOST_QUOTED]}{more}`" if text else str(self)

    def lies_in(self, file: str) -> bool:
        """Whether this frame is in ``file``, a path or the end of one."""
        return bool(file) and (self.file == file or self.file.endswith(f"/{file}"))


def parse_stack_dump(dump: str) -> tuple[StackFrame, ...]:
    """The stack frames in a dump of ``faulthandler``, innermost first; those of the crashed thread before others."""
    stacks: list[tuple[bool, list[StackFrame]]] = []
    for text in dump.splitlines():
        if head := _STACK_HEADER.match(text):
            stacks.append((head[1] != "Thread", []))
        elif stacks and (call := _LINE.match(text)):
            stacks[-1][1].append(StackFrame(_unescaped(call[1]), int(call[2]), _unescaped(call[3])))
    stacks.reverse()  # the last dump was written by the crash
    stacks.sort(key=lambda stack: not stack[0])
    return tuple(call for _, calls in stacks for call in calls)


def format_stack(calls: Iterable[StackFrame]) -> str:
    """Stack frames in the format of ``faulthandler``."""
    lines = (f'  File "{call.file}", line {call.line} in {call.function}\n' for call in calls)
    return "".join(("Stack (most recent call first):\n", *lines))


def last_line(calls: Iterable[StackFrame], file: str = "") -> str:
    """The line of ``innermost_user_frame`` as the end of a sentence; empty if there is none."""
    last = innermost_user_frame(calls, file)
    return f"; last line: {last.quoted}" if last else ""


def running_frames(frame: FrameType | None) -> Iterator[StackFrame]:
    """The stack frames of running code, innermost first."""
    while frame is not None:
        yield StackFrame(frame.f_code.co_filename, frame.f_lineno or 0, frame.f_code.co_name)
        frame = frame.f_back


def innermost_user_frame(calls: Iterable[StackFrame], file: str = "") -> StackFrame | None:
    """The innermost frame in ``file``; without one, the innermost outside of our code and of installed packages."""
    calls = tuple(calls)
    inside = [call for call in calls if call.lies_in(file)]
    return next(iter(inside or [call for call in calls if _is_user_file(call.file)]), None)


def _is_user_file(file: str) -> bool:
    return not file.startswith((SERVER, "<", *LIBRARIES))


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[0][2:], 16)), text)
