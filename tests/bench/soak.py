"""Ten minutes of everything that comes in: what goes wrong, and what memory is kept. SOAK=60 makes it a minute."""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from urllib.parse import quote, urlsplit

from load_clients import reply_length
from processes import process_memory
from report import Report, Table, Target
from support.servers import Server, serving

from gradloupe.server.catalogue.op_description import op_descriptions

SECONDS = float(os.environ.get("SOAK", "600"))  # seconds
CLIENTS = 6
MEMORY_AT = (0.1, 0.5, 1.0)  # of the time: when memory is looked at
MAX_GROWTH = 16  # MiB that either process may grow in the second half
OPS = [op["name"] for op in op_descriptions()]
BAD_QUERIES = (
    "start=9&stop=1",
    "count=1e9",
    "grad_output=nan",
    "count=7&count=8",
    "no=1",
    "start=%00",
    "x" * 3000,
    "width=1",
)
ReplyCounts = Counter[tuple[str, str]]


@dataclass(frozen=True)
class Kind:
    """One kind of request: its weight among all, its address, the right statuses, and whether it is left early."""

    weight: int
    address: Callable[[random.Random], str]
    expected: tuple[int, ...] = (200,)
    leaves_early: bool = False


@dataclass
class SoakResult:
    """Replies by kind and status, and MiB of web process and worker by the share of the time that was over."""

    replies: ReplyCounts = field(default_factory=Counter)
    memory: dict[float, tuple[float, float]] = field(default_factory=dict)
    workers: set[int] = field(default_factory=set)


def measure() -> Report:
    """The tables of traffic and of memory."""
    with serving() as server:
        server.wait_until_ready()
        result = SoakResult()
        asyncio.run(_soak(server, result))
    return Report([_traffic(result), _memory(result)], _targets(result))


def _op(chance: random.Random, form: str = "/ops/{}") -> str:
    return form.format(chance.choice(OPS))


def _query(chance: random.Random) -> str:
    return f"grad_output={chance.uniform(-3, 3):.3f}&count={chance.choice((101, 401, 1000))}"


KINDS = {
    "gallery": Kind(4, lambda chance: "/"),
    "page": Kind(12, _op),
    "page, another section": Kind(8, lambda chance: f"{_op(chance)}?{_query(chance)}"),
    "embed": Kind(12, lambda chance: f"{_op(chance, '/embed/{}')}?grad_output={chance.randrange(1, 9)}"),
    "numbers": Kind(30, lambda chance: f"{_op(chance)}.json?{_query(chance)}"),
    "table": Kind(4, lambda chance: f"{_op(chance)}.csv?{_query(chance)}"),
    "SVG": Kind(6, lambda chance: f"{_op(chance)}.svg?grad_output={chance.uniform(-3, 3):.2f}"),
    "PNG": Kind(3, lambda chance: f"{_op(chance)}.png?grad_output={chance.randrange(1, 9)}"),
    "oEmbed": Kind(2, lambda chance: "/oembed?url=" + quote(f"{{here}}{_op(chance)}", safe="{}")),
    "bad query": Kind(8, lambda chance: f"{_op(chance)}.json?{chance.choice(BAD_QUERIES)}", (414, 422)),
    "no such page": Kind(3, lambda chance: f"/ops/nobody{chance.randrange(99)}", (404,)),
    "left early": Kind(8, lambda chance: f"{_op(chance)}.json?{_query(chance)}", leaves_early=True),
}


async def _soak(server: Server, result: SoakResult) -> None:
    began = monotonic()
    clients = [asyncio.create_task(_client(server.url, began + SECONDS, seed, result)) for seed in range(CLIENTS)]
    _look(server, 0.0, result)
    for share in MEMORY_AT:
        await asyncio.sleep(began + share * SECONDS - monotonic())
        if share == MEMORY_AT[-1]:
            await asyncio.gather(*clients)
        _look(server, share, result)


def _look(server: Server, share: float, result: SoakResult) -> None:
    worker = server.worker()
    result.workers.add(worker)
    result.memory[share] = (process_memory(server.process.pid).rss, process_memory(worker).rss)


async def _client(url: str, end: float, seed: int, result: SoakResult) -> None:
    chance = random.Random(seed)
    names, shares = list(KINDS), [kind.weight for kind in KINDS.values()]
    while monotonic() < end:
        (name,) = chance.choices(names, shares)
        kind = KINDS[name]
        address = kind.address(chance).replace("{here}", quote(url, safe=""))
        outcome = await _ask(url, address, chance.uniform(0, 0.03) if kind.leaves_early else 60.0)
        wrong = outcome != "left" and (not outcome.isdecimal() or int(outcome) not in (*kind.expected, 503))
        result.replies[name, f"**{outcome}**" if wrong else outcome] += 1


async def _ask(url: str, address: str, patience: float) -> str:
    """The status of a whole reply, or how it ended."""
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    head = f"GET {address} HTTP/1.1\r\nHost: {place.netloc}\r\nAccept-Encoding: gzip, br\r\nConnection: close\r\n\r\n"
    try:
        writer.write(head.encode())
        async with asyncio.timeout(patience):
            reply = bytearray(await reader.read())
    except TimeoutError:
        return "left" if patience < 1 else "no reply"
    except ConnectionError:
        return "reset"
    finally:
        writer.close()
    return reply[9:12].decode() if reply_length(reply) == len(reply) else "cut off"


def _traffic(result: SoakResult) -> Table:
    rows = []
    for name in KINDS:
        statuses = {status: count for (kind, status), count in sorted(result.replies.items()) if kind == name}
        rows.append((name, f"{sum(statuses.values())}", ", ".join(f"{n} × {each}" for each, n in statuses.items())))
    note = (
        f"{SECONDS:g} s, {CLIENTS} clients that ask without a pause, each time over a new connection. In bold: wrong."
    )
    return Table("A soak", ("", "requests", "replies"), rows, note)


def _memory(result: SoakResult) -> Table:
    looks = result.memory.items()
    rows = [(f"{100 * share:.0f} %", f"{web:.0f} MiB", f"{worker:.0f} MiB") for share, (web, worker) in looks]
    note = "RSS, by the share of the time that was over. The web process keeps answers, up to a bound."
    return Table("Memory in the soak", ("over", "web process", "worker"), rows, note)


def _targets(result: SoakResult) -> list[Target]:
    wrong = sum(count for (_, outcome), count in result.replies.items() if outcome.startswith("*"))
    middle, last = (result.memory[share] for share in MEMORY_AT[1:])
    grown = [after - before for before, after in zip(middle, last, strict=True)]
    measured = ", ".join(f"{each:+.0f} MiB" for each in grown)
    return [
        Target("no reply is wrong", f"{wrong} of {sum(result.replies.values())}", wrong == 0),
        Target("one worker from the start to the end", f"{len(result.workers)}", len(result.workers) == 1),
        Target(f"second half: at most {MAX_GROWTH} MiB more, web and worker", measured, max(grown) <= MAX_GROWTH),
    ]
