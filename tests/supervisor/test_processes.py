"""The processes of a server: what a folder and a terminal do not do to them, and that none is left behind."""

import os
import signal
from contextlib import ExitStack
from pathlib import Path
from select import select

import pytest
from functions.misbehaving_op import OWN
from support.raw_http import connected, send
from support.servers import Server, serving, to_the_last, witnessed


def test_a_folder_of_strangers_what_a_function_prints_and_a_signal_for_the_terminal_disturb_nothing(
    tmp_path: Path,
) -> None:
    for name in ("torch", "numpy", "ops", "server"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a stranger')\n")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "my_ops.py").write_text(OWN)
    with (tmp_path / "log").open("w") as log, serving("mine/my_ops.py", cwd=tmp_path, log=log) as server:
        server.wait_until_ready()
        assert server.get("/ops/Misbehaving.json?deed=print").json()["verdict"]["word"] == "matches"
        for process in (server.forkserver(), *server.workers()):
            assert os.getsid(process) == process
        os.kill(server.workers()[0], signal.SIGINT)
        assert server.get("/ops/exp.json").json()["verdict"]["word"] == "matches"
    assert "{}" not in (tmp_path / "log").read_text()


ENDS = [(signal.SIGTERM, "drawing"), (signal.SIGKILL, "computing")]
RARE = [(last, doing) for last in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL) for doing in ("loading", "drawing")]


@pytest.mark.parametrize(
    ("last", "doing"),
    [*ENDS, *(pytest.param(*each, marks=pytest.mark.nightly) for each in RARE if each not in ENDS)],
)
def test_a_server_that_ends_leaves_no_process_behind(tmp_path: Path, last: signal.Signals, doing: str) -> None:
    (tmp_path / "my_ops.py").write_text(OWN)
    with witnessed() as (witness, log), serving("my_ops.py", cwd=tmp_path, log=log) as server, ExitStack() as stack:
        log.close()
        if doing != "loading":
            server.wait_until_ready()
            {"drawing": draws, "computing": computes}[doing](server, tmp_path, stack)
        server.process.send_signal(last)
        server.process.wait(60)
        to_the_last(witness)


def draws(server: Server, folder: Path, stack: ExitStack) -> None:
    """From now on a picture is under way that takes long."""
    assert server.get("/ops/exp.png").status_code == 200
    send(stack.enter_context(connected(server)), "/ops/exp.png?width=2400&height=2400")
    assert server.get("/healthz").status_code == 200  # it was sent later


def computes(server: Server, folder: Path, stack: ExitStack) -> None:
    """From now on a Function hangs; it opens a file before, which, as a pipe, is heard here."""
    os.mkfifo(folder / "hanging")
    heard = os.open(folder / "hanging", os.O_RDONLY | os.O_NONBLOCK)
    send(stack.enter_context(connected(server)), "/ops/Misbehaving.json?deed=hang")
    assert select([heard], [], [], 60)[0]
    os.close(heard)
