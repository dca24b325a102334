"""LRU cache of the marks of replies by what was asked, so that a query that was read before is looked up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cachetools import LRUCache

from ..reload.composite_engine import AnyEngine
from ..schema.op import OpStub
from .answer_cache import current_digest

_MAX_MARKS = 4096
_LONGEST_QUERY = 1024  # bytes; a longer query is read each time


class _MarkOfOps(NamedTuple):
    """A mark, and names and digests of the ops that it was made for."""

    mark: str
    digests: tuple[tuple[str, str], ...]


class MarkCache:
    """The marks of the requests of one server; a mark holds as long as the code of its ops is what is loaded."""

    def __init__(self, engine: AnyEngine) -> None:
        self._engine = engine
        self._marks: LRUCache[tuple[str, tuple[str, ...]], _MarkOfOps] = LRUCache(_MAX_MARKS)

    async def find(self, query: str, *place: str) -> str | None:
        """The mark for a query at this place, None where it is not known."""
        found = self._marks.get((query, place))
        if found is None:
            return None
        for name, digest in found.digests:
            if await current_digest(self._engine, name) != digest:
                return None
        return found.mark

    def keep(self, mark: str, ops: Sequence[OpStub], query: str, *place: str) -> None:
        """Remember the mark for a query at this place."""
        if len(query) <= _LONGEST_QUERY:
            self._marks[query, place] = _MarkOfOps(mark, tuple((op["name"], op["digest"]) for op in ops))
