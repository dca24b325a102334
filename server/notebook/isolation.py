"""A process that is afterwards what it was, whatever was computed in it meanwhile."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import torch

from ..runtime.isolation import unchanged
from ..runtime.rng import undisturbed

_CUDA: Any = torch.cuda  # not all of it is typed


@contextmanager
def untouched() -> Iterator[None]:
    """Random numbers, default dtype, threads, modes of torch, the folder: at the end they are as at the beginning.

    Meanwhile torch computes in one thread: for tensors of this size more of them take many times longer.
    """
    path, folder = list(sys.path), _folder()
    cuda = _CUDA.get_rng_state_all() if _CUDA.is_initialized() else []
    errors = np.geterr()
    with unchanged(), undisturbed():
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
    """Where we are, or what is always there if that folder is gone."""
    try:
        return os.getcwd()
    except OSError:
        return os.sep
