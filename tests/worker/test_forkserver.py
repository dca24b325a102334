"""Workers are copies of a process that has torch already: made in no time, and each for itself."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from psutil import STATUS_ZOMBIE, NoSuchProcess, Process, wait_procs
from support import event_loop
from support.engines import engine_of, kill_forkservers, question_of
from support.servers import children, serving
from support.waiting import until

from gradloupe.server.protocol.errors import EngineBroken
from gradloupe.server.protocol.job import Job
from gradloupe.server.supervisor import worker_process
from gradloupe.server.supervisor.worker_process import WorkerProcess

TELLING = '''
import os, sys
import torch


class Telling(torch.autograd.Function):
    """Says in its message where it is.

    Gradloupe: x: float64[]
    """

    @staticmethod
    def forward(ctx, x):
        if x.abs().max() > 50:
            raise ValueError(f"{os.getcwd()} {os.environ.get('TOLD')} {torch.get_num_threads()}")
        return x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output
'''


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    return event_loop.run(asyncio.wait_for(coroutine, 240))


async def seconds(*targets: Path) -> float:
    """How long a worker has computed when it greets, whatever else this machine does."""
    async with engine_of(*targets) as engine:
        await engine.wait_ready()
        times = Process(engine.worker).cpu_times()
        return float(times.user + times.system)


def wait_for_the_end(pid: int) -> None:
    """Return when there is no such process any more; raises ``TimeoutExpired`` when it stays."""
    with suppress(NoSuchProcess):
        Process(pid).wait(60)


def test_the_process_that_is_copied_has_one_thread_and_has_touched_no_device() -> None:
    program = (
        "from gradloupe.server.worker import forkserver\n"
        "forkserver.import_modules(*forkserver.MODULES, *forkserver.DEFERRED_MODULES)\n"
        "import os, sys, torch\n"
        "loaded = 'gradloupe.server.worker.main' in sys.modules\n"
        "print(len(os.listdir('/proc/self/task')), torch.cuda.is_initialized(), loaded)"
    )
    environment = os.environ | worker_process.ONE_THREAD
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert ran.stdout.split() == ["1", "False", "True"]


def test_a_copy_greets_after_a_quarter_of_the_work_of_a_process_that_loads_torch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run(seconds())  # the first has to load it
    copied = min(run(seconds()) for _ in range(3))
    monkeypatch.setattr(worker_process, "CAN_FORK", False)
    assert copied < run(seconds()) / 4


def test_all_workers_come_from_one_process_and_leave_nothing_in_it(tmp_path: Path) -> None:
    (tmp_path / "my_ops.py").write_text(TELLING)

    async def forkservers() -> list[int]:
        async with engine_of() as gallery, engine_of(tmp_path / "my_ops.py") as own:
            await gallery.wait_ready()
            await own.wait_ready()
            parents = {Process(each.worker).ppid() for each in (gallery, own)}
            assert gallery.worker != own.worker
        return list(parents)

    others = {worker for forkserver in children(os.getpid(), "worker.forkserver") for worker in children(forkserver)}
    (forkserver,) = run(forkservers())
    left = [each for each in Process(forkserver).children() if each.pid not in others]
    assert wait_procs(left, timeout=60)[1] == []
    assert [each for each in Process(forkserver).children() if each.status() == STATUS_ZOMBIE] == []


def test_a_worker_lives_where_the_server_is_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_ops.py").write_text(TELLING)

    async def message() -> str:
        async with engine_of(tmp_path / "my_ops.py") as engine:
            question = await question_of(engine, "Telling", start=-60.0, stop=60.0)
            said: str = (await engine.answer(question)).header["failure"]["message"]
            return said

    for folder, told in ((tmp_path, "this"), (tmp_path.parent, "that")):
        monkeypatch.chdir(folder)
        monkeypatch.setenv("TOLD", told)
        assert run(message()) == f"{folder} {told} 1"


def test_where_python_itself_is_told_something_else_another_process_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    async def parent() -> int:
        async with engine_of() as engine:
            await engine.wait_ready()
            return Process(engine.worker).ppid()

    monkeypatch.setenv("PYTHONWARNINGS", "ignore::FutureWarning")  # so that nobody else has workers of it
    first = run(parent())
    assert run(parent()) == first
    monkeypatch.setenv("PYTHONWARNINGS", "ignore")
    second = run(parent())
    assert second != first
    wait_for_the_end(first)
    assert first not in children(os.getpid(), "worker.forkserver")


def test_a_worker_that_is_closed_before_torch_is_there_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONWARNINGS", "ignore::UserWarning")  # so that it is a fresh one
    before = set(children(os.getpid(), "worker.forkserver"))
    worker = WorkerProcess(Job())
    (forkserver,) = until(lambda: set(children(os.getpid(), "worker.forkserver")) - before)
    assert worker.pid == 0
    worker.kill()
    assert worker.reap() == "signal 9, SIGKILL"
    wait_for_the_end(forkserver)


def test_whoever_waits_for_the_process_that_was_killed_gets_a_worker_all_the_same() -> None:
    async def ready() -> bool:
        async with engine_of() as engine:
            kill_forkservers()
            await engine.wait_ready()
            return engine.ready

    kill_forkservers()
    assert run(ready())


def test_a_process_that_was_stopped_goes_on_as_soon_as_it_owes_news(tmp_path: Path) -> None:
    """Here by a Function, which waits then; it might be a debugger."""
    file = tmp_path / "my_ops.py"
    stops = "time.sleep(os.kill(os.getppid(), signal.SIGSTOP) or 60)"
    text = TELLING.replace("x.abs().max() > 50", "59 < x.abs().max() < 61").replace("raise ValueError", f"{stops}, str")
    file.write_text(f"import signal, time\n{text}")

    async def words() -> list[str]:
        async with engine_of(file, deadline=5.0) as engine:
            await engine.wait_ready()
            forkservers = children(os.getpid(), "worker.forkserver")
            lost = await engine.answer(await question_of(engine, "Telling", start=-60.0, stop=60.0))
            answered = await engine.answer(await question_of(engine, "Telling"))
            assert children(os.getpid(), "worker.forkserver") == forkservers
            return [lost.header["failure"]["kind"], answered.header["verdict"]["word"]]

    assert run(words()) == ["Timeout", "matches"]


def test_where_the_folder_of_the_server_is_replaced_its_workers_are_in_the_new_one(tmp_path: Path) -> None:
    """As after ``rm -r`` and another ``git clone``, with a target that was named from there."""
    folder = tmp_path / "mine"

    def clone(name: str) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "my_ops.py").write_text(TELLING.replace("Telling", name))

    clone("First")
    with serving("my_ops.py", cwd=folder) as server:
        assert server.get("/own?wait=1").headers["location"] == "/ops/First"
        clone("Second")
        assert until(lambda: server.get("/own").headers.get("location") == "/ops/Second")
        assert server.get("/ops/Second.json").json()["verdict"]["word"] == "matches"


def test_no_copy_is_made_of_a_strangers_modules(tmp_path: Path) -> None:
    for name in ("torch", "numpy", "ops", "server"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a stranger')\n")
    with serving(cwd=tmp_path) as server:
        server.wait_until_ready()


def test_a_signal_for_the_terminal_does_not_reach_the_workers() -> None:
    with serving() as server:
        server.wait_until_ready()
        worker = server.worker()
        assert os.getsid(worker) == worker
        assert os.getsid(server.forkserver()) == server.forkserver()
        os.kill(worker, signal.SIGINT)
        assert server.get("/ops/exp.json").json()["verdict"]["word"] == "matches"


def test_a_file_that_ends_its_process_while_it_loads_is_tried_once(tmp_path: Path) -> None:
    (tmp_path / "my_ops.py").write_text(f"open({str(tmp_path / 'tries')!r}, 'a').write('.')\nimport os\nos._exit(1)\n")

    async def broken() -> None:
        async with engine_of(tmp_path / "my_ops.py") as engine:
            with pytest.raises(EngineBroken, match="called exit with code 1"):
                await engine.wait_ready()

    run(broken())
    assert (tmp_path / "tries").read_text() == "."
