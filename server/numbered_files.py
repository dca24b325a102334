"""Files called by number and name, as ``01_mask.toml``, in each of which one thing is written: lessons, exercises."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol, TypeVar


class Numbered(Protocol):
    """What is written in one file."""

    @property
    def number(self) -> int:
        """Its place among the others, from 1."""
        ...


_Item = TypeVar("_Item", bound=Numbered)


class BadFile(ValueError):
    """A file that cannot be what it should: its name, the ``line`` at fault where one is, and the ``sentence``."""

    def __init__(self, file: str, sentence: str, line: int | None = None) -> None:
        super().__init__(f"{file}{f', line {line}' if line else ''}: {sentence}")
        self.file, self.sentence, self.line = file, sentence, line


@dataclass(frozen=True)
class NumberedFolders:
    """Folders with such files of a user; of one that has others as well, only those that begin with a number."""

    folders: tuple[Path, ...] = ()
    mixed: bool = True

    def files(self) -> list[Path]:
        """The files, in order; a folder that cannot be read has none."""
        found = list[Path]()
        for folder in self.folders:
            with suppress(OSError):
                found += sorted(folder.glob("[0-9]*_*.toml" if self.mixed else "*.toml"))
        return found

    def digest(self) -> str:
        """Text that differs when one of the files was written, added or taken away; "" without folders."""
        digest = blake2b(digest_size=8)
        for path in self.files():
            with suppress(OSError):
                stat = path.stat()
                digest.update(f"{path} {stat.st_mtime_ns} {stat.st_size} {stat.st_ino}\n".encode(errors="replace"))
        return digest.hexdigest() if self.folders else ""


def read_folder(folder: Path, read: Callable[[str, str], _Item], error: type[BadFile]) -> tuple[_Item, ...]:
    """What ``read`` makes of the name and the content of each file, in order.

    Raises ``error`` where the numbers are not 1, 2, 3 and so on.
    """
    items = tuple(read(path.name, path.read_text("utf-8")) for path in sorted(folder.glob("*.toml")))
    if [item.number for item in items] != list(range(1, len(items) + 1)):
        raise error(folder.name, f"the files are not numbered 1 to {len(items)}, each once.")
    return items


def read_numbered(file: str, content: str, rule: str, error: type[BadFile]) -> tuple[int, str, dict[str, Any]]:
    """Number and name of a file called ``NN_name.toml``, and its keys.

    Raises ``error``: with the ``rule`` by which files are called, or with what is wrong in its TOML.
    """
    number, _, name = file.removesuffix(".toml").partition("_")
    if not number.isdecimal() or not name.isidentifier() or not name.isascii():
        raise error(file, rule)
    try:
        return int(number), name, tomllib.loads(content)
    except (ValueError, RecursionError) as problem:  # of its syntax, of a number with thousands of digits, of its depth
        sentence, _, place = str(problem).partition(" (at ")
        line = re.match(r"line (\d+)", place)
        last = max(1, content.count("\n") + (not content.endswith("\n")))
        raise error(file, f"{sentence}.", int(line[1]) if line else last if place else None) from None


def line_of(content: str, key: str) -> int | None:
    """The line on which a key stands, None where none does."""
    found = re.search(rf"^[ \t]*[\"']?{re.escape(key)}[\"']?[ \t]*=", content, re.MULTILINE)
    return content.count("\n", 0, found.start()) + 1 if found else None


def word_count(text: str) -> int:
    """How many words a text has; signs that stand alone are none."""
    return sum(any(sign.isalnum() for sign in word) for word in text.split())
