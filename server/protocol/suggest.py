"""The nearest known name, for "did you mean"."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_MAX_LETTERS = 80  # characters compared


def closest_match(word: str, words: Iterable[str], alike: float = 0.6) -> str:
    """The one of ``words`` most similar to ``word``, ignoring case; "" where none is similar by ``alike``."""
    by_lower_case = {each.lower(): each for each in words}
    matches = get_close_matches(word.lower()[:_MAX_LETTERS], by_lower_case, 1, alike)
    return by_lower_case[matches[0]] if matches else ""
