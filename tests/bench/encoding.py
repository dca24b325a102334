"""What it costs to send a section: our JSON against FastAPI's own, the bytes, the browser's share, and caches."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from statistics import median
from time import perf_counter

from browser_tab import chromium
from client import Client, Reply
from playwright.sync_api import Browser
from processes import announced_server, python_script
from report import Report, Table, Target
from support.servers import Server, serving

from gradloupe.ops import OPS
from gradloupe.server.catalogue.op_description import op_descriptions
from gradloupe.server.documents.json_document import compact_document, json_document, script_json
from gradloupe.server.protocol.frames import Frame
from gradloupe.server.url.address import default_address
from gradloupe.server.worker import answer

BATCH, ROUNDS, CALLS = 25, 6, 60
COUNT = 1000
NAMES = ("exp", "clipped_relu", "heaviside_sigmoid")
DECODE = """([text, calls]) => {
  const times = Array.from({ length: calls }, () => {
    const start = performance.now();
    for (let i = 0; i < 10; i++) JSON.parse(text);
    return (performance.now() - start) / 10;
  });
  return times.sort((a, b) => a - b)[calls >> 1];
}"""

Costs = dict[str, list[tuple[float, float]]]


@dataclass(frozen=True)
class Sent:
    """Bytes of a reply, microseconds to write it, and microseconds to read it in the browser."""

    bytes: int
    deflated: int
    encode: float
    decode: float


def measure() -> Report:
    """The tables of CPU and of bytes."""
    spent, bodies, repeated, targets = [], [], [], []
    with serving() as server, chromium() as browser:
        server.wait_until_ready()
        for op in NAMES:
            costs, plain, coded = _measured(op, server)
            spent.append(_costs(op, costs))
            repeated.append(_again(op, costs))
            found = _sent(op, browser)
            bodies += [_written(op, name, each) for name, each in found.items()]
            targets += _targets(op, costs, plain, coded, found)
    return Report([_cpu(spent), _caches(repeated), _bodies(bodies)], targets)


def _measured(op: str, server: Server) -> tuple[Costs, int, int]:
    """Seconds of CPU a request of the web process and of the worker; bytes of FastAPI's body and of ours, as sent."""
    with (
        announced_server(python_script("fastapi_server.py", op)) as (url, pid),
        closing(Client(server.url, server.process.pid)) as ours,
        closing(Client(url, pid)) as usual,
    ):
        browsers = {"Accept-Encoding": "gzip, deflate, br, zstd"}
        address = f"/ops/{op}.json?count={COUNT}"
        coded = ours.get(address, browsers)
        known = browsers | {"If-None-Match": coded.etag}
        ask: dict[str, tuple[Client, Callable[[], Reply], int]] = {
            "dict": (usual, lambda: usual.fresh(op, COUNT), 200),
            "declared": (usual, lambda: usual.fresh(f"declared/{op}", COUNT), 200),
            "ours": (ours, lambda: ours.fresh(op, COUNT), 200),
            "compressed": (ours, lambda: ours.fresh(op, COUNT, browsers), 200),
            "again": (ours, lambda: ours.get(address, browsers), 200),
            "304": (ours, lambda: ours.get(address, known), 304),
        }
        costs: Costs = {name: [] for name in ask}
        for _ in range(ROUNDS):
            for name, (client, call, status) in ask.items():
                costs[name].append(client.cost(call, BATCH, status))
        return costs, len(usual.fresh(op, COUNT).body), len(coded.body)


def _sent(op: str, browser: Browser) -> dict[str, Sent]:
    frame = _answer(op)
    address = f"/ops/{op}?count={COUNT}"
    page = browser.new_page()
    found = {}
    for name, write in (
        ("JSON", lambda: json_document(frame, address)),
        ("inside the page", lambda: script_json(compact_document(frame, address)).encode()),
    ):
        body = write()
        decode = 1e3 * page.evaluate(DECODE, [body.decode(), CALLS])
        found[name] = Sent(len(body), len(zlib.compress(body, 4)), 1e6 * _timed(write), decode)
    page.close()
    return found


