"""Files called by number and name, as ``01_mask.toml``, in each of which one thing is written: lessons, exercises."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar


class Numbered(Protocol):
    """What is written in one file."""

    @property
    def number(self) -> int:
        """Its place among the others, from 1."""
        ...


_Item = TypeVar("_Item", bound=Numbered)


def read_folder(
    folder: Path, read: Callable[[str, str], _Item], things: str, error: type[ValueError]
) -> tuple[_Item, ...]:
    """What ``read`` makes of the name and the content of each file, in order.

    Raises ``error`` where the numbers are not 1, 2, 3 and so on; ``things`` is what its message calls them.
    """
    items = tuple(read(path.name, path.read_text("utf-8")) for path in sorted(folder.glob("*.toml")))
    if [item.number for item in items] != list(range(1, len(items) + 1)):
        raise error(f"the files of the {things} are not numbered 1 to {len(items)}, each once")
    return items


def read_numbered(file: str, content: str, rule: str, error: type[ValueError]) -> tuple[int, str, dict[str, Any]]:
    """Number and name of a file called ``NN_name.toml``, and its keys.

    Raises ``error``: with the ``rule`` by which files are called, or with what is wrong in its TOML.
    """
    number, _, name = file.removesuffix(".toml").partition("_")
    if not number.isdecimal() or not name.isidentifier():
        raise error(f"{file}: {rule}")
    try:
        return int(number), name, tomllib.loads(content)
    except tomllib.TOMLDecodeError as problem:
        raise error(f"{file}: {problem}") from None
