"""The modes of torch that hold for a whole process: whatever is changed inside, they are as they were."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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
