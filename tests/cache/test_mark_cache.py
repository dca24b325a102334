"""A query that was asked before is looked up, as long as the code that it is about is the same."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from support import event_loop

from gradloupe.server.cache import MarkCache
from gradloupe.server.schema.op import OpStub
from gradloupe.server.supervisor.engine import Engine


def with_marks(run: Callable[[MarkCache, OpStub], Awaitable[None]]) -> None:
    async def main() -> None:
        engine = Engine.spawn()
        await engine.connect()
        try:
            await run(MarkCache(engine), await engine.stub("exp"))
        finally:
            await engine.close()

    event_loop.run(main())


def test_a_mark_is_found_where_it_was_made_and_only_for_the_code_that_is_loaded() -> None:
    async def run(marks: MarkCache, op: OpStub) -> None:
        marks.keep("a mark", [op], "count=21", "json", "/ops/exp.json")
        assert await marks.find("count=21", "json", "/ops/exp.json") == "a mark"
        assert await marks.find("count=21", "csv", "/ops/exp.json") is None
        assert await marks.find("count=22", "json", "/ops/exp.json") is None
        marks.keep("another", [{**op, "digest": "of other code"}], "count=21", "json", "/ops/exp.json")
        assert await marks.find("count=21", "json", "/ops/exp.json") is None

    with_marks(run)


def test_only_so_many_marks_are_kept_and_none_of_a_long_query() -> None:
    async def run(marks: MarkCache, op: OpStub) -> None:
        for count in range(5000):
            marks.keep(str(count), [op], f"count={count}")
        assert await marks.find("count=4999") == "4999"
        assert await marks.find("count=0") is None
        marks.keep("long", [op], "x" * 2000)
        assert await marks.find("x" * 2000) is None

    with_marks(run)
