"""Syntax highlighting of Python source as HTML with classes (Pygments), and the style sheet of these classes."""

from __future__ import annotations

from functools import lru_cache

from markupsafe import Markup

_LIGHT, _DARK = "default", "github-dark"  # styles of Pygments that pass the contrast rules of axe


@lru_cache(maxsize=256)
def highlighted_source(source: str, first: int = 1) -> Markup:
    """``<pre class="source">``, each line in a ``<span>`` with the id ``L1``, ``L2`` and so on.

    ``first`` is the number of its first line in the file; the ids count from 1 all the same.
    """
    numbers = [f' data-line="{first + i}"' if first > 1 else "" for i in range(len(highlighted_lines(source)))]
    lines = [
        f'<span class="line" id="L{i}"{number}>{line}</span>'
        for i, (line, number) in enumerate(zip(highlighted_lines(source), numbers, strict=True), 1)
    ]
    text = "\n".join(lines)
    begins = f' data-first="{first}"' if first > 1 else ""
    return Markup(f'<pre class="source" tabindex="0"{begins}><code>{text}</code></pre>')  # noqa: S704 - escaped by pygments


@lru_cache(maxsize=256)
def highlighted_lines(source: str) -> tuple[str, ...]:
    """The highlighted lines of a source as HTML."""
    from pygments import highlight as paint
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    return tuple(paint(source, PythonLexer(), HtmlFormatter(nowrap=True)).rstrip("\n").split("\n"))


def highlight_style_sheet() -> bytes:
    """The style sheet of highlighted source, light and dark."""
    return f"{_rules(_LIGHT)}\n@media (prefers-color-scheme: dark) {{\n{_rules(_DARK)}\n}}\n".encode()


def _rules(style: str) -> str:
    from pygments.formatters import HtmlFormatter

    formatter = HtmlFormatter(style=style)
    rules = formatter.get_background_style_defs(".source") + formatter.get_token_style_defs(".source")
    return "\n".join(rules)
