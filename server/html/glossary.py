"""The glossary: each term with a definition and the address of a figure, read from ``templates/glossary.toml``."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markupsafe import Markup

from ..paths import TEMPLATES


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
    """Every entry, in the order of its file."""
    said = tomllib.loads(Path(TEMPLATES, "glossary.toml").read_text("utf-8"))
    figures = {name: each["address"].removeprefix("/ops/").partition("?")[::2] for name, each in said.items()}
    return tuple(GlossaryEntry(name, each["term"], each["definition"], *figures[name]) for name, each in said.items())


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
        tag = piece.startswith("<") and not piece.startswith("<code>grad_")
        pieces.append(piece if within or tag else pattern.sub(linked, piece))
    return Markup("".join(pieces))  # noqa: S704 - nothing but links is added


def unlinked(text: str) -> str:
    """What ``termed`` gave, without its links: for a file that has no glossary beside it."""
    return _LINK.sub(r"\1", str(text))


@cache
def _pattern() -> re.Pattern[str]:
    terms = "|".join(map(re.escape, _names()))
    return re.compile(rf"(?:<code>|\b)(?P<term>{terms})s?(?:</code>|\b)", re.IGNORECASE)


@cache
def _names() -> dict[str, str]:
    """The entries by their terms in lower case, but for those of which a text is full."""
    return {each.term.lower(): each.name for each in glossary_entries() if each.name not in ("backward", "jump")}
