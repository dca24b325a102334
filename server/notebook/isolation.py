"""Context manager that restores the process: random state, torch and NumPy settings, import path, working folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import torch

from ..runtime.isolation import preserve_torch_settings
from ..runtime.rng import preserve_rng

_CUDA: Any = torch.cuda  # partly untyped


@contextmanager
def process_restored() -> Iterator[None]:
    """Restore random state, default dtype, threads, modes of torch, ``sys.path`` and the working directory at the end.

    Inside, torch computes in one thread: for tensors of this size more threads are many times slower.
    """
    path, folder = list(sys.path), _folder()
    cuda = _CUDA.get_rng_state_all() if _CUDA.is_initialized() else []
    errors = np.geterr()
    with preserve_torch_settings(), preserve_rng():
        torch.set_num_threads(1)
        try:
            yield
        finally:
            np.seterr(**errors)
            sys.path[:] = path
            if cuda:
                _CUDA.set_rng_state_all(cuda)
            with suppress(OSError):
                os.chdir(folder)


def _folder() -> str:
    """The working directory, or the root if it has been deleted."""
    try:
        return os.getcwd()
    except OSError:
        return os.sep
