"""The glossary: each term with a definition and the address of a figure, read from ``templates/glossary.toml``."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markupsafe import Markup

from ..paths import TEMPLATES

_KEYS = {"term", "definition", "address"}


class BadGlossary(ValueError):
    """An entry that cannot be one; the message names it."""


@dataclass(frozen=True)
class GlossaryEntry:
    """A term; ``name`` is its place on the page, ``op`` and ``query`` the address of its figure."""

    name: str
    term: str
    definition: str
    op: str
    query: str

    @property
    def address(self) -> str:
        return f"/ops/{self.op}" + (f"?{self.query}" if self.query else "")


@cache
def glossary_entries() -> tuple[GlossaryEntry, ...]:
    """Every entry, in the order of its file; raises ``BadGlossary``."""
    return read_glossary(Path(TEMPLATES, "glossary.toml").read_text("utf-8"))


def read_glossary(content: str) -> tuple[GlossaryEntry, ...]:
    """The entries in the text of a glossary; raises ``BadGlossary``."""
    return tuple(_entry(name, said) for name, said in tomllib.loads(content).items())


def _entry(name: str, said: object) -> GlossaryEntry:
    if not isinstance(said, dict) or said.keys() != _KEYS or not all(isinstance(each, str) for each in said.values()):
        raise BadGlossary(f"glossary: {name} needs {', '.join(sorted(_KEYS))}, each a text, and nothing else")
    place, _, query = said["address"].partition("?")
    if not place.startswith("/ops/"):
        raise BadGlossary(f"glossary: the address of {name} is not that of an op")
    return GlossaryEntry(name, said["term"], said["definition"], place.removeprefix("/ops/"), query)


_APART = re.compile(r"(<code>.*?</code>|<[^>]+>)")


def termed(text: Markup, framed: bool = False) -> Markup:
    """Paragraphs in which each term of the glossary is a link to its entry, where it stands first."""
    seen: set[str] = set()
    aside = ' target="_blank" rel="noopener"' if framed else ""

    def linked(found: re.Match[str]) -> str:
        name = _names()[found[0].lower()]
        if name in seen:
            return found[0]
        seen.add(name)
        return f'<a class="term" href="/glossary#{name}"{aside}>{found[0]}</a>'

    pieces = _APART.split(str(text))
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, _names()))})\b", re.IGNORECASE)
    said = (piece if i % 2 else pattern.sub(linked, piece) for i, piece in enumerate(pieces))
    return Markup("".join(said))  # noqa: S704 - nothing but links is added


@cache
def _names() -> dict[str, str]:
    """The entries by their terms in lower case, but for those of which a text is full."""
    return {each.term.lower(): each.name for each in glossary_entries() if each.name not in ("backward", "jump")}
