"""Where a Function may print as much as it likes."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any


class _Sink(io.RawIOBase):
    """Takes bytes and forgets them."""

    def writable(self) -> bool:
        return True

    def write(self, given: Any) -> int:
        return memoryview(given).nbytes


@contextlib.contextmanager
def silenced() -> Iterator[None]:
    """What is printed inside, or written to ``sys.stdout``, ``sys.stderr`` and their buffers, is dropped."""
    with (
        io.TextIOWrapper(io.BufferedWriter(_Sink()), "utf-8", "replace") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        yield
