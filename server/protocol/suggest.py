"""Names in a sentence: the nearest known one, for "did you mean", and the first few of many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

_MAX_LETTERS = 80  # characters compared


def closest_match(word: str, words: Iterable[str], alike: float = 0.6) -> str:
    """The one of ``words`` most similar to ``word``, ignoring case; "" where none is similar by ``alike``."""
    by_lower_case = {each.lower(): each for each in words}
    matches = get_close_matches(word.lower()[:_MAX_LETTERS], by_lower_case, 1, alike)
    return by_lower_case[matches[0]] if matches else ""


def first_few(names: Sequence[str], most: int, separator: str = ", ") -> str:
    """The first ``most`` names, and how many more there are: ``a, b and 3 more``."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return separator.join(names[:most]) + more
