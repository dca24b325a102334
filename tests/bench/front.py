"""nginx as it is shipped, in front of two servers; only its bounds for one client are lifted, for all are one here."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.error import URLError
from urllib.request import urlopen

from house import free_port
from support.servers import HERE, Server, serving

BEHIND = ("--public", "--requests-per-peer", "0", "--forwarded-allow-ips", "127.0.0.1")
PATHS = f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin"
SERVERS = 2
BOUND = re.compile(r"^\s*limit_(req|conn)\b.*;.*$", re.MULTILINE)


@contextmanager
def front() -> Iterator[tuple[str, list[Server]] | None]:
    """Where nginx listens, and the servers behind it; None where it is not installed."""
    nginx = shutil.which("nginx", path=PATHS)
    if nginx is None:
        yield None
        return
    with ExitStack() as stack:
        behind = [stack.enter_context(serving(*BEHIND)) for _ in range(SERVERS)]
        for server in behind:
            server.wait_until_ready()
        folder, port = Path(stack.enter_context(TemporaryDirectory())), free_port()
        written = folder / "nginx.conf"
        written.write_text(_configured(folder, port, behind))
        ours = "user root; " if os.getuid() == 0 else ""
        command = [nginx, "-p", folder, "-c", written, "-g", f"{ours}daemon off;"]
        process = stack.enter_context(subprocess.Popen(command, stderr=subprocess.DEVNULL))
        try:
            url = f"http://127.0.0.1:{port}"
            _wait(process, url)
            yield url, behind
        finally:
            process.send_signal(signal.SIGQUIT)
            process.wait(20)


def _configured(folder: Path, port: int, behind: list[Server]) -> str:
    text = (HERE / "nginx.conf").read_text()
    servers = " ".join(f"server {server.url.removeprefix('http://')} max_fails=0;" for server in behind)
    text = text.replace("server replica:8000 max_fails=0;", servers).replace("listen 8080", f"listen 127.0.0.1:{port}")
    return BOUND.sub("", text.replace("/tmp/", f"{folder}/").replace("/var/cache/nginx", str(folder)))  # noqa: S108


def _wait(process: subprocess.Popen[bytes], url: str) -> None:
    while process.poll() is None:
        try:
            urlopen(f"{url}/healthz", timeout=20).close()  # noqa: S310 - our own address
        except (URLError, ConnectionError):
            time.sleep(0.01)
        else:
            return
    raise RuntimeError(f"nginx ended with {process.returncode}")
