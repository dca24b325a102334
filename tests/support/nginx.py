import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PATHS = f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


@contextmanager
def nginx_running(folder: Path, config: str, port: int) -> Iterator[None]:
    """nginx with this configuration, written into ``folder``, from when it listens; it ends without a complaint."""
    nginx = shutil.which("nginx", path=PATHS)
    assert nginx, "nginx is not installed: sh tests/install_nginx.sh"
    (folder / "nginx.conf").write_text(config)
    ours = "user root; " if os.getuid() == 0 else ""  # whoever else it would be cannot enter the folder
    command = [nginx, "-p", folder, "-c", folder / "nginx.conf", "-g", f"{ours}daemon off;"]
    log = folder / "nginx.log"  # a pipe that nobody reads would stop it once it is full
    with log.open("w") as complaints, subprocess.Popen(command, stderr=complaints) as process:
        try:
            _until_it_listens(process, port)
            yield
        finally:
            process.terminate()  # not gracefully: a browser may hold a connection that asks for nothing
            try:
                process.wait(60)
            finally:
                process.kill()
    said = log.read_text()
    assert (process.returncode, "emerg" in said) == (0, False), said


def _until_it_listens(process: subprocess.Popen[bytes], port: int) -> None:
    while process.poll() is None:
        with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port), 20):
            return
