"""A process that is afterwards what it was, whatever was computed in it meanwhile."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import torch

from ..numerics.contract.randomness import undisturbed

_CUDA: Any = torch.cuda  # not all of it is typed


@contextmanager
def untouched() -> Iterator[None]:
    """Random numbers, default dtype, threads, modes of torch, the folder: at the end they are as at the beginning."""
    dtype, threads, path, folder = torch.get_default_dtype(), torch.get_num_threads(), list(sys.path), _folder()
    modes = torch.is_grad_enabled(), torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
    deterministic = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    cuda = _CUDA.get_rng_state_all() if _CUDA.is_initialized() else []
    errors = np.geterr()
    with undisturbed():
        try:
            yield
        finally:
            torch.set_default_dtype(dtype)
            torch.set_num_threads(threads)
            torch.set_grad_enabled(modes[0])
            torch.autograd.set_detect_anomaly(*modes[1:])
            torch.use_deterministic_algorithms(deterministic[0], warn_only=deterministic[1])
            np.seterr(**errors)
            sys.path[:] = path
            if cuda:
                _CUDA.set_rng_state_all(cuda)
            with suppress(OSError):
                os.chdir(folder)


def _folder() -> str:
    """Where we are, or what is always there if that folder is gone."""
    try:
        return os.getcwd()
    except OSError:
        return os.sep
