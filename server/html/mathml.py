"""LaTeX to MathML, which browsers typeset without fonts or scripts."""

from __future__ import annotations

from functools import lru_cache
from html import unescape
from xml.etree.ElementTree import Element, tostring

from markupsafe import Markup


@lru_cache(maxsize=1024)
def mathml(latex: str) -> Markup:
    """The ``<math>`` element of a formula; the LaTeX itself, as code, where it cannot be parsed."""
    from latex2mathml.converter import convert_to_element  # not needed while the first page is on its way
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
