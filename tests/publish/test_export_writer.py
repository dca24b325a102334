"""Files with sliders: what sections share is kept once, and they have places, patience and seconds of their own."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from functions.misbehaving_op import OWN
from support import event_loop
from support.exports import got, stored
from support.own_server import showing

from gradloupe.server.cache.answer_cache import AnswerCache
from gradloupe.server.cache.visitor import Visitor
from gradloupe.server.protocol.errors import EngineBusy
from gradloupe.server.publish.export import CONCURRENT_FILES, FileWriter
from gradloupe.server.supervisor.engine import Engine
from gradloupe.server.url.address import Address, default_address
from gradloupe.server.url.numbers import BadQuery


def test_what_sections_share_is_kept_once(server: str) -> None:
    answers = stored(got(server, "/ops/clamp_with_grad.html?sliders=grad_output:9").text)
    assert len({json.dumps(section["columns"]["forward"]) for section in answers["sections"]}) == 1
    assert len({json.dumps(each) for each in answers["pool"]}) == len(answers["pool"])


def test_a_file_is_not_sent_twice(server: str) -> None:
    file = got(server, "/ops/sinh.html")
    assert got(server, "/ops/sinh.html", **{"if-none-match": file.headers["etag"]}).status_code == 304


Run = Callable[[FileWriter, dict[str, Any], dict[str, Any], Address], Awaitable[None]]


def with_exports(run: Run, seconds: float, patience: float = 60, values: int = 3) -> None:
    """Calls ``run`` with what has ``seconds`` for each file, and the question for a file with two sliders."""

    async def main() -> None:
        engine = Engine.spawn()
        await engine.connect()
        try:
            op, device = (await engine.catalogue())["clamp_with_grad"], await engine.device()
            address = replace(default_address(op), sliders=(("min", values), ("grad_output", values)))
            await run(FileWriter(AnswerCache(engine), seconds, patience), op, device, address)
        finally:
            await engine.close()

    event_loop.run(main())


async def stays() -> bool:
    return False


def visitor(number: int) -> Visitor:
    return Visitor(f"192.0.2.{number}", stays)


def test_a_file_has_so_many_seconds_and_no_more() -> None:
    async def run(exports: FileWriter, op: dict[str, Any], device: dict[str, Any], address: Address) -> None:
        for _ in range(CONCURRENT_FILES + 1):  # each place is free again
            with pytest.raises(BadQuery, match=r"could not be computed in 0\.01 s; give fewer values"):
                await exports.file(op, device, address, visitor(1))
        with pytest.raises(EngineBusy):  # without a slider there is nothing to give less of
            await exports.file(op, device, replace(default_address(op), question=slow(op)), visitor(1))

    def slow(op: dict[str, Any]) -> Any:
        return replace(default_address(op).question, count=5001)

    with_exports(run, 0.01, values=9)


def test_there_are_places_for_so_many_files_at_once() -> None:
    async def run(exports: FileWriter, op: dict[str, Any], device: dict[str, Any], address: Address) -> None:
        asked = [exports.file(op, device, address, visitor(n)) for n in range(CONCURRENT_FILES + 1)]
        found = await asyncio.gather(*asked, return_exceptions=True)
        refused = [place for place, each in enumerate(found) if isinstance(each, EngineBusy)]
        assert refused == [CONCURRENT_FILES]
        assert len([each for each in found if isinstance(each, tuple)]) == CONCURRENT_FILES

    with_exports(run, 60, patience=0.0)


def test_a_visitor_has_one_place_and_who_finds_none_waits() -> None:
    async def run(exports: FileWriter, op: dict[str, Any], device: dict[str, Any], address: Address) -> None:
        plain = replace(address, sliders=())
        both = [exports.file(op, device, each, visitor(1)) for each in (address, plain)]
        first, second = await asyncio.gather(*both, return_exceptions=True)
        assert isinstance(first, tuple)
        assert isinstance(second, EngineBusy)
        assert "One address may have 1 file written at once" in str(second)
        files = await asyncio.gather(*(exports.file(op, device, plain, visitor(n)) for n in range(6)))
        assert all(lasting for _, lasting in files)

    with_exports(run, 60)


def test_a_file_of_a_failure_is_not_kept(tmp_path: Path) -> None:
    with showing(tmp_path, text=OWN) as server:
        file = server.get("/ops/Misbehaving.html?deed=raise&sliders=grad_output:2")
        assert file.headers["cache-control"] == "no-store"
        assert stored(file.text)["sections"]


def test_others_are_served_while_a_file_is_made(server: str) -> None:
    made = threading.Thread(target=got, args=(server, "/ops/square.html?sliders=grad_output:41&count=3001"))
    made.start()
    served = 0
    while made.is_alive():
        assert got(server, f"/ops/exp.json?count={300 + served}").status_code == 200
        served += 1
    assert served > 5
