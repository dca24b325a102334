"""Edited code: how long a new text takes, and a key until the page is drawn again; a class at once; what runs leave.

``python tests/bench/edits.py 10000`` only runs so many edits, and says as it goes what they leave.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

from browser_tab import chromium, tab
from processes import READY, gradloupe_commands, web_server
from psutil import Process
from report import Report, Table, Target
from support.edits import edited
from support.engines import question_of
from support.servers import HERE

from gradloupe.server.html.play_page import SKELETON
from gradloupe.server.protocol.errors import EngineBusy
from gradloupe.server.supervisor.edits import EditLimits, Edits

NAMES = ("leaky_relu", "clamp_with_grad", "softmax", "polar_to_cartesian")
ROUNDS, PEOPLE, LOOPS, RUNS = 9, 49, 8, 300
PAUSE, RETRY = 0.7, 1.0  # seconds between two edits of one person, and before a busy server is asked again
LOOPING = edited(backward="while True: pass")
MOST, REDRAWN = 0.15, 450  # seconds of a processor; milliseconds from a key on, of which the page waits 150 for a pause


@dataclass(frozen=True)
class Edit:
    """Seconds by the clock, of a processor in worker and guest, and of waiting for one."""

    wall: float
    used: float
    waited: float


def measure() -> Report:
    """The tables of latency, of a class and of many runs."""
    texts = {"ten lines": edited()} | {name: (HERE / "ops" / f"{name}.py").read_text() for name in NAMES}
    edits = {name: asyncio.run(_typed(text)) for name, text in texts.items()}
    alone = median(each.used for some in edits.values() for each in some)
    people, loops = asyncio.run(_class())
    first, last = asyncio.run(_soaked(RUNS))
    keys = _redrawn({"the skeleton": SKELETON} | {name: texts[name] for name in NAMES})
    rows = [
        (name, *(f"{1e3 * median(getattr(each, what) for each in some):.0f} ms" for what in ("wall", "used", "waited")))
        for name, some in edits.items()
    ]
    headings = ("text", "by the clock", "of a processor", "waiting for one")
    tables = [
        Table("One edit", headings, rows, f"From a text to its first answer, medians of {ROUNDS}; worker and guest."),
        Table(
            "From a key to the lines drawn again",
            ("text", "half within", "all within"),
            [(name, f"{median(some):.0f} ms", f"{max(some):.0f} ms") for name, some in keys.items()],
            f"In Chromium, {ROUNDS} keys each, the pause in typing included.",
        ),
        Table(
            f"{PEOPLE} people at once, and one who loops",
            ("of them", "half within", "nineteen of twenty within", "all within"),
            [
                (name, *(f"{each:.1f} s" for each in (median(some), quantiles(some, n=20)[-1], max(some))))
                for name, some in (("who edit once", people), ("loops", loops))
            ],
            f"{LOOPS} loops of one address; whoever is told 503 asks again after {RETRY:g} s.",
        ),
        Table(f"{RUNS} edits", ("after", *TRACES), [("10", *map(str, first)), (str(RUNS), *map(str, last))]),
    ]
    wanted = [
        Target("half of the edits take at most 150 ms of a processor", f"{1e3 * alone:.0f} ms", alone <= MOST),
        Target(
            f"half of the redraws are there {REDRAWN} ms after the key",
            f"{max(map(median, keys.values())):.0f} ms at most",
            max(map(median, keys.values())) <= REDRAWN,
        ),
        Target("nobody waits behind the loops", f"{max(people):.1f} s", max(people) < max(loops)),
        Target("no process, descriptor or thread is left", f"{first[:3]}, {last[:3]}", first[:3] == last[:3]),
    ]
    return Report(tables, wanted)


async def _with(limits: EditLimits, work: Callable[[Edits], Awaitable[None]]) -> None:
    async with AsyncExitStack() as stack:
        edits = Edits(limits)
        stack.push_async_callback(edits.close)
        await work(edits)


async def _asked(edits: Edits, text: str, address: str = "") -> int:
    """The worker that has answered; a busy server is asked again."""
    while True:
        try:
            async with edits.engine(text, address) as engine:
                name = next(iter(await engine.catalogue()))
                await engine.answer(await question_of(engine, name))
                return engine.workers[0]
        except EngineBusy:
            await asyncio.sleep(RETRY)


async def _typed(text: str) -> list[Edit]:
    found = list[Edit]()

    async def work(edits: Edits) -> None:
        for number in range(ROUNDS + 1):
            family = [Process(edits.spares[0].pid)] if edits.spares else []
            family += [child for each in family for child in each.children()]
            before, began = [_scheduled(each.pid) for each in family], time.perf_counter()
            await _asked(edits, f"{text}\n# {number}")
            wall = time.perf_counter() - began
            after = [_scheduled(each.pid) for each in family]
            if family:  # the first finds nothing spare
                spent = [
                    [new - old for old, new in zip(*each, strict=True)] for each in zip(before, after, strict=True)
                ]
                found.append(Edit(wall, *map(sum, zip(*spent, strict=True))))
            await asyncio.sleep(PAUSE)

    await _with(EditLimits(deadline=30.0), work)
    return found


def _scheduled(pid: int) -> tuple[float, float]:
    used, waited, _ = Path(f"/proc/{pid}/schedstat").read_text().split()
    return 1e-9 * int(used), 1e-9 * int(waited)


def _redrawn(texts: dict[str, str]) -> dict[str, list[float]]:
    """Milliseconds from each key, a digit of a factor of grad_output, to the lines of the page being drawn again."""
    found = dict[str, list[float]]()
    command = next(iter(gradloupe_commands().values()))
    with web_server(command, READY, HERE) as server, chromium() as browser:
        for name, text in texts.items():
            with tab(browser) as visitor:
                head, first, rest = re.split(r"(def backward\(ctx, (?:\w+).*\n)", text, maxsplit=1)
                gradient = re.findall(r"\w+", first)[3]
                visitor.open(f"{server.url}/play")
                visitor.page.locator(".cm-content").press("ControlOrMeta+a")
                visitor.page.keyboard.insert_text(f"{head}{first}        {gradient} = {gradient} * 1.0\n{rest}")
                visitor.page.keyboard.press("ControlOrMeta+Home")
                for _ in range(head.count("\n") + 1):
                    visitor.page.keyboard.press("ArrowDown")
                visitor.page.keyboard.press("End")
                visitor.page.wait_for_timeout(1e3 * 2 * PAUSE)
                found[name] = []
                for digit in range(1, ROUNDS + 1):
                    found[name].append(visitor.press(".cm-content", str(digit)))
                    visitor.press(".cm-content", "Backspace")
                    visitor.page.wait_for_timeout(1e3 * PAUSE)
    return found


async def _class() -> tuple[list[float], list[float]]:
    """Seconds until each person has an answer, and until each loop was given up."""
    people, loops = list[float](), list[float]()

    async def timed(edits: Edits, text: str, address: str, seconds: list[float]) -> None:
        began = time.perf_counter()
        await _asked(edits, text, address)
        seconds.append(time.perf_counter() - began)

    async def work(edits: Edits) -> None:
        await _asked(edits, edited())
        looping = [timed(edits, f"{LOOPING}\n# {number}", "looper", loops) for number in range(LOOPS)]
        others = [timed(edits, f"{edited()}\n# {number}", f"person {number}", people) for number in range(PEOPLE)]
        await asyncio.gather(*looping, *others)

    await _with(EditLimits(), work)
    return people, loops


TRACES = ("processes", "descriptors", "threads", "MiB")


async def _soaked(count: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Processes, descriptors, threads and MiB of this process and all below it, after ten edits and after all."""
    seen = list[tuple[int, ...]]()

    async def work(edits: Edits) -> None:
        for number in range(1, count + 1):
            await _asked(edits, f"{edited()}\n# {number}")
            if number in (10, count) or number % 500 == 0:
                await asyncio.sleep(PAUSE)  # until those that were to end have ended
                seen.append(_traces())
                print(f"{number} edits: {dict(zip(TRACES, seen[-1], strict=True))}", file=sys.stderr, flush=True)

    await _with(EditLimits(alive=2, deadline=60.0), work)
    return seen[0], seen[-1]


def _traces() -> tuple[int, ...]:
    family = [Process(), *Process().children(recursive=True)]
    memory = sum(each.memory_full_info().pss for each in family) / 2**20
    return len(family), len(os.listdir("/proc/self/fd")), Process().num_threads(), round(memory)


if __name__ == "__main__":
    asyncio.run(_soaked(int(sys.argv[1])))
