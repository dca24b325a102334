"""Thumbnails for the gallery: a small section of every op, computed in the background and cached."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf, isfinite
from time import monotonic

from cachetools import LRUCache

from ..protocol.answer import CurvesAnswer, curves_of
from ..protocol.errors import BadQuestion, EngineBusy, EngineFault, UnknownOp, Unsolved
from ..reload.composite_engine import AnyEngine
from ..schema.op import OpStub, ThumbnailCurves
from ..url.address import default_address
from .answer_cache import current_digest

_POINTS = 81
_MAX_THUMBNAILS = 2048  # thumbnails
MEASURING, _UNSOLVED = "measuring", "not called yet"
# Seconds that a page waits for the next thumbnail, so that one slow Function delays none, and for all of them.
_NEXT_TIMEOUT, _TOTAL_TIMEOUT = 2.0, 10.0
OWN_TIMEOUT = 0.8  # the latter for the user's own: they may be many, and need inference first


@dataclass(frozen=True)
class Thumbnail:
    """The data of a thumbnail, and the time (``monotonic``) at which it expires."""

    drawn: ThumbnailCurves
    until: float = inf


class ThumbnailCache:
    """Asks the engine once for each op and caches the answer; a failure only for ``patience`` seconds.

    A request waits at most ``following`` seconds for each thumbnail and ``altogether`` for all; the rest is computed in
    the background.
    """

    def __init__(
        self,
        engine: AnyEngine,
        patience: float = 60.0,
        following: float = _NEXT_TIMEOUT,
        altogether: float = _TOTAL_TIMEOUT,
    ) -> None:
        self._engine = engine
        self._patience = patience
        self._following = following
        self._altogether = altogether
        self._thumbnails: LRUCache[str, Thumbnail] = LRUCache(_MAX_THUMBNAILS)
        self._due: dict[str, OpStub] = {}  # to be computed, by digest
        self._task: asyncio.Task[None] | None = None
        self._last_finished = monotonic()  # when the last one was finished

    async def of(self, ops: Mapping[str, OpStub]) -> dict[str, ThumbnailCurves]:
        """By op name: ``x``, ``forward`` and ``analytical`` (None at gaps), and the ``word`` of the verdict.

        An op that is not ready in time has no curves and the word ``MEASURING``; one that is computed again keeps its
        old ones until then.
        """
        now, none = monotonic(), Thumbnail(_without_curves(MEASURING), -inf)
        thumbnails = {op["digest"]: self._thumbnails.get(op["digest"], none) for op in ops.values()}
        await self._draw_soon({op["digest"]: op for op in ops.values() if thumbnails[op["digest"]].until <= now})
        return {name: self._thumbnails.get(op["digest"], none).drawn for name, op in ops.items()}

    async def close(self) -> None:
        """Stop computing."""
        if self._task is not None and self._task.cancel():
            with suppress(asyncio.CancelledError, EngineBusy):
                await self._task

    async def _draw_soon(self, missing: dict[str, OpStub]) -> None:
        """Return when all of them are computed, it takes too long, or too many questions wait.

        Raises what else ``Engine.answer`` raises.
        """
        self._due = dict(missing)  # forgets what was due of replaced code
        if self._due and (self._task is None or self._task.done()):
            self._last_finished = monotonic()
            self._task = asyncio.create_task(self._draw_all())
            self._task.add_done_callback(lambda done: done.cancelled() or done.exception())  # its client may be gone
        until = monotonic() + self._altogether
        while self._task is not None and missing.keys() & self._due.keys():
            seconds = min(until, self._last_finished + self._following) - monotonic()
            if seconds <= 0:
                return
            done, _ = await asyncio.wait({self._task}, timeout=seconds)
            if done:
                with suppress(EngineBusy):  # the next page has the rest asked for
                    self._task.result()
                return

    async def _draw_all(self) -> None:
        while self._due:
            digest, op = next(iter(self._due.items()))
            thumbnail = await self._draw(op)
            if await current_digest(self._engine, op["name"]) == digest:
                self._thumbnails[digest] = thumbnail
            self._due.pop(digest, None)
            self._last_finished = monotonic()

    async def _draw(self, op: OpStub) -> Thumbnail:
        try:
            description = await self._engine.op(op["name"])
            question = replace(default_address(description).question, count=_POINTS)
            answer = curves_of(await self._engine.answer(question))
        except Unsolved as unsolved:
            return Thumbnail(_without_curves(_UNSOLVED) | {"said": unsolved.told["sentence"]})
        except (BadQuestion, EngineFault, UnknownOp):  # the op's own page says what is wrong
            return self._failed()
        failure = answer.header["failure"]
        if failure is not None and failure["phase"] == "worker":
            return self._failed()
        return Thumbnail(
            {
                "x": list(answer.columns.get("x", ())),
                "forward": _curve(answer, "forward"),
                "analytical": _curve(answer, "analytical"),
                "word": answer.header["verdict"]["word"],
            }
        )

    def _failed(self) -> Thumbnail:
        return Thumbnail(_without_curves("failed"), monotonic() + self._patience)


def _curve(answer: CurvesAnswer, name: str) -> list[float | None]:
    return [value if isfinite(value) else None for value in answer.columns.get(name, ())]


def _without_curves(word: str) -> ThumbnailCurves:
    return {"x": [], "forward": [], "analytical": [], "word": word}
