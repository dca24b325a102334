"""A small section of every op, for the gallery."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from math import isfinite
from typing import Any

from .address import default
from .engine import Engine

POINTS = 81


class Thumbnails:
    """Asks the engine once for each op and keeps what it says."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._drawn: dict[str, dict[str, Any]] = {}
        self._drawing = asyncio.Lock()

    async def all(self) -> dict[str, dict[str, Any]]:
        """By op name: ``x``, ``forward`` and ``analytical`` (None at gaps), and the ``word`` of the verdict."""
        ops = await self._engine.catalogue()
        async with self._drawing:
            for op in ops.values():
                if op["digest"] not in self._drawn:
                    self._drawn[op["digest"]] = await self._draw(op)
        return {name: self._drawn[op["digest"]] for name, op in ops.items()}

    async def _draw(self, op: dict[str, Any]) -> dict[str, Any]:
        answer = await self._engine.answer(replace(default(op).question, count=POINTS))
        curves = {
            name: [value if isfinite(value) else None for value in answer.columns.get(name, ())]
            for name in ("x", "forward", "analytical")
        }
        return {**curves, "word": answer.header["verdict"]["word"]}
