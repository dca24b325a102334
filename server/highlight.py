"""Python source to HTML, coloured by classes; the colours are a stylesheet of their own."""

from __future__ import annotations

from functools import lru_cache

from markupsafe import Markup

LIGHT, DARK = "default", "github-dark"  # without a contrast that axe finds too low


@lru_cache(maxsize=256)
def highlight(source: str) -> Markup:
    """``<pre class="source">``, each line in a ``<span>`` with the id ``L1``, ``L2`` and so on."""
    lines = [f'<span class="line" id="L{number}">{line}</span>' for number, line in enumerate(painted(source), 1)]
    text = "\n".join(lines)
    return Markup(f'<pre class="source" tabindex="0"><code>{text}</code></pre>')  # noqa: S704 - pygments has escaped it


@lru_cache(maxsize=256)
def painted(source: str) -> tuple[str, ...]:
    """The lines of a source as HTML."""
    from pygments import highlight as paint
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    return tuple(paint(source, PythonLexer(), HtmlFormatter(nowrap=True)).rstrip("\n").split("\n"))


def colours() -> bytes:
    """The stylesheet of ``highlight``, light and dark."""
    return f"{_rules(LIGHT)}\n@media (prefers-color-scheme: dark) {{\n{_rules(DARK)}\n}}\n".encode()


def _rules(style: str) -> str:
    from pygments.formatters import HtmlFormatter

    formatter = HtmlFormatter(style=style)
    rules = formatter.get_background_style_defs(".source") + formatter.get_token_style_defs(".source")
    return "\n".join(rules)
