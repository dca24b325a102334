"""Words and names in a sentence: a list of them, the first few of many, and the nearest one, for "did you mean"."""

from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches


def listed(words: Sequence[str], last: str = "and") -> str:
    """The words with commas, and the word ``last`` before the last of them."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def counted(words: Iterable[str]) -> list[str]:
    """The words, each once: "a tensor" that is there twice as "2 tensors"."""
    return [word if count == 1 else several(word, count) for word, count in Counter(words).items()]


def with_article(word: str) -> str:
    """The word behind its indefinite article: "a tensor", "an IndexError"."""
    return f"{'an' if word[0] in 'aeiouAEIOU' else 'a'} {word}"


def several(word: str, count: int) -> str:
    """So many of what a word with its article stands for, like "2 tensors"."""
    return f"{count} {word.partition(' ')[2] or word}s"


_MAX_LETTERS = 80  # characters compared
_MAX_NAMED = 20


def closest_match(word: str, words: Iterable[str], alike: float = 0.6) -> str:
    """The one of ``words`` most similar to ``word``, ignoring case; "" where none is similar by ``alike``."""
    by_lower_case = {each.lower(): each for each in words}
    matches = get_close_matches(word.lower()[:_MAX_LETTERS], by_lower_case, 1, alike)
    return by_lower_case[matches[0]] if matches else ""


def did_you_mean(word: str, words: Iterable[str], otherwise: str) -> str:
    """The rest of a sentence on an unknown word, behind the question whether the closest one is meant."""
    close = closest_match(word, words)
    return f"did you mean {close}? {otherwise[:1].upper()}{otherwise[1:]}" if close else otherwise


def no_such_function(given: str, names: Sequence[str]) -> str:
    """The sentence on an option, ``given`` as it was written, that names none of the Functions there are."""
    return f"{given} names no Function that was found; there are {first_few(names, _MAX_NAMED)}."


def shortened(text: str, most: int) -> str:
    """The text, of which at most so many characters are left, the last of them an ellipsis."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def first_few(names: Sequence[str], most: int, separator: str = ", ") -> str:
    """The first ``most`` names, and how many more there are: ``a, b and 3 more``."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return separator.join(names[:most]) + more
