"""Names of the user's Functions in URLs: ASCII, unique, and none that ends like a representation (``.json``)."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Collection, Iterable
from itertools import chain, count

_ENDINGS = frozenset(("json", "csv", "svg", "png", "html", "py", "size"))  # extensions of the representations of an op


def unique_url_names(things: Iterable[tuple[str, str]], taken: Collection[str]) -> list[str]:
    """A unique ASCII name for each (title, file): that of the title, prefixed with the file's where it is taken.

    ``taken`` are the names of the gallery.
    """
    given: list[str] = []
    for title, file in things:
        name = _ascii(title)
        if name in taken or name in given:
            name = f"{_ascii(_stem(file))}.{name}"
        numbered = chain([name], (f"{name}_{number}" for number in count(2)))
        given.append(next(each for each in numbered if each not in taken and each not in given))
    return given


def _stem(file: str) -> str:
    stem = os.path.basename(file).removesuffix(".py")
    return os.path.basename(os.path.dirname(file)) if stem == "__init__" else stem


def _ascii(title: str) -> str:
    """ASCII letters without accents; any other character as its code point."""
    letters = (each for each in unicodedata.normalize("NFKD", title) if not unicodedata.combining(each))
    spelled = "".join(each if each.isascii() else f"u{ord(each):04x}" for each in letters)
    name = re.sub(r"[^\w.-]", "_", spelled).strip(".") or "_"
    return f"{name}_" if name.rpartition(".")[2] in _ENDINGS and "." in name else name
