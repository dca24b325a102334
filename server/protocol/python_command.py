"""The command that starts another process of this package: the same Python, with single-threaded math libraries."""

import os
import sys

from ..paths import PACKAGE, ROOT

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def python_command(module: str, *arguments: str) -> list[str]:
    """The command that runs a module of ``server``, and imports nothing from the working directory."""
    # `-m` puts the working directory in front of the path, where a stranger's `torch.py` may lie.
    found_here = os.path.dirname(ROOT) == os.getcwd()
    return [sys.executable, *["-P"] * (not found_here), "-m", f"{PACKAGE}.server.{module}", *arguments]
