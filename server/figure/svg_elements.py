"""SVG elements as escaped markup, and the widths of text in them by the metrics of DejaVu Sans, the widest of the
fallback fonts; truncation and line wrapping by them.
"""

import re
from collections.abc import Mapping
from typing import Literal

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


Face = Literal["text", "bold", "code"]

# Advance widths of the characters from space to tilde, in hundredths of the font size.
_REGULAR = (
    "32 40 46 84 64 95 78 27 39 39 50 84 32 36 32 34 64 64 64 64 64 64 64 64 64 64 34 34 84 84 84 53 100 68 69 70 77 63"
    " 58 77 75 29 29 66 56 86 75 79 60 79 69 63 61 73 68 99 69 61 69 39 34 39 84 50 50 61 63 55 63 62 35 63 63 28 28 58"
    " 28 97 63 61 63 63 41 52 39 63 59 82 59 59 52 64 34 64 84"
)
_WIDTHS = dict(zip(map(chr, range(32, 127)), map(int, _REGULAR.split()), strict=True))
_RAISED = dict.fromkeys("⁰¹²³⁴⁵⁶⁷⁸⁹", 40) | {"·": 32, "⁻": 53, "−": 84, "\N{NO-BREAK SPACE}": 32}
_OTHER, _WIDE = 84, 100  # all other characters; full-width scripts
_CODE = 60
_BOLD = 1.12


def text_width(text: str, size: float, face: Face = "text") -> float:
    """The length of ``text`` in units of ``size``."""
    if face == "code":
        return size * _CODE / 100 * len(text)
    return size / 100 * sum(map(_letter, text)) * (_BOLD if face == "bold" else 1)


def truncated_text(text: str, room: float, size: float, face: Face = "text") -> str:
    """``text``, truncated with an ellipsis where it is wider than ``room``; empty where not even one letter fits."""
    if text_width(text, size, face) <= room:
        return text
    while text and text_width(text + "…", size, face) > room:
        text = text[:-1]
    return f"{text.rstrip(' ,.;:')}…" if text.strip() else ""


def wrapped_lines(text: str, room: float, size: float, first: float) -> list[str]:
    """``text`` wrapped into lines of width ``room``; the first one is indented by ``first``."""
    lines, free = [""], room - first
    for word in re.split("[ \t\r\n]+", text):
        joined = f"{lines[-1]} {word}".strip()
        if text_width(joined, size) <= free:
            lines[-1] = joined
        else:
            lines.append(truncated_text(word, room, size))
            free = room
    return lines


def _letter(sign: str) -> int:
    return _WIDTHS.get(sign) or _RAISED.get(sign) or (_WIDE if sign >= "⺀" else _OTHER)
