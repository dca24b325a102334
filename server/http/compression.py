"""Content codings: which one a client prefers of those that are written here, and how bytes are written in it."""

from __future__ import annotations

import gzip
import re
from functools import lru_cache

CODINGS = ("br", "gzip")  # the better first
_LONGEST = 512  # characters of a header that is read
WEIGHTED = re.compile(r"\s*([a-z*][a-z0-9-]*)\s*(?:;\s*q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)\s*)?", re.IGNORECASE)
AT_ONCE = {"br": 5, "gzip": 4}  # while somebody waits: 0.3 ms for a page
_ONCE = {"br": 9, "gzip": 9}  # for what is kept: 0.3 s for the largest file; brotli's 11 would take 6 s
_SMALL = 65_536  # bytes; so few are written in brotli's 11 in no time
BEST = 11


@lru_cache(256)
def preferred(accepted: str) -> str:
    """The coding that this Accept-Encoding asks for; empty for none."""
    if len(accepted) > _LONGEST:
        return ""
    weights: dict[str, float] = {}
    for each in accepted.split(","):
        found = WEIGHTED.fullmatch(each)
        if found is not None:
            weights[found[1].lower()] = float(found[2] or 1)
    others = weights.get("*", 0.0)
    best = max(CODINGS, key=lambda coding: weights.get(coding, others))
    weight = weights.get(best, others)
    return best if weight > 0 and weight >= weights.get("identity", 0.0) else ""


def written(body: bytes, coding: str) -> bytes:
    """``body`` in a coding, for a client that is waiting."""
    return _written(body, coding, AT_ONCE[coding]) if coding else body


def written_once(body: bytes, coding: str) -> bytes:
    """``body`` in a coding, small; to be called in a thread, for a file that is kept."""
    level = BEST if coding == "br" and len(body) <= _SMALL else _ONCE.get(coding, 0)
    return _written(body, coding, level) if coding else body


def _written(body: bytes, coding: str, level: int) -> bytes:
    if coding == "gzip":
        return gzip.compress(body, level, mtime=0)
    import brotli

    compressed: bytes = brotli.compress(body, quality=level)
    return compressed
