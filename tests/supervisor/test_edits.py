"""A worker for each edited text: in turn for everybody, kept while it is asked for, and ended without a trace."""

import asyncio
import os
import signal
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from psutil import Process
from support.edits import edited
from support.engines import question_of
from support.event_loop import awaited, run
from support.servers import children
from support.waiting import until

from gradloupe.server.cache.visitor import Visitor
from gradloupe.server.protocol.errors import EngineBroken, EngineBusy
from gradloupe.server.supervisor.edits import EditLimits, Edits, FairSlots

LOOPS = edited(backward="while True: pass")


async def turns(slots: FairSlots, address: str, order: list[str], held: asyncio.Event) -> None:
    async with slots.one(address):
        order.append(address)
        await held.wait()


@awaited
async def test_slots_are_handed_out_in_turn_and_never_all_to_one() -> None:
    slots, order, held = FairSlots(3, 8), list[str](), asyncio.Event()
    tasks = [asyncio.create_task(turns(slots, "loops", order, held)) for _ in range(6)]
    await asyncio.sleep(0)
    assert order == ["loops", "loops"]
    tasks += [asyncio.create_task(turns(slots, each, order, held)) for each in ("ann", "ben")]
    await asyncio.sleep(0)
    assert (order[2:], slots.waiting) == (["ann"], 5)
    held.set()
    await asyncio.gather(*tasks)
    assert order.index("ben") < 6
    assert slots.waiting == 0


@awaited
async def test_whoever_waits_too_much_is_told_to_come_back_and_others_are_not() -> None:
    slots, held = FairSlots(2, 8), asyncio.Event()
    tasks = [asyncio.create_task(turns(slots, "loops", [], held)) for _ in range(9)]
    await asyncio.sleep(0)
    with pytest.raises(EngineBusy, match="One address may have 8 edits waiting"):
        await turns(slots, "loops", [], held)
    others = [asyncio.create_task(turns(slots, f"student {place}", [], held)) for place in range(57)]
    await asyncio.sleep(0)
    with pytest.raises(EngineBusy, match="More edits are waiting"):
        await turns(slots, "one more", [], held)
    for each in tasks:
        each.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert slots.waiting == 55  # of 64: the eight that were cancelled, and the one whose turn came by that
    held.set()
    await asyncio.gather(*others)
    assert slots.waiting == 0
    async with slots.one("loops"), slots.one("ann"):
        pass


@awaited
async def test_where_clients_are_not_told_apart_all_slots_are_for_all_of_them() -> None:
    slots, order, held = FairSlots(2, 1), list[str](), asyncio.Event()
    tasks = [asyncio.create_task(turns(slots, "", order, held)) for _ in range(5)]
    await asyncio.sleep(0)
    assert (len(order), slots.waiting) == (2, 3)
    held.set()
    await asyncio.gather(*tasks)


async def verdict(edits: Edits, text: str, address: str = "") -> str:
    async with edits.engine(text, address) as engine:
        name = next(iter(await engine.catalogue()))
        return str((await engine.answer(await question_of(engine, name))).header["verdict"]["word"])


def descendants(pid: int) -> list[Process]:
    return Process(pid).children(recursive=True)


def forked() -> set[int]:
    """The processes of all workers of this process."""
    return {each.pid for server in children(os.getpid(), "worker.forkserver") for each in descendants(server)}


async def traces(edits: Edits, count: int) -> tuple[int, int, int]:
    """Workers, descriptors and threads of this process after so many edits, each of another text."""
    for number in range(count):
        await verdict(edits, f"{edited()}\n# {number}")
    return edits.alive, len(os.listdir("/proc/self/fd")), Process().num_threads()


