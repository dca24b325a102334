"""Docstrings to paragraphs."""

from __future__ import annotations

import re

from markupsafe import Markup, escape


def prose(doc: str) -> Markup:
    """Paragraphs where blank lines part them, ``<code>`` where backticks enclose; everything else as it is."""
    paragraphs = [each for each in re.split(r"\n\s*\n", doc.strip()) if each]
    return Markup("\n").join(Markup("<p>{}</p>").format(inline(each)) for each in paragraphs)


def inline(text: str) -> Markup:
    """One line of it: ``<code>`` where backticks enclose."""
    pieces = re.split(r"`+([^`]+)`+", text)
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if i % 2 else escape(piece) for i, piece in enumerate(pieces)
    )