def _answer(op: str) -> Frame:
    question = default_address(next(each for each in op_descriptions() if each["name"] == op)).question
    header, columns = answer.answer_question(replace(question, count=COUNT), OPS[question.op])
    return Frame(header, {name: memoryview(column) for name, column in columns.items()})


def _timed(call: Callable[[], object]) -> float:
    def once() -> float:
        start = perf_counter()
        call()
        return perf_counter() - start

    return median(once() for _ in range(CALLS))


def _web(costs: Costs, name: str) -> float:
    return 1e6 * median(web for web, _ in costs[name])


def _all(costs: Costs, name: str) -> float:
    return 1e6 * median(web + worker for web, worker in costs[name])


def _costs(op: str, costs: Costs) -> tuple[str, ...]:
    names = ("dict", "declared", "ours", "compressed")
    cells = [f"{_web(costs, name):.0f} / {_all(costs, name):.0f} µs" for name in names]
    web, both = (costs_of(costs, "dict") / costs_of(costs, "ours") for costs_of in (_web, _all))
    return op, *cells, f"**{web:.1f}** / {both:.1f}"


def _again(op: str, costs: Costs) -> tuple[str, ...]:
    whole = _all(costs, "compressed")
    return (
        op,
        f"{whole:.0f} µs",
        *(f"{_all(costs, each):.0f} µs ({_all(costs, each) / whole:.2f})" for each in REPEATED),
    )


REPEATED = ("again", "304")


def _written(op: str, name: str, sent: Sent) -> tuple[str, ...]:
    return (
        f"{op}, {name}",
        f"{sent.bytes / 1e3:.1f} kB",
        f"{sent.deflated / 1e3:.1f} kB",
        f"{sent.encode:.0f} µs",
        f"{sent.decode:.0f} µs",
    )


def _cpu(rows: list[tuple[str, ...]]) -> Table:
    headings = ("op", "FastAPI, a dict", "FastAPI, a declared one", "ours", "ours, compressed", "a dict / ours")
    note = (
        f"CPU time (schedstat) of one request nobody has asked before, {BATCH * ROUNDS} of each, in turns: of the web "
        "process alone, and with the worker that computes. Both have the same engine and worker and the same "
        f"{COUNT} points; FastAPI encodes the dict of lists that its route returns, faster if the type is declared."
    )
    return Table("Sending a section", headings, rows, note)


def _caches(rows: list[tuple[str, ...]]) -> Table:
    headings = ("op", "the first time", "the same again", "304")
    note = "CPU time of web process and worker, for a client that takes compressed replies; in brackets × the first."
    return Table("Asked again", headings, rows, note)


def _bodies(rows: list[tuple[str, ...]]) -> Table:
    headings = ("", "bytes", "gzip", "written in", "JSON.parse in Chromium")
    note = f"{COUNT} points. Medians of {CALLS}."
    return Table("The bytes of a section", headings, rows, note)


def _targets(op: str, costs: Costs, plain: int, coded: int, found: dict[str, Sent]) -> list[Target]:
    less = _web(costs, "dict") / _web(costs, "ours")
    fewer = plain / coded
    again, unchanged = (_all(costs, each) / _all(costs, "compressed") for each in REPEATED)
    sent = found["JSON"]
    return [
        Target(f"{op}: web process, 5 × less CPU than FastAPI's JSON", f"{less:.1f} ×", less >= 5),
        Target(f"{op}: 4 × fewer bytes, to a browser", f"{fewer:.1f} ×", fewer >= 4),
        Target(f"{op}: written in 10 µs", f"{sent.encode:.0f} µs", sent.encode <= 10),
        Target(f"{op}: read in 50 µs", f"{sent.decode:.0f} µs", sent.decode <= 50),
        Target(f"{op}: again, at most 0.4 × the CPU of the first time", f"{again:.2f}", again <= 0.4),
        Target(f"{op}: 304, at most 0.4 ×", f"{unchanged:.2f}", unchanged <= 0.4),
    ]
