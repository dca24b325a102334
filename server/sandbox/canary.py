"""The canary: a process that confines itself and then tries what is forbidden, so that what is missing can be said.

As a program (``python -m gradloupe.server.sandbox.canary``, with layers to leave out) it prints a ``Confinement``.
"""

import errno
import json
import mmap
import os
import platform
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass

from ..protocol.job import python_command
from ..protocol.listed import listed
from .layers import CannotConfine, confine

_MUCH = 2**36  # bytes, of address space alone
_PATIENCE = 30.0  # seconds


@dataclass(frozen=True)
class Confinement:
    """How well this system confines code: layers that are ``missing``, and what a confined process ``did``.

    ``refused`` is why there is no confinement at all; empty where there is.
    """

    missing: tuple[str, ...] = ()
    did: tuple[str, ...] = ()
    refused: str = ""

    def refusal(self, public: bool) -> str:
        """Why code is not run here, empty where it is: for strangers no layer may be missing but the namespaces.

        These take a privilege in a container, which is one itself.
        """
        if self.refused:
            return f"Code cannot be edited here: {self.refused}."
        if self.did:
            return f"Code cannot be edited here: in the sandbox of this system it could {listed(self.did)}."
        if public and (weak := sorted(set(self.missing) - {"namespaces"})):
            return f"Code cannot be edited here: its sandbox is not for strangers without {listed(weak)}."
        return ""

    @property
    def sentence(self) -> str:
        """What is missing where code is run all the same; empty where nothing is."""
        if not self.missing:
            return ""
        return f"Edited code runs in a sandbox without {listed(self.missing)}, which this system does not allow."


def examine(without: frozenset[str] = frozenset()) -> Confinement:
    """What the canary has found out, with layers ``without`` left out: a process of its own, which takes a second."""
    if sys.platform != "linux":
        return Confinement(refused=f"its sandbox needs Linux, and this is {platform.system()}; run the Docker image")
    try:
        command = python_command("sandbox.canary", *without)
        return parse_confinement(subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=False).stdout)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return parse_confinement(b"")


def parse_confinement(said: bytes) -> Confinement:
    """The confinement that the canary has printed."""
    try:
        plain = json.loads(said)
        return Confinement(tuple(plain["missing"]), tuple(plain["did"]), plain["refused"])
    except (ValueError, TypeError, KeyError):
        return Confinement(refused="the process that tries the sandbox has ended without a word")


def _tried(without: frozenset[str]) -> Confinement:
    """Confine this process, and try what is forbidden."""
    try:
        missing = confine(without=without)
    except CannotConfine as problem:
        return Confinement(refused=f"this system has no sandbox without {problem}")
    return Confinement(tuple(missing), tuple(name for name, attempt in _ATTEMPTS.items() if _succeeds(attempt)))


def _succeeds(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except (OSError, MemoryError, RuntimeError):
        return False
    return True


def _fork() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def _run_a_program() -> None:
    try:
        os.execve("/nowhere", ["nowhere"], {})  # noqa: S606 it is not there
    except OSError as problem:
        if problem.errno == errno.EPERM:
            raise


def _write_a_file() -> None:
    path = f"/tmp/gradloupe-canary-{os.getpid()}"  # noqa: S108
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    os.unlink(path)


# In the words that go on after "it could".
_ATTEMPTS: dict[str, Callable[[], object]] = {
    "read files": lambda: os.close(os.open("/etc/hostname", os.O_RDONLY)),
    "see which files there are": lambda: os.stat("/"),
    "write files": _write_a_file,
    "open sockets": lambda: socket.socket().close(),
    "start processes": _fork,
    "start threads": lambda: threading.Thread(target=bool).start(),
    "run programs": _run_a_program,
    "send signals": lambda: os.kill(os.getppid(), 0),
    "make machine code": lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC).close(),
    "take all memory": lambda: mmap.mmap(-1, _MUCH, flags=mmap.MAP_PRIVATE | 0x4000).close(),  # MAP_NORESERVE
}


if __name__ == "__main__":
    print(json.dumps(asdict(_tried(frozenset(sys.argv[1:])))))
