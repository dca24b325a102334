"""How another process of this package is started: by the same Python, and in one thread."""

from __future__ import annotations

import os
import sys

from ..paths import ROOT

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def python() -> list[str]:
    """The command that finds this package after ``-m``, and no stranger's modules."""
    # `-m` puts the working directory in front of the path, where a stranger's `torch.py` may lie.
    found_here = os.path.dirname(ROOT) == os.getcwd()
    return [sys.executable] if found_here else [sys.executable, "-P"]
