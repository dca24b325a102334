"""The glossary: each term with a definition and the address of a figure, read from ``templates/glossary.toml``."""

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
_OPENING = re.compile(r"<(?:a|button|summary)[ >]")
_CLOSING = re.compile(r"</(?:a|button|summary)>")
_LINK = re.compile(r'<a class="term"[^>]*>(.*?)</a>')


def termed(text: Markup | str, root: str = "") -> Markup:
    """HTML in which each term of the glossary is a link to its entry, where it stands first; none within a link.

    ``root`` stands before the address of the glossary.
    """
    seen: set[str] = set()

    def linked(found: re.Match[str]) -> str:
        name = _names()[found["term"].lower()]
        if name in seen:
            return found[0]
        seen.add(name)
        return f'<a class="term" href="{root}/glossary#{name}" target="_blank" rel="noopener">{found[0]}</a>'

    pieces, pattern, within = [], _pattern(), False
    for piece in _APART.split(str(text)):
        within = (within or bool(_OPENING.match(piece))) and not _CLOSING.match(piece)
        pieces.append(piece if within or _is_tag(piece) else pattern.sub(linked, piece))
    return Markup("".join(pieces))  # noqa: S704 - nothing but links is added


def unlinked(text: str) -> str:
    """What ``termed`` gave, without its links: for a file that has no glossary beside it."""
    return _LINK.sub(r"\1", str(text))


def _is_tag(piece: str) -> bool:
    return piece.startswith("<") and not piece.startswith("<code>grad_")


@cache
def _pattern() -> re.Pattern[str]:
    terms = "|".join(map(re.escape, _names()))
    return re.compile(rf"(?:<code>|\b)(?P<term>{terms})s?(?:</code>|\b)", re.IGNORECASE)


@cache
def _names() -> dict[str, str]:
    """The entries by their terms in lower case, but for those of which a text is full."""
    return {each.term.lower(): each.name for each in glossary_entries() if each.name not in ("backward", "jump")}
