"""The views whose rows are words: what lies in the header as a list, as columns, one entry a row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_Row = dict[str, Any]

CHECKS = ("id", "family", "level", "title", "seen", "torch", "advice", "line", "document", "element")
THINGS = ("function", "part", "name", "kind", "shape", "dtype", "bytes", "value")
# By view the names of its columns.
LISTINGS: dict[str, tuple[str, ...]] = {"contract": CHECKS, "node": THINGS}


def listed(header: dict[str, Any]) -> dict[str, list[Any]]:
    """By name the columns of a view of ``LISTINGS``; none for another."""
    names = LISTINGS.get(header["view"], ())
    rows = list(_things(header) if header["view"] == "node" else header.get("checks", ())) if names else []
    return {name: [row[name] for row in rows] for name in names}


def _things(header: dict[str, Any]) -> Iterator[_Row]:
    """What went into the Functions of a call, what they hold, and what came out at either end."""
    for function in header["functions"]:
        for one in function["arguments"]:
            yield from _row(function, "argument", one["name"], one["thing"])
            yield from _row(function, "returned", one["name"], one["returned"])
            yield from _row(function, "delivered", one["name"], one["delivered"])
        for one in function["outputs"]:
            yield from _row(function, "output", one["name"], one["thing"])
            yield from _row(function, "grad_output", one["name"], one["arrived"])
        for part in ("saved", "attributes"):
            for one in function[part]:
                yield from _row(function, part.removesuffix("s"), one["name"], one["thing"])


def _row(function: _Row, part: str, name: str, thing: _Row | None) -> Iterator[_Row]:
    if thing is not None:
        shape = "" if thing["shape"] is None else "x".join(map(str, thing["shape"]))
        yield {
            **{"function": function["name"], "part": part, "name": name, "kind": thing["kind"], "shape": shape},
            **{"dtype": thing["dtype"], "bytes": thing["size"], "value": thing["text"]},
        }
