"""An answer as CSV: a line of names, then one row for each x."""

from __future__ import annotations

from itertools import repeat

from .frames import Frame

COLUMNS = ("x", "forward", "analytical", "numerical", "error", "left", "right", "surrogate", "surrogate_numerical")


def table(answer: Frame) -> bytes:
    """The lines of an answer. A cell is empty where there is no number, infinities are ``inf`` and ``-inf``.

    A Function that failed has a last line after ``#`` that says why.
    """
    columns = [map(_cell, answer.columns[name]) if name in answer.columns else repeat("") for name in COLUMNS]
    words = [answer.header["statuses"][code] for code in answer.columns.get("status", ())]
    lines = [(*COLUMNS, "status"), *zip(*columns, words, strict=False)]
    text = "".join(",".join(line) + "\r\n" for line in lines)
    failure = answer.header["failure"]
    if failure is not None:
        text += f"# {failure['phase']} failed, {failure['kind']}: {' '.join(failure['message'].split())}\r\n"
    return text.encode("utf-8", "replace")


def _cell(value: float) -> str:
    return repr(value) if value == value else ""
