"""What a card of the gallery is found by beside the words that stand on it."""

from __future__ import annotations

import re

WORD = re.compile(r"[\w’-]+")


def keywords(shown: str, *texts: str) -> str:
    """The words of ``texts`` that are not ``shown`` anyway, in lower case, each once, by the alphabet."""
    seen = shown.lower()
    return " ".join(sorted({word for text in texts for word in WORD.findall(text.lower()) if word not in seen}))
