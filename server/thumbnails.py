"""A small section of every op, for the gallery."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from math import inf, isfinite
from time import monotonic
from typing import Any

from .address import default
from .engine import BadQuestion, Engine, EngineFault

POINTS = 81
CURVES = ("x", "forward", "analytical")


@dataclass(frozen=True)
class Thumbnail:
    """What is drawn of an op, and until when (by ``monotonic``) it is not asked for again."""

    drawn: dict[str, Any]
    until: float = inf


class Thumbnails:
    """Asks the engine once for each op and keeps what it says; the loss of a worker, only for ``patience`` seconds."""

    def __init__(self, engine: Engine, patience: float = 60.0) -> None:
        self._engine = engine
        self._patience = patience
        self._kept: dict[str, Thumbnail] = {}
        self._drawing = asyncio.Lock()

    async def of(self, ops: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """By op name: ``x``, ``forward`` and ``analytical`` (None at gaps), and the ``word`` of the verdict."""
        async with self._drawing:
            for op in ops.values():
                kept = self._kept.get(op["digest"])
                if kept is None or kept.until <= monotonic():
                    self._kept[op["digest"]] = await self._draw(op)
            return {name: self._kept[op["digest"]].drawn for name, op in ops.items()}

    async def _draw(self, op: dict[str, Any]) -> Thumbnail:
        try:
            answer = await self._engine.answer(replace(default(op).question, count=POINTS))
        except (BadQuestion, EngineFault):  # the op's own page says what is wrong
            return self._failed()
        failure = answer.header["failure"]
        if failure is not None and failure["phase"] == "worker":
            return self._failed()
        curves = {
            name: [value if isfinite(value) else None for value in answer.columns.get(name, ())] for name in CURVES
        }
        return Thumbnail({**curves, "word": answer.header["verdict"]["word"]})

    def _failed(self) -> Thumbnail:
        return Thumbnail({**dict.fromkeys(CURVES, ()), "word": "failed"}, monotonic() + self._patience)
