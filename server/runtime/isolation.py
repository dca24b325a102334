"""Isolation of a Function's side effects: torch's settings and random states are restored, output is dropped."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from .rng import preserve_rng


@contextmanager
def preserve_torch_settings() -> Iterator[None]:
    """Restore torch's default dtype, threads, grad mode, anomaly detection and deterministic algorithms on exit."""
    dtype, threads, grad = torch.get_default_dtype(), torch.get_num_threads(), torch.is_grad_enabled()
    anomaly = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
    deterministic = _deterministic()
    try:
        yield
    finally:
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(grad)
        torch.autograd.set_detect_anomaly(*anomaly)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
        # Even a call that changes nothing would import all of torch's compiler.
        if _deterministic() != deterministic:
            torch.use_deterministic_algorithms(deterministic[0], warn_only=deterministic[1])


def _deterministic() -> tuple[bool, bool]:
    return torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()


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
