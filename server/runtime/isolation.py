"""Isolation of a Function's side effects: random states are restored, output is dropped, warnings are ignored."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .rng import preserve_rng


class _Sink(io.RawIOBase):
    """A stream that discards all bytes, as /dev/null does."""

    def writable(self) -> bool:
        return True

    def write(self, given: Any) -> int:
        return memoryview(given).nbytes


@contextlib.contextmanager
def discard_output() -> Iterator[None]:
    """Discard all output to ``sys.stdout``, ``sys.stderr`` and their buffers."""
    with (
        io.TextIOWrapper(io.BufferedWriter(_Sink()), "utf-8", "replace") as sink,
        contextlib.redirect_stdout(sink),
        contextlib.redirect_stderr(sink),
    ):
        yield


@contextmanager
def quietly() -> Iterator[None]:
    """Inside, nothing is printed, warnings are ignored, and the random state is restored."""
    with preserve_rng(), warnings.catch_warnings(action="ignore"), discard_output():
        yield
