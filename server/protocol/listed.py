"""Words that are listed in a sentence."""

from collections import Counter
from collections.abc import Iterable, Sequence


def listed(words: Sequence[str], last: str = "and") -> str:
    """The words with commas, and the word ``last`` before the last of them."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def counted(words: Iterable[str]) -> list[str]:
    """The words, each once: "a tensor" that is there twice as "2 tensors"."""
    return [word if count == 1 else several(word, count) for word, count in Counter(words).items()]


def several(word: str, count: int) -> str:
    """So many of what a word with its article stands for, like "2 tensors"."""
    return f"{count} {word.partition(' ')[2] or word}s"
