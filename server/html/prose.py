"""Docstrings as HTML: paragraphs and inline code."""

from __future__ import annotations

import re

from markupsafe import Markup, escape


def prose(doc: str) -> Markup:
    """Paragraphs at blank lines, ``<code>`` for backticks; everything else is escaped."""
    paragraphs = [each for each in re.split(r"\n\s*\n", doc.strip()) if each]
    return Markup("\n").join(Markup("<p>{}</p>").format(inline_code(each)) for each in paragraphs)


def inline_code(text: str) -> Markup:
    """One paragraph: ``<code>`` for backticks, everything else escaped."""
    pieces = re.split(r"`+([^`]+)`+", text)
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if i % 2 else escape(piece) for i, piece in enumerate(pieces)
    )
