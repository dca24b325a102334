"""Digest of the code and libraries that answers depend on, for cache keys."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

import numpy as np
import torch

from ..paths import ROOT, source_files


@cache
def source_digest() -> str:
    """Text that differs when a file of ops/ or server/ does, or the release of torch or numpy; computed once."""
    digest = hashlib.blake2b(f"{torch.__version__} {np.__version__}".encode(), digest_size=12)
    for path in source_files():
        digest.update(os.path.relpath(path, ROOT).encode() + b"\0")
        digest.update(hashlib.blake2b(Path(path).read_bytes()).digest())
    return digest.hexdigest()
