"""Which cards a search finds, and in which order.

A search has terms: the names of concepts that it speaks of, else single words. Every term has to be found on a card. It
counts most as a word of the title (the shorter the title, the more), then as the beginning of one, then as what the
concept shows or a keyword (group, name, verdict), then as a word of the text. The sum is the rank; among equals the
order is that of the gallery.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Protocol

from .search_concepts import CONCEPTS, EXAMPLES

LONGEST = 100  # characters of a search that are read

_TITLE_WORD, _TITLE_PREFIX, _KEYWORD, _TEXT = 1000, 300, 100, 10
_UNFINISHED = 4  # letters from which a word of the text may be one that is still being typed
_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_Words = frozenset[str]


class Searched(Protocol):
    """The words of a card."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def keywords(self) -> str: ...
    @property
    def text(self) -> str: ...


def ranked(query: str, cards: Iterable[Searched]) -> list[str]:
    """The names of the cards that have every term of ``query``, best first; none for a query without words."""
    terms = _terms(query[:LONGEST])
    scores = {card.name: _score(terms, card) for card in cards} if terms else {}
    return sorted((name for name, score in scores.items() if score > 0), key=lambda name: -scores[name])


def suggestions(query: str, cards: Iterable[Searched]) -> tuple[str, ...]:
    """Searches like ``query`` that find something; examples where nothing is alike."""
    known = {name.lower(): name for concept in CONCEPTS for name in concept.names}
    known |= {word.lower(): word for card in cards for word in _WORD.findall(card.title) if len(word) > 3}
    close = get_close_matches(query[:LONGEST].strip().lower(), known, n=3, cutoff=0.7)
    return tuple(known[each] for each in close) or EXAMPLES


def _score(terms: Sequence[str], card: Searched) -> int:
    found = [_worth(term, card) for term in terms]
    return sum(found) if all(found) else 0


def _worth(term: str, card: Searched) -> int:
    """What ``term`` counts for a card; more than one word only as the name of a concept or side by side."""
    title, keywords, text = _words_of(card.title), _words_of(card.keywords), _words_of(card.text)
    wanted = term.split()
    concept = _places().get(term, ())
    shown = 2 * _KEYWORD - concept.index(card.name) if card.name in concept else 0
    if all(word in title for word in wanted):
        return _TITLE_WORD + shown - len(title)  # the shorter title is nearer
    if not concept and any(word.startswith(term) for word in title):
        return _TITLE_PREFIX  # the name of a concept is a whole word
    if shown:
        return shown
    if all(word in keywords for word in wanted):
        return _KEYWORD
    if len(wanted) == 1 and (term in text or (len(term) >= _UNFINISHED and _begins_any(term, keywords | text))):
        return _TEXT
    return 0


def _begins_any(term: str, words: _Words) -> bool:
    return any(word.startswith(term) for word in words)


def _terms(query: str) -> list[str]:
    """The names of concepts in a query, the longest first, and the words that are left."""
    words = _ordered(query)
    terms: list[str] = []
    while words:
        length = next((n for n in range(min(len(words), 3), 1, -1) if " ".join(words[:n]) in _places()), 1)
        terms.append(" ".join(words[:length]))
        words = words[length:]
    return terms


@cache
def _places() -> dict[str, tuple[str, ...]]:
    """The ops of each concept by any of its names, as :func:`_ordered` writes them."""
    found: dict[str, tuple[str, ...]] = {}
    for concept in CONCEPTS:
        for name in concept.names:
            key = " ".join(_ordered(name))
            found[key] = (*found.get(key, ()), *concept.ops)
    return found


def _ordered(text: str) -> list[str]:
    """The words of a text as they are compared: without case, plural, and the choice between -ise and -ize."""
    return [_stem(word) for word in _WORD.findall(text.lower())]


@cache
def _words_of(text: str) -> _Words:
    """The words of a text; of a class name also its parts."""
    return frozenset(_ordered(f"{text} {_CAMEL.sub(' ', text)}"))


def _stem(word: str) -> str:
    spelled = re.sub(r"iz(?=[eai])", "is", word)
    return spelled[:-1] if len(spelled) > 3 and spelled.endswith("s") and not spelled.endswith("ss") else spelled
