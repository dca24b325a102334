"""Short digests of texts, bytes and our own source, for ETags and cache keys."""

import hashlib
from functools import cache
from pathlib import Path

from ..paths import source_files


def fingerprint(*parts: str | bytes) -> str:
    """Text that differs when any of the parts does."""
    digest = hashlib.blake2b(digest_size=12)
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode(errors="replace")
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()


@cache
def source_digest() -> str:
    """Text that differs when a file of ops/ or server/ does; computed once."""
    return fingerprint(*(Path(path).read_bytes() for path in source_files()))
