"""Many documents of one op in little room: what several of them say alike is kept once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

REFERENCE = 4  # bytes of a place in the pool and the comma after it, more or less

Texts = dict[str, str]


class Pool:
    """Texts of JSON, each once, and for every document where in the pool each part of it stands."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._parts: dict[str, int] = {}
        self._documents: list[dict[int, int]] = []
        self.size = 0

    def add(self, document: dict[str, Any]) -> None:
        """Take ``document`` in; its columns are parts of their own."""
        found: dict[int, int] = {}
        for part, text in parts(document).items():
            if text not in self._places:
                self._places[text] = len(self._places)
                self.size += len(text) + 1
            found[self._parts.setdefault(part, len(self._parts))] = self._places[text]
        self._documents.append(found)
        self.size += REFERENCE * len(found)

    def json(self) -> str:
        """``parts``, the ``pool``, and for each document its places in it, -1 for a part that it has not."""
        every = range(len(self._parts))
        documents = [[found.get(part, -1) for part in every] for found in self._documents]
        pool, names = ",".join(self._places), orjson.dumps(list(self._parts)).decode()
        return f'"parts":{names},"pool":[{pool}],"documents":{orjson.dumps(documents).decode()}'


def parts(document: dict[str, Any]) -> Texts:
    """The JSON of each part by its name, of a column by ``columns.`` and its name."""
    columns = {f"columns.{name}": column for name, column in document["columns"].items()}
    apart = {name: part for name, part in document.items() if name != "columns"} | columns
    return {name: orjson.dumps(part).decode() for name, part in apart.items()}


def expected(counts: Sequence[int], samples: Mapping[tuple[int, ...], dict[str, Any]]) -> int:
    """About how large the pool of all documents will be.

    ``counts`` are the numbers of values of the axes, ``samples`` the documents of a coarser grid by their places on the
    axes. How many different texts a part has grows along every axis as it does within the samples.
    """
    texts = {places: parts(document) for places, document in samples.items()}
    names = next(iter(texts.values()))
    alike = {tuple((places, each.get(name, "")) for places, each in texts.items()) for name in names}
    size = REFERENCE * math.prod(counts) * len(names)
    for kind in alike:
        lengths = [len(text) for text in {text for _, text in kind}]
        size += round(_different(counts, dict(kind)) * (1 + sum(lengths) / len(lengths)))
    return size


def _different(counts: Sequence[int], texts: Mapping[tuple[int, ...], str]) -> float:
    """How many different ones there will be on the whole grid of so many like these."""
    found = float(len(set(texts.values())))
    grown = found
    for axis, count in enumerate(counts):
        layers: dict[int, set[str]] = {}
        for places, text in texts.items():
            layers.setdefault(places[axis], set()).add(text)
        growth = found / (sum(map(len, layers.values())) / len(layers))
        if len(layers) > 1:
            grown *= (count / len(layers)) ** math.log(growth, len(layers))
    return grown
