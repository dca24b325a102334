"""A short digest of texts and bytes, for ETags and cache keys."""

from __future__ import annotations

import hashlib


def fingerprint(*parts: str | bytes) -> str:
    """Text that differs when any of the parts does."""
    digest = hashlib.blake2b(digest_size=12)
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode(errors="replace")
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()
