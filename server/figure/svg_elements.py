"""SVG elements as escaped markup."""

import re
from collections.abc import Mapping

from markupsafe import Markup, escape

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML, even escaped
AttributeValue = str | float


def svg_element(tag: str, attributes: Mapping[str, AttributeValue], *inside: Markup) -> Markup:
    """An element; numbers are written with at most three decimals."""
    said = "".join(f' {name}="{escape(_value(value))}"' for name, value in attributes.items())
    if not inside:
        return Markup(f"<{tag}{said}/>")  # noqa: S704 - escaped
    return Markup(f"<{tag}{said}>{Markup('').join(inside)}</{tag}>")  # noqa: S704 - escaped


def escape_xml(text: str) -> Markup:
    """``text`` escaped for XML; characters that XML forbids are replaced."""
    return escape(without_forbidden(text))


def without_forbidden(text: str) -> str:
    """The text with a sign in place of each character that XML forbids."""
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


def _value(value: AttributeValue) -> str:
    return value if isinstance(value, str) else f"{value:.3f}".rstrip("0").rstrip(".")
