"""Load error as plain data: sentence, exception type, file, line, source excerpt and traceback."""

from io import StringIO

from ..schema.op import Excerpt, LoadError


def source_lines(text: str) -> list[str]:
    """The lines of ``text`` without their ends; a form feed ends none, unlike in ``str.splitlines``."""
    return [line.removesuffix("\n") for line in StringIO(text, newline=None)]


_AROUND = 3  # lines of an excerpt before and after the culprit
_MAX_COLUMNS = 200


def load_error(
    sentence: str,
    kind: str = "",
    file: str = "",
    line: int | None = None,
    excerpt: Excerpt | None = None,
    traceback: str = "",
) -> LoadError:
    """A load error as pages, reports and terminal show it."""
    return {
        "sentence": sentence,
        "kind": kind,
        "file": file,
        "line": line,
        "excerpt": excerpt or [],
        "traceback": traceback,
    }


def excerpt_around(source: str, line: int, first: int = 1, columns: int | None = _MAX_COLUMNS) -> Excerpt:
    """The excerpt around a ``line`` of a source text, whose own first line has the number ``first``."""
    numbered = enumerate(source_lines(source), first)
    return [(number, text[:columns]) for number, text in numbered if abs(number - line) <= _AROUND]
