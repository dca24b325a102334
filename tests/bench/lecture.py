"""How many servers a lecture takes: costs of requests are measured, and a trace of viewers is run against them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush, heapreplace
from statistics import quantiles

from client import Client
from report import Report, Table
from support.servers import serving

VIEWERS = (10, 100, 1000, 100_000)
OPS = ("clamp_with_grad", "exp", "kill_head", "softmax")
TIMES = 20  # sample: requests of each kind whose CPU time is measured
WORKERS = 2  # of each server, which has as many processors
NGINX = 1e-4  # seconds of CPU of nginx for an answer that it has
SLOW = 1.0  # seconds within which 95 of 100 answers are to come
MOST = 4096  # servers
CROWD = 10_000  # viewers that are simulated
# The trace, of one page: everybody opens it when it is named, and then drags.
OPENING = 15.0  # seconds, the mean time until somebody has opened it
READING = 12.0  # seconds, the mean time before each drag
DRAGS, STEPS, PACE = 3, 10, 0.2  # a drag asks for so many places, no faster than so many seconds each
SLIDERS, PLACES = 3, 101
CURIOUS = 0.2  # share of viewers who have changed something else before, so that nobody asks what they ask


@dataclass(frozen=True)
class Costs:
    """Seconds of CPU of the web process and of a worker, for a page and for a redraw that nobody has asked for yet."""

    page: tuple[float, float]
    redraw: tuple[float, float]
    kept: float  # of the web process, for an answer that it has


def measured() -> Costs:
    """The means of some ops. They are CPU times, which other processes do not change."""
    with serving("--workers", "1") as server, closing(Client(server.url, server.process.pid)) as client:
        server.wait_until_ready()
        asked = iter(range(1, 10**9))

        def mean(ending: str) -> tuple[float, float]:
            found = [
                client.cost(lambda op=op: client.get(f"/ops/{op}{ending}?grad_output={1 + next(asked) / 4096}"), TIMES)
                for op in OPS
            ]
            web, worker = (sum(each) / len(found) for each in zip(*found, strict=True))
            return web, worker

        kept, _ = client.cost(lambda: client.get(f"/ops/{OPS[0]}"), 10 * TIMES)
        return Costs(mean(""), mean(".page.json"), kept)


@dataclass
class Servers:
    """So many servers, each a web process and its workers; what they have answered is kept, by nginx or themselves."""

    costs: Costs
    count: int
    nginx: bool
    cpu: float = 0.0
    new: int = 0
    _web: list[float] = field(default_factory=list)  # when each is free
    _workers: list[list[float]] = field(default_factory=list)
    _answered: dict[object, float] = field(default_factory=dict)  # when each address is, or was

    def __post_init__(self) -> None:
        self._web = [0.0] * self.count
        self._workers = [[0.0] * WORKERS for _ in range(self.count)]

    def answer(self, address: object, now: float, is_page: bool) -> float:
        """When the answer is there; what is under way is asked once."""
        place = hash(address) % self.count
        if address in self._answered:
            if self.nginx:
                return max(now, self._answered[address]) + NGINX
            return max(self._web_done(place, now, self.costs.kept), self._answered[address])
        web, worker = self.costs.page if is_page else self.costs.redraw
        started = max(self._web_done(place, now, web), self._workers[place][0])
        heapreplace(self._workers[place], started + worker)
        self.cpu += worker
        self.new += 1
        self._answered[address] = started + worker
        return started + worker

    def _web_done(self, place: int, now: float, seconds: float) -> float:
        self._web[place] = max(now, self._web[place]) + seconds
        self.cpu += seconds
        return self._web[place]


@dataclass
class Seen:
    """What viewers waited for a page and for a redraw, in seconds, and what that has cost."""

    pages: list[float] = field(default_factory=list)
    redraws: list[float] = field(default_factory=list)
    cpu: float = 0.0
    new: int = 0

    @property
    def worst(self) -> tuple[float, float]:
        """The time within which 95 of 100 have a page, and a redraw."""
        pages, redraws = (quantiles(each, n=20)[-1] for each in (self.pages, self.redraws))
        return pages, redraws


def lecture(viewers: int, servers: Servers) -> Seen:
    """All of them open one page, and each asks for the next step of a drag when the last is there."""
    chance, seen = random.Random(viewers), Seen()
    waiting = [(chance.expovariate(1 / OPENING), viewer, 0) for viewer in range(viewers)]
    heapify(waiting)
    steps = [list(_steps(viewer, chance)) for viewer in range(viewers)]
    while waiting:
        now, viewer, step = heappop(waiting)
        address = "page" if step == 0 else steps[viewer][step - 1]
        done = servers.answer(address, now, is_page=step == 0)
        (seen.redraws if step else seen.pages).append(done - now)
        if step < DRAGS * STEPS:
            pause = chance.expovariate(1 / READING) if step % STEPS == 0 else 0.0
            heappush(waiting, (max(done, now + PACE) + pause, viewer, step + 1))
    seen.cpu, seen.new = servers.cpu, servers.new
    return seen


def _steps(viewer: int, chance: random.Random) -> Iterator[tuple[int, int, int]]:
    """The addresses that one asks for: a slider, its place, and whatever is unlike anybody else's."""
    own = viewer if chance.random() < CURIOUS else -1
    for _ in range(DRAGS):
        slider, place = chance.randrange(SLIDERS), chance.randrange(PLACES)
        way = chance.choice((-1, 1))
        for step in range(STEPS):
            yield slider, (place + way * step) % PLACES, own


