"""Content codings: chooses one by Accept-Encoding (brotli, gzip), and compresses."""

import gzip
import re
from functools import lru_cache

import brotli

CODINGS = ("br", "gzip")  # best first
_MAX_HEADER = 512  # characters of a header; longer ones are ignored
_WEIGHTED_CODING = re.compile(
    r"\s*([a-z*][a-z0-9-]*)\s*(?:;\s*q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)\s*)?", re.IGNORECASE
)
_FAST_LEVELS = {"br": 5, "gzip": 4}  # levels while a client waits: 0.3 ms for a page
_STATIC_LEVELS = {"br": 9, "gzip": 9}  # levels for static files: 0.3 s for the largest; brotli's 11 would take 6 s
_MAX_BEST = 65_536  # bytes; up to that size brotli's 11 is fast enough
BEST = 11


@lru_cache(256)
def negotiate_coding(accepted: str) -> str:
    """The coding to use for this Accept-Encoding; empty for none."""
    if len(accepted) > _MAX_HEADER:
        return ""
    weights: dict[str, float] = {}
    for each in accepted.split(","):
        match = _WEIGHTED_CODING.fullmatch(each)
        if match is not None:
            weights[match[1].lower()] = float(match[2] or 1)
    others = weights.get("*", 0.0)
    best = max(CODINGS, key=lambda coding: weights.get(coding, others))
    weight = weights.get(best, others)
    return best if weight > 0 and weight >= weights.get("identity", 0.0) else ""


def compress(body: bytes, coding: str) -> bytes:
    """``body`` in a coding, compressed fast, while a client waits."""
    return _compressed(body, coding, _FAST_LEVELS[coding]) if coding else body


def compress_well(body: bytes, coding: str) -> bytes:
    """``body`` in a coding, compressed well; slow, so to be called in a thread, for a file that is cached."""
    level = BEST if coding == "br" and len(body) <= _MAX_BEST else _STATIC_LEVELS.get(coding, 0)
    return _compressed(body, coding, level) if coding else body


def _compressed(body: bytes, coding: str, level: int) -> bytes:
    if coding == "gzip":
        return gzip.compress(body, level, mtime=0)
    compressed: bytes = brotli.compress(body, quality=level)
    return compressed
