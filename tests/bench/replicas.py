"""Servers behind nginx as it is shipped: killed in turn, then followed by another build, under load.

Alone it tries processes of this machine. With ``CONTAINER …`` it tries containers that run already, killed and started
by ``$PODMAN``; those after ``--next`` are of the next build.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from math import exp, isclose
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx2
from load import CLIENT_LIMIT
from processes import free_port
from report import Report, Table, Target
from support.nginx import nginx_running
from support.servers import HERE, copy_of_the_package

CLIENTS, KILLS, PAUSE = 8, 10, 1.0
OPTIONS = ("--public", "--requests-per-peer", "0", "--forwarded-allow-ips", "127.0.0.1")
LATER = 30.0  # seconds for which a client asks again when it is told to


@dataclass(frozen=True)
class Replica:
    """One server: where it listens, and how it is killed, ended and started."""

    place: Callable[[], str]
    kill: Callable[[], None]
    end: Callable[[], None]
    start: Callable[[], None]

    def wait(self) -> None:
        """Return when it is ready, as a probe finds out."""
        while True:
            try:
                if httpx2.get(f"http://{self.place()}/healthz?ready=1", timeout=5).status_code == 200:
                    return
            except httpx2.HTTPError:
                pass
            time.sleep(0.1)


@dataclass
class Crowd:
    """Clients that ask for new sections, and for pages with all their files, until they are stopped."""

    url: str
    right: int = 0
    asked_again: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    builds: Counter[str] = field(default_factory=Counter)  # of pages, by the digest of their files
    stop: bool = False
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def client(self) -> None:
        """One of them."""
        with httpx2.Client(timeout=60) as browser:
            while not self.stop:
                number = next(self.numbers)
                fault = self._page(browser, number) if number % 5 == 0 else self._section(browser, number)
                if fault:
                    self.faults[fault] += 1
                else:
                    self.right += 1

    def _get(self, browser: httpx2.Client, address: str) -> httpx2.Response | str:
        until, kept = time.monotonic() + LATER, True
        while True:
            try:
                reply = browser.get(self.url + address)
            except httpx2.RemoteProtocolError as problem:
                # A kept connection was ended meanwhile: a browser asks again by a new one.
                if not (kept and "without sending a response" in str(problem)):
                    return f"{type(problem).__name__}: {problem}"
                kept = False
                continue
            except httpx2.HTTPError as problem:
                return f"{type(problem).__name__}: {problem}"
            if reply.status_code != 503 or "retry-after" not in reply.headers or time.monotonic() > until:
                return reply
            self.asked_again += 1
            time.sleep(float(reply.headers["retry-after"]))

    def _section(self, browser: httpx2.Client, number: int) -> str:
        grad_output = 1 + number / 2**20
        reply = self._get(browser, f"/ops/exp.json?count=101&grad_output={grad_output!r}")
        if isinstance(reply, str) or reply.status_code != 200:
            return f"section: {reply if isinstance(reply, str) else reply.status_code}"
        columns = reply.json()["columns"]
        rows = zip(columns["x"], columns["forward"], columns["analytical"], strict=True)
        right = all(isclose(y, exp(x), rel_tol=1e-9) and isclose(g, grad_output * y, rel_tol=1e-9) for x, y, g in rows)
        return "" if right and len(columns["x"]) >= 101 else "other numbers"

    def _page(self, browser: httpx2.Client, number: int) -> str:
        page = self._get(browser, f"/ops/square?grad_output={1 + number / 2**20!r}")
        if isinstance(page, str) or page.status_code != 200:
            return f"page: {page if isinstance(page, str) else page.status_code}"
        files = set(re.findall(r'"(/static/[^"]+\.(?:css|js))"', page.text))
        digests = {each.split("/")[2] for each in files}
        if len(digests) != 1:
            return f"a page with the files of {len(digests)} builds"
        self.builds[digests.pop()] += 1
        for each in files:
            reply = self._get(browser, each)
            if isinstance(reply, str) or reply.status_code != 200:
                return f"file: {reply if isinstance(reply, str) else reply.status_code}"
        return ""


@contextmanager
def crowd_at(url: str) -> Iterator[Crowd]:
    """A crowd that asks meanwhile."""
    crowd = Crowd(url)
    clients = [threading.Thread(target=crowd.client) for _ in range(CLIENTS)]
    for each in clients:
        each.start()
    try:
        yield crowd
    finally:
        crowd.stop = True
        for each in clients:
            each.join()


@dataclass(frozen=True)
class Front:
    """nginx as it is shipped, without its bounds for one client, and with the places of the servers in it."""

    folder: Path
    port: int
    inner: int = field(default_factory=free_port)

    @classmethod
    @contextmanager
    def at(cls, folder: Path, replicas: list[Replica]) -> Iterator[Front]:
        """One that asks these servers."""
        front = cls(folder, free_port())
        with nginx_running(folder, front.configuration(replicas), front.port):
            yield front

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def configuration(self, replicas: list[Replica]) -> str:
        """The shipped file, as a resolver would fill it."""
        servers = " ".join(f"server {each.place()} max_fails=0;" for each in replicas)
        text = re.sub(r"server \w+:8000 resolve max_fails=0;", servers, (HERE / "deploy/nginx/nginx.conf").read_text())
        text = text.replace("8081", str(self.inner)).replace("listen 8080", f"listen 127.0.0.1:{self.port}")
        text = text.replace("/tmp/", f"{self.folder}/").replace("/var/cache/nginx", str(self.folder))  # noqa: S108
        return CLIENT_LIMIT.sub("", text)

    def ask(self, replicas: list[Replica]) -> None:
        """Ask these from now on; what is under way is finished."""
        (self.folder / "nginx.conf").write_text(self.configuration(replicas))
        os.kill(int((self.folder / "nginx.pid").read_text()), signal.SIGHUP)


def tried(replicas: list[Replica], following: list[Replica]) -> tuple[Table, int]:
    """What the crowd met, and how much of it was lost, wrong or mixed."""
    rows = []
    with TemporaryDirectory() as folder, ExitStack() as stack:
        for each in replicas:
            each.wait()
        front = stack.enter_context(Front.at(Path(folder), replicas))
        with crowd_at(front.url) as killed:
            for number in range(KILLS):
                time.sleep(PAUSE)
                replica = replicas[number % len(replicas)]
                replica.kill()
                time.sleep(PAUSE)
                replica.start()
                replica.wait()
                front.ask(replicas)  # a pod that was made again has another address
        rows.append(_row(f"{KILLS} killed in turn", killed))
        asked = replicas
        with crowd_at(front.url) as rolled:
            for old, new in zip(replicas, following, strict=True):
                new.start()
                new.wait()
                front.ask(asked := [each for each in asked if each is not old] + [new])
                time.sleep(3 * PAUSE)
                old.end()
                time.sleep(PAUSE)
        rows.append(_row("another build, one by one", rolled))
    lost = killed.faults.total() + rolled.faults.total()
    headings = ("what happened", "answers", "told to ask again", "lost, wrong or mixed", "pages of each build")
    note = (
        f"{len(replicas)} servers behind nginx as it is shipped, {CLIENTS} clients that check every number of each "
        "section and ask for every file of each page."
    )
    return Table("Servers that come and go", headings, rows, note), lost


def _row(name: str, crowd: Crowd) -> tuple[str, ...]:
    faults = ", ".join(f"{number} × {fault}" for fault, number in crowd.faults.items()) or "0"
    return name, f"{crowd.right}", f"{crowd.asked_again}", faults, ", ".join(map(str, crowd.builds.values()))


def process_replica(path: str = "") -> Replica:
    """A server of its own process; ``path`` is where Python finds another copy of the package first."""
    port, running = free_port(), list[subprocess.Popen[bytes]]()
    command = [sys.executable, "-m", "gradloupe", "--port", str(port), *OPTIONS, "--workers", "1"]

    def start() -> None:
        environment = os.environ | {"PYTHONPATH": path}
        running.append(subprocess.Popen(command, cwd=path or HERE, env=environment, stdout=subprocess.DEVNULL))

    def ended_by(sign: signal.Signals) -> Callable[[], None]:
        return lambda: (running[-1].send_signal(sign), running.pop().wait())[-1] and None

    return Replica(lambda: f"127.0.0.1:{port}", ended_by(signal.SIGKILL), ended_by(signal.SIGTERM), start)


def container_replica(name: str) -> Replica:
    """A server in a container that was made by ``podman kube play``, and runs already.

    Its pod, and the network of that, ends with it unless another container stays, as a pod of Kubernetes does.
    """
    podman = shlex.split(os.environ["PODMAN"])

    def said(*words: str) -> str:
        return subprocess.run([*podman, *words, name], check=True, capture_output=True, text=True).stdout.strip()

    def place() -> str:
        pid = said("inspect", "--format", "{{.State.Pid}}")
        addresses = subprocess.run(
            ["nsenter", "-t", pid, "-n", "ip", "-4", "-o", "addr"], capture_output=True, text=True
        )
        return re.findall(r"inet ((?!127)[\d.]+)", addresses.stdout)[0] + ":8000"

    def told(*words: str) -> Callable[[], None]:
        return lambda: said(*words) and None

    return Replica(place, told("kill", "--signal", "KILL"), told("stop", "--time", "10"), told("start"))


def measure() -> Report:
    """Two processes, and two of another build."""
    with TemporaryDirectory() as folder:
        style = copy_of_the_package(Path(folder)) / "static" / "css" / "base.css"
        style.write_text(style.read_text() + "\n.another-build { color: red }\n")
        replicas, following = ([process_replica(path) for _ in range(2)] for path in ("", folder))
        for each in replicas:
            each.start()
        table, lost = tried(replicas, following)
        for each in following:
            each.end()
    return Report([table], [Target("no answer lost, wrong or mixed", str(lost), lost == 0)])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        old, _, new = " ".join(sys.argv[1:]).partition("--next")
        pods = [[container_replica(each) for each in those.split()] for those in (old, new)]
        print(tried(*pods)[0].markdown())
    else:
        print(measure().tables[0].markdown())