def fewest(costs: Costs, viewers: int) -> tuple[int, Seen]:
    """How many servers behind nginx it takes for nobody to wait long, and what viewers then see."""
    count = 1
    while True:
        seen = lecture(viewers, Servers(costs, count, nginx=True))
        if max(seen.worst) <= SLOW or count >= MOST:
            return count, seen
        count *= 2


def measure() -> Report:
    """The table of lectures, on the costs of this machine."""
    costs = measured()
    rows = [_row(costs, viewers) for viewers in VIEWERS]
    headings = (
        "viewers",
        "requests",
        "of them new",
        "CPU for each viewer",
        "one server of two cores: page, redraw",
        "servers behind nginx",
        "page, redraw",
    )
    page, redraw = (" + ".join(f"{1e3 * each:.1f}" for each in cost) for cost in (costs.page, costs.redraw))
    note = (
        f"Measured, CPU of web process + worker: a new page {page} ms, a new redraw {redraw} ms, one that is kept "
        f"{1e3 * costs.kept:.2f} ms. Simulated: all open one page, {OPENING:g} s on average after it is named, and "
        f"drag {DRAGS} times through {STEPS} places; {CURIOUS:.0%} have changed something before, so that nobody else "
        f"asks what they ask. Times are those within which 95 of 100 come, without network; servers are the fewest, "
        f"doubled, with which these are below {SLOW:g} s, each with two cores. More than {CROWD:,} viewers are crowds "
        "of so many, with servers of their own."
    )
    return Report([Table("A lecture", headings, rows, note)])


def _row(costs: Costs, viewers: int) -> tuple[str, ...]:
    crowd = min(viewers, CROWD)
    alone, (count, behind) = lecture(crowd, Servers(costs, 1, nginx=False)), fewest(costs, crowd)
    requests = 1 + DRAGS * STEPS
    return (
        f"{viewers:,}",
        f"{viewers * requests:,}",
        f"{behind.new / (crowd * requests):.0%}",
        f"{1e3 * behind.cpu / crowd:.0f} ms",
        _times(alone.worst),
        f"{count * viewers // crowd}",
        _times(behind.worst),
    )


def _times(worst: Sequence[float]) -> str:
    return ", ".join(f"{each:.2f} s" if each < 10 else f"{each:.0f} s" for each in worst)


if __name__ == "__main__":
    print(measure().tables[0].markdown())
