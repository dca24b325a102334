"""Deduplicated storage of the JSON documents in an exported file: parts that are equal are stored once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import orjson

from ..schema.page import PageSectionRecord

_REFERENCE = 4  # approximate bytes of an index into the pool and its comma

_Texts = dict[str, str]


class StringPool:
    """JSON texts, each stored once, and for every document the indices of its parts."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._parts: dict[str, int] = {}
        self._documents: list[dict[int, int]] = []
        self.size = 0

    def add(self, document: PageSectionRecord) -> None:
        """Add a document; each of its columns is a part of its own."""
        found: dict[int, int] = {}
        for part, text in document_parts(document).items():
            if text not in self._places:
                self._places[text] = len(self._places)
                self.size += len(text) + 1
            found[self._parts.setdefault(part, len(self._parts))] = self._places[text]
        self._documents.append(found)
        self.size += _REFERENCE * len(found)

    def json(self) -> str:
        """The names of the ``parts``, the ``pool``, and the indices of each document, -1 for a part that it lacks."""
        every = range(len(self._parts))
        documents = [[found.get(part, -1) for part in every] for found in self._documents]
        pool, names = ",".join(self._places), orjson.dumps(list(self._parts)).decode()
        return f'"parts":{names},"pool":[{pool}],"documents":{orjson.dumps(documents).decode()}'


def document_parts(document: PageSectionRecord) -> _Texts:
    """The JSON text of each part of a document by name; columns have the prefix ``columns.``."""
    columns = {f"columns.{name}": column for name, column in document["columns"].items()}
    apart: dict[str, object] = {name: part for name, part in document.items() if name != "columns"} | columns
    return {name: orjson.dumps(part).decode() for name, part in apart.items()}


def expected_size(counts: Sequence[int], samples: Mapping[tuple[int, ...], PageSectionRecord]) -> int:
    """The estimated size of the pool of all documents.

    ``counts`` are the numbers of values of the axes, ``samples`` the documents of a coarser grid by their indices on
    the axes. The number of different texts of a part is extrapolated along every axis by its growth within the samples.
    """
    texts = {places: document_parts(document) for places, document in samples.items()}
    names = next(iter(texts.values()))
    alike = {tuple((places, each.get(name, "")) for places, each in texts.items()) for name in names}
    size = _REFERENCE * math.prod(counts) * len(names)
    for kind in alike:
        lengths = [len(text) for text in {text for _, text in kind}]
        size += round(_different(counts, dict(kind)) * (1 + sum(lengths) / len(lengths)))
    return size


def _different(counts: Sequence[int], texts: Mapping[tuple[int, ...], str]) -> float:
    """The number of different texts on the whole grid, extrapolated from those of the samples by a power law."""
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
