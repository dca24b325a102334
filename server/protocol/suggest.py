"""What somebody may have meant who has written a name that there is not."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_READ = 80  # characters of what was written


def meant(word: str, words: Iterable[str], alike: float = 0.6) -> str:
    """The one of ``words`` that is most like it, however letters are capitalised; "" where none is ``alike``."""
    plain = {each.lower(): each for each in words}
    close = get_close_matches(word.lower()[:_READ], plain, 1, alike)
    return plain[close[0]] if close else ""
