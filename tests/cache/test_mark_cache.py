"""A query that was asked before is looked up, as long as the code that it is about is the same."""

from support.engines import engine_of
from support.event_loop import awaited

from gradloupe.server.cache import MarkCache


@awaited
async def test_a_mark_is_found_where_it_was_made_and_only_for_the_code_that_is_loaded() -> None:
    async with engine_of() as engine:
        marks, op = MarkCache(engine), await engine.stub("exp")
        marks.keep("a mark", [op], "count=21", "json", "/ops/exp.json")
        assert await marks.find("count=21", "json", "/ops/exp.json") == "a mark"
        assert await marks.find("count=21", "csv", "/ops/exp.json") is None
        assert await marks.find("count=22", "json", "/ops/exp.json") is None
        marks.keep("another", [{**op, "digest": "of other code"}], "count=21", "json", "/ops/exp.json")
        assert await marks.find("count=21", "json", "/ops/exp.json") is None


@awaited
async def test_only_so_many_marks_are_kept_and_none_of_a_long_query() -> None:
    async with engine_of() as engine:
        marks, op = MarkCache(engine), await engine.stub("exp")
        for count in range(5000):
            marks.keep(str(count), [op], f"count={count}")
        assert await marks.find("count=4999") == "4999"
        assert await marks.find("count=0") is None
        marks.keep("long", [op], "x" * 2000)
        assert await marks.find("x" * 2000) is None
