"""What one request costs the server, in CPU time of all its processes, against the computation it cannot avoid."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from statistics import median

from client import Client
from processes import announced_server, python_script
from report import Report, Table, Target
from support.servers import serving

from gradloupe.ops import OPS
from gradloupe.server.catalogue.op_description import op_descriptions
from gradloupe.server.url.address import default_address
from gradloupe.server.worker import answer

BATCH, ROUNDS = 25, 8
COUNT = 1000
NAMES = ("exp", "clipped_relu")


def measure() -> Report:
    """The table of CPU per request."""
    rows, targets = [], []
    with serving() as full:
        full.wait_until_ready()
        for op in NAMES:
            with (
                announced_server(python_script("asgi_server.py", op)) as (url, pid),
                closing(Client(full.url, full.process.pid)) as ours,
                closing(Client(url, pid)) as least,
            ):
                row, found = _compared(op, ours, least)
            rows.append(row)
            targets += found
    headings = (
        "op",
        "computation alone",
        "× it: bare ASGI endpoint",
        "**ours**",
        "of which web process",
        "ours, gzip asked for",
        "ours, 304",
    )
    note = (
        f"CPU time (schedstat, all threads of web process and worker) of `/ops/{{name}}.json?count={COUNT}`, "
        f"{BATCH * ROUNDS} requests each with another `grad_output`, in turns. Times the CPU time of the same "
        "questions asked in process. The bare endpoint has the same engine, worker and JSON, and nothing else."
    )
    return Report([Table("One request", headings, rows, note)], targets)


def _compared(op: str, full: Client, bare: Client) -> tuple[tuple[str, ...], list[Target]]:
    tag = full.get(f"/ops/{op}.json?count={COUNT}").etag
    known = {"If-None-Match": tag}
    batches: dict[str, Callable[[], tuple[float, float]]] = {
        "alone": lambda: (0.0, _computation(op)),
        "bare": lambda: bare.cost(lambda: bare.fresh(op, COUNT), BATCH),
        "full": lambda: full.cost(lambda: full.fresh(op, COUNT), BATCH),
        "gzip": lambda: full.cost(lambda: full.fresh(op, COUNT, {"Accept-Encoding": "gzip"}), BATCH),
        "304": lambda: full.cost(lambda: full.get(f"/ops/{op}.json?count={COUNT}", known), BATCH, 304),
    }
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in batches}
    for _ in range(ROUNDS):
        for name, batch in batches.items():
            spent[name].append(batch())
    total = {name: median(sum(each) for each in found) for name, found in spent.items()}
    web = median(web for web, _ in spent["full"])
    alone = total["alone"]
    over = 1e6 * (total["full"] - alone)
    to_bare = total["full"] / total["bare"]
    row = (
        op,
        f"{1e6 * alone:.0f} µs",
        f"{total['bare'] / alone:.2f}",
        f"**{total['full'] / alone:.2f}** ({1e6 * total['full']:.0f} µs)",
        f"{1e6 * web:.0f} µs",
        f"{total['gzip'] / alone:.2f}",
        f"{total['304'] / alone:.2f}",
    )
    return row, [
        Target(f"{op}: at most 150 µs over the computation", f"{over:.0f} µs", over <= 150),
        Target(f"{op}: at most 1.5 × a bare ASGI endpoint", f"{to_bare:.2f}", to_bare <= 1.5),
    ]


def _computation(op: str) -> float:
    """Seconds of CPU of one answer in this process."""
    question = default_address(next(each for each in op_descriptions() if each["name"] == op)).question
    questions = [replace(question, count=COUNT, grad_output=1 + n / 4096) for n in range(BATCH)]
    answer.answer_question(questions[0], OPS[questions[0].op])
    start = time.process_time()
    for each in questions:
        answer.answer_question(each, OPS[each.op])
    return (time.process_time() - start) / BATCH
