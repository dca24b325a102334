"""A client of a running server, which also knows what the server's processes have spent."""

from __future__ import annotations

import http.client
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from support.servers import children


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    etag: str
    body: bytes


class Client:
    """One kept connection, and the processes at its other end."""

    def __init__(self, url: str, pid: int) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
        self.pid = pid
        self._count = 0

    def get(self, address: str, headers: dict[str, str] | None = None) -> Reply:
        """The reply to one request; over a new connection where the server has ended one that was idle."""
        try:
            response = self._response(address, headers or {})
        except http.client.RemoteDisconnected:
            self._connection.close()
            response = self._response(address, headers or {})
        return Reply(response.status, response.headers.get("ETag", ""), response.read())

    def _response(self, address: str, headers: dict[str, str]) -> http.client.HTTPResponse:
        self._connection.request("GET", address, headers=headers)
        return self._connection.getresponse()

    def fresh(self, op: str, count: int, headers: dict[str, str] | None = None) -> Reply:
        """A section nobody has asked for yet."""
        self._count += 1
        return self.get(f"/ops/{op}.json?count={count}&grad_output={1 + self._count / 4096}", headers)

    def cpu_seconds(self) -> tuple[float, float]:
        """Seconds of CPU of the web process and of its workers, so far."""
        (forkserver,) = children(self.pid, "worker.forkserver")
        return _cpu(self.pid), sum(map(_cpu, children(forkserver)))

    def cost(self, ask: Callable[[], Reply], times: int, status: int = 200) -> tuple[float, float]:
        """Seconds of CPU of one request, of the web process and of its worker: the mean of ``times``."""
        if ask().status != status:
            raise RuntimeError(f"expected status {status}")
        web, worker = self.cpu_seconds()
        for _ in range(times):
            ask()
        web_after, worker_after = self.cpu_seconds()
        return (web_after - web) / times, (worker_after - worker) / times

    def close(self) -> None:
        """End the connection."""
        self._connection.close()


def _cpu(pid: int) -> float:
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9
