"""The nearest known name, for "did you mean"."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_READ = 80  # characters compared


def closest_match(word: str, words: Iterable[str], alike: float = 0.6) -> str:
    """The one of ``words`` most similar to ``word``, ignoring case; "" where none is similar by ``alike``."""
    plain = {each.lower(): each for each in words}
    close = get_close_matches(word.lower()[:_READ], plain, 1, alike)
    return plain[close[0]] if close else ""
