"""Where a Function may print as much as it likes."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def unchanged() -> Iterator[None]:
    """Default dtype, threads, grad mode, detection of anomalies, deterministic algorithms: as before, at the end."""
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
        # Asking for what is so already would import all of torch's compiler.
        if _deterministic() != deterministic:
            torch.use_deterministic_algorithms(deterministic[0], warn_only=deterministic[1])


def _deterministic() -> tuple[bool, bool]:
    return torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()


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
