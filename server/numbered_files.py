"""Files called by number and name, as ``01_mask.toml``, in each of which one thing is written: lessons, exercises."""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol, TypeVar

from .protocol.listed import did_you_mean, listed


class Numbered(Protocol):
    """What is written in one file."""

    @property
    def number(self) -> int:
        """Its place among the others, from 1."""
        ...


_Item = TypeVar("_Item", bound=Numbered)
_LONGEST_LINE = 200  # budget: characters of what stands on a line
_KINDS: dict[type, str] = {str: "text", list: "list of texts", dict: "table of texts"}


class BadFile(ValueError):
    """A file that cannot be what it should: its name, the ``line`` at fault where one is, and the ``sentence``."""

    kind = "a file"

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


@dataclass(frozen=True)
class NumberedFile:
    """What one file says, by its keys; ``error`` is raised for what is wrong in it."""

    file: str
    content: str
    error: type[BadFile]
    number: int
    name: str
    said: dict[str, Any]

    def check_keys(self, needed: Iterable[str], optional: Mapping[str, type]) -> None:
        """Raise for a key that is missing, unknown or of another type: texts, and lists and tables of texts."""
        if lacking := [key for key in needed if self.said.get(key, "") == ""]:
            raise self.error(self.file, f"it lacks {listed(lacking)}.")
        allowed = {**dict.fromkeys(needed, str), **optional}
        for key, value in self.said.items():
            if key not in allowed:
                hint = did_you_mean(key, allowed, f"it may have {listed([*allowed])}.")
                raise self.fault(key, f"is no key of {self.error.kind}; {hint}")
            parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
            if not isinstance(value, allowed[key]) or not all(isinstance(each, str) for each in parts):
                raise self.fault(key, f"is not a {_KINDS[allowed[key]]}.")
            if key in needed and not str(value).strip():
                raise self.fault(key, "is not a text.")

    def check_words(self, key: str, bounds: tuple[int, int]) -> None:
        """Raise where a text has fewer or more words than that."""
        if not bounds[0] <= (count := word_count(self.said[key])) <= bounds[1]:
            raise self.fault(key, f"has {count} words, and {bounds[0]} to {bounds[1]} are allowed.")

    def check_line(self, key: str) -> None:
        """Raise where a text does not go on a line."""
        if len(self.said[key]) > _LONGEST_LINE or "\n" in self.said[key].strip():
            raise self.fault(key, f"is longer than a line of {_LONGEST_LINE} characters.")

    def fault(self, key: str, sentence: str) -> BadFile:
        """The error for what a key says, with its line."""
        return self.error(self.file, f"{key} {sentence}", self.line(key))

    def line(self, key: str) -> int | None:
        """The line on which a key stands, None where none does."""
        return line_of(self.content, key)


def read_numbered(file: str, content: str, error: type[BadFile]) -> NumberedFile:
    """What a file called ``NN_name.toml`` says; raises ``error`` for another name, or what is wrong in its TOML."""
    number, _, name = file.removesuffix(".toml").partition("_")
    if not number.isdecimal() or not name.isidentifier() or not name.isascii():
        raise error(file, f"{error.kind} is called by its number and its name, as in 01_mask.toml.")
    try:
        return NumberedFile(file, content, error, int(number), name, tomllib.loads(content))
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
