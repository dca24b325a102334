"""An op as HTML: paragraphs of its docstring, formulas as MathML, its source highlighted by Pygments, its controls."""

import ast
import json
import re
from collections import defaultdict
from functools import lru_cache
from html import unescape
from importlib import import_module
from threading import Lock
from xml.etree.ElementTree import Element, tostring

from markupsafe import Markup, escape

from ..protocol.fingerprint import fingerprint
from ..schema.op import OpDescription

# What formulas and sources are written with, and the first page does without.
MARKUP_LIBRARIES = ("latex2mathml.converter", "pygments.formatters.html", "pygments.lexers.python")
_IMPORTING = Lock()


def load_markup_libraries() -> None:
    """Import them, in one thread at a time: another would get half of those that replace themselves."""
    with _IMPORTING:
        for name in MARKUP_LIBRARIES:
            import_module(name)


@lru_cache(maxsize=1024)
def mathml(latex: str) -> Markup:
    """The ``<math>`` element of a formula; the LaTeX itself, as code, where it cannot be parsed."""
    load_markup_libraries()
    from latex2mathml.converter import convert_to_element
    from latex2mathml.exceptions import NoAvailableTokensError

    try:
        tree = convert_to_element(latex)
    except (NoAvailableTokensError, ValueError, IndexError, KeyError, TypeError):
        return Markup("<code>{}</code>").format(latex)
    for node in tree.iter():
        # The converter writes entities as text and unescapes the whole at the end, `\text{<b>}` included.
        node.text = unescape(node.text) if node.text else node.text
        _join_word(node)
    return Markup(tostring(tree, encoding="unicode"))  # noqa: S704 - `tostring` has escaped it


def _join_word(node: Element) -> None:
    """Joins a row of upright letters into one identifier, so that screen readers read it as a word."""
    letters = list(node)
    if node.tag == "mrow" and len(letters) > 1 and all(_is_upright(each) for each in letters):
        node.tag, node.text = "mi", "".join(unescape(each.text or "") for each in letters)
        for each in letters:
            node.remove(each)


def _is_upright(node: Element) -> bool:
    return node.get("mathvariant") == "normal" or node.text in ("_", "&#x0005F;")


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


_LIGHT, _DARK = "default", "github-dark"  # styles of Pygments that pass the contrast rules of axe


@lru_cache(maxsize=256)
def highlighted_source(source: str, first: int = 1, folded: bool = False) -> Markup:
    """``<pre class="source">``, each line in a ``<span>`` with the id ``L1``, ``L2`` and so on.

    ``first`` is the number of its first line in the file; the ids count from 1 all the same. Of docstrings that are
    ``folded`` only the first line and the last are shown, with their numbers.
    """
    left_out = _inner_docstring_lines(source) if folded else set[int]()
    shown = [(i, line) for i, line in enumerate(highlighted_lines(source), 1) if i not in left_out]
    numbers = {i: f' data-line="{first + i - 1}"' if first > 1 or left_out else "" for i, _ in shown}
    lines = [
        f'<span class="line" id="L{i}"{numbers[i]}>{line}{" …" if i + 1 in left_out else ""}</span>'
        for i, line in shown
    ]
    text = "\n".join(lines)
    begins = f' data-first="{first}"' if first > 1 else ""
    return Markup(f'<pre class="source" tabindex="0"{begins}><code>{text}</code></pre>')  # noqa: S704 - escaped by pygments


def _inner_docstring_lines(source: str) -> set[int]:
    """The lines between the first and the last of each docstring of a class, counted from 1."""
    classes = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef) and ast.get_docstring(node)]
    docstrings = [node.body[0] for node in classes]
    return {line for node in docstrings for line in range(node.lineno + 1, node.end_lineno or node.lineno)}


@lru_cache(maxsize=256)
def highlighted_lines(source: str) -> tuple[str, ...]:
    """The highlighted lines of a source as HTML, blank ones at its end included."""
    load_markup_libraries()
    from pygments import highlight as paint
    from pygments.formatters.html import HtmlFormatter
    from pygments.lexers.python import PythonLexer

    painted = paint(source, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True))
    return tuple(painted.removesuffix("\n").split("\n"))


def highlight_style_sheet() -> bytes:
    """The style sheet of highlighted source: by the theme of the page, else by that of the system."""
    by_system = _rules(_DARK, ":root:not([data-theme=light]) ")
    chosen = _rules(_DARK, ":root[data-theme=dark] ")
    return f"{_rules(_LIGHT)}\n@media (prefers-color-scheme: dark) {{\n{by_system}\n}}\n{chosen}\n".encode()


def _rules(style: str, root: str = "") -> str:
    """The rules of a style of Pygments, the tokens that look alike in one, without those that no Python has."""
    from pygments.formatters.html import HtmlFormatter
    from pygments.token import Generic

    formatter, place = HtmlFormatter(style=style), f"{root}.source"
    alike = defaultdict[str, list[str]](list)
    for name, (look, token, _) in formatter.class2style.items():
        if name and look and token not in Generic:
            alike[look].append(f".{name}")
    rules = [f"{place} :is({','.join(names)}) {{ {look} }}" for look, names in alike.items()]
    return "\n".join(formatter.get_background_style_defs(place) + rules)


# Fields of an op that its controls do not depend on, and that may change with every save of its file.
_DESCRIPTIVE_FIELDS = {
    *("title", "doc", "source", "digest", "first_line", "line", "file", "reference", "check"),
    *("forward", "backward", "surrogate_formula", "like", "written", "bound", "import_line", "block", "assumed"),
}


def controls_digest(op: OpDescription) -> str:
    """The digest of the arguments, inputs, parameters and outputs of an op."""
    return fingerprint(
        json.dumps({key: value for key, value in op.items() if key not in _DESCRIPTIVE_FIELDS}, sort_keys=True)
    )