def test_a_text_keeps_its_worker_and_the_oldest_makes_room() -> None:
    async def asked() -> None:
        edits = Edits(EditLimits(alive=2, deadline=60.0))
        texts = [f"{edited()}\n# {number}" for number in range(3)]
        async with AsyncExitStack() as stack:
            stack.push_async_callback(edits.close)
            assert [await verdict(edits, each) for each in texts] == ["matches"] * 3
            assert edits.alive == 2
            async with edits.engine(texts[2], "") as engine:
                worker = engine.workers[0]
            await verdict(edits, texts[2])
            async with edits.engine(texts[2], "") as engine:
                assert engine.workers[0] == worker
            with pytest.raises(EngineBroken):
                await verdict(edits, "x = 1 / 0")
            assert edits.alive == 2

    run(asked())


@pytest.mark.parametrize("count", [1, pytest.param(200, marks=pytest.mark.nightly)])
def test_edits_leave_no_process_descriptor_or_thread(count: int) -> None:
    async def asked() -> tuple[tuple[int, int, int], tuple[int, int, int], set[int]]:
        edits, others = Edits(EditLimits(alive=2, deadline=60.0)), forked()
        first = await traces(edits, 3)
        guests = forked() - others
        later = await traces(edits, count)
        await edits.close()
        return first, later, guests

    first, later, guests = run(asked())
    assert later[0] == first[0]
    assert later[1] <= first[1] + 2
    assert later[2] <= first[2] + 2
    assert len(guests) >= 4  # two workers with a guest each, and those that are spare
    assert until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in guests))


def test_nobody_waits_behind_one_who_loops() -> None:
    async def asked() -> tuple[str, int]:
        edits = Edits(EditLimits(at_once=2, deadline=20.0))
        looping = [asyncio.create_task(verdict(edits, f"{LOOPS}\n# {number}", "loops")) for number in range(4)]
        await asyncio.sleep(0)
        word = await verdict(edits, edited(), "student")
        waiting = sum(not each.done() for each in looping)
        for each in looping:
            each.cancel()
        await asyncio.gather(*looping, return_exceptions=True)
        await edits.close()
        return word, waiting

    word, waiting = run(asked())
    assert word == "matches"
    assert waiting >= 2


def test_a_visitor_who_leaves_ends_the_loop_that_nobody_waits_for() -> None:
    async def asked() -> set[int]:
        edits, others, loops = Edits(EditLimits(deadline=60.0, spare=0)), forked(), set[int]()

        async def gone() -> bool:
            loops.update(pid for pid in forked() - others if Process(pid).cpu_times().user > 0.2)
            return bool(loops)

        with pytest.raises(EngineBusy):
            await Visitor("", gone).waiting_for(verdict(edits, LOOPS))
        assert edits.alive == 0
        await edits.close()
        return loops

    loops = run(asked())
    assert until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in loops))


def test_the_next_edit_finds_a_worker_and_a_guest_that_know_no_other() -> None:
    async def asked() -> tuple[list[int], list[int], str]:
        edits = Edits(EditLimits(spare=2, deadline=60.0))
        await verdict(edits, edited())
        spares = [each.pid for each in edits.spares if until(lambda each=each: each.pid)]
        served = []
        for number in range(2):
            async with edits.engine(f"{edited()}\n# {number}", "") as engine:
                await engine.wait_ready()
                served.append(engine.workers[0])
        word = await verdict(edits, f"{edited()}\n# another")
        await edits.close()
        return spares, served, word

    spares, served, word = run(asked())
    assert served == spares
    assert word == "matches"
    assert until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in (*spares, *served)))
    assert not any(Path(f"/proc/{pid}").exists() for pid in (*spares, *served))


def test_a_spare_worker_that_was_killed_is_none() -> None:
    async def asked() -> str:
        edits = Edits(EditLimits(spare=1, deadline=60.0))
        edits.prepare()
        (spare,) = edits.spares
        until(lambda: spare.pid)
        os.kill(spare.pid, signal.SIGKILL)
        try:
            return await verdict(edits, edited())
        finally:
            await edits.close()

    assert run(asked()) == "matches"
