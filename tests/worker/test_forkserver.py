"""Workers are copies of a process that has torch already: made in no time, and each for itself."""

import os
import shutil
import signal
from contextlib import suppress
from pathlib import Path

import pytest
from functions.misbehaving_op import OWN
from psutil import STATUS_ZOMBIE, NoSuchProcess, Process, wait_procs
from support.engines import engine_of, question_of
from support.event_loop import awaited
from support.servers import children, serving
from support.waiting import until
from support.written_functions import class_source

from gradloupe.server.protocol.errors import EngineBroken
from gradloupe.server.protocol.job import Job
from gradloupe.server.supervisor.engine import Engine
from gradloupe.server.supervisor.worker_process import WorkerProcess

TELLS = """
    def forward(ctx, x):
        if x.abs().max() > 50:
            raise ValueError(f"{os.getcwd()} {os.environ.get('TOLD')} {torch.get_num_threads()}")
        return x
"""
TELLING = f"import os, sys\nimport torch\n\n\n{class_source(TELLS, 'Telling', 'Gradloupe: x: float64[]')}"


def forkservers() -> set[int]:
    return {*children(os.getpid(), "worker.forkserver")}


async def seconds(engine: Engine) -> float:
    """How long its worker has computed when it greets, whatever else this machine does."""
    await engine.wait_ready()
    times = Process(engine.workers[0]).cpu_times()
    return float(times.user + times.system)


async def seconds_of_a_copy() -> float:
    async with engine_of() as engine:
        return await seconds(engine)


def wait_for_the_end(pid: int) -> None:
    """Return when there is no such process any more; raises ``TimeoutExpired`` when it stays."""
    with suppress(NoSuchProcess):
        Process(pid).wait(60)


@pytest.mark.parametrize(
    ("deed", "kind", "line"),
    [
        ("sleep", "Timeout", "ctypes.CDLL(None).sleep(60)"),
        pytest.param("segfault", "SIGSEGV", "ctypes.string_at(0)", marks=pytest.mark.nightly),
    ],
)
@awaited
async def test_a_worker_that_is_no_copy_differs_in_nothing_but_takes_four_times_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deed: str, kind: str, line: str
) -> None:
    """As where a process that has loaded torch cannot be copied."""
    file = tmp_path / "my_ops.py"
    file.write_text(OWN)
    await seconds_of_a_copy()  # the first has to load it
    copied = await seconds_of_a_copy()
    monkeypatch.setattr("gradloupe.server.supervisor.worker_process.CAN_FORK", False)
    before = forkservers()
    async with engine_of(file, deadline=2.0) as engine:
        assert copied < await seconds(engine) / 4
        assert forkservers() <= before
        question = await question_of(engine, "Misbehaving", parameters={"deed": deed})
        lost, source = (await engine.answer(question)).header, (await engine.op("Misbehaving"))["source"]
        assert lost["failure"]["kind"] == kind
        assert source.splitlines()[lost["failure"]["line"] - 1].strip() == line


@awaited
async def test_all_workers_come_from_one_process_and_leave_nothing_in_it(tmp_path: Path) -> None:
    (tmp_path / "my_ops.py").write_text(TELLING)
    others = {worker for forkserver in forkservers() for worker in children(forkserver)}
    async with engine_of() as gallery, engine_of(tmp_path / "my_ops.py") as own:
        await gallery.wait_ready()
        await own.wait_ready()
        (parent,) = {Process(each.workers[0]).ppid() for each in (gallery, own)}
        assert gallery.workers[0] != own.workers[0]
        assert len(os.listdir(f"/proc/{parent}/task")) == 1  # what has threads cannot be copied
    left = [each for each in Process(parent).children() if each.pid not in others]
    assert wait_procs(left, timeout=60)[1] == []
    assert [each for each in Process(parent).children() if each.status() == STATUS_ZOMBIE] == []


@awaited
async def test_a_worker_lives_where_the_server_is_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_ops.py").write_text(TELLING)
    for folder, told in ((tmp_path, "this"), (tmp_path.parent, "that")):
        monkeypatch.chdir(folder)
        monkeypatch.setenv("TOLD", told)
        async with engine_of(tmp_path / "my_ops.py") as engine:
            question = await question_of(engine, "Telling", start=55.0, stop=60.0)
            assert (await engine.answer(question)).header["failure"]["message"] == f"{folder} {told} 1"


@pytest.mark.nightly
@awaited
async def test_another_process_is_copied_where_one_is_killed_or_python_is_told_something_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONWARNINGS", "ignore::FutureWarning")  # so that nobody else has workers of it
    others, parents = forkservers(), []
    for warnings, kill in (("ignore::FutureWarning", False), ("ignore::FutureWarning", False), ("ignore", True)):
        monkeypatch.setenv("PYTHONWARNINGS", warnings)
        async with engine_of() as engine:
            if kill:  # while it is waited for
                (fresh,) = until(lambda: forkservers() - others - {*parents})
                os.kill(fresh, signal.SIGKILL)
            await engine.wait_ready()
            parents.append(Process(engine.workers[0]).ppid())
    assert parents[0] == parents[1] != parents[2]
    wait_for_the_end(parents[0])
    assert {fresh, parents[0]}.isdisjoint(forkservers())


def test_a_worker_that_is_closed_before_torch_is_there_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONWARNINGS", "ignore::UserWarning")  # so that it is a fresh one
    before = forkservers()
    worker = WorkerProcess(Job())
    (forkserver,) = until(lambda: forkservers() - before)
    assert worker.pid == 0
    worker.kill()
    assert worker.reap() == "signal 9, SIGKILL"
    wait_for_the_end(forkserver)


@awaited
async def test_a_process_that_was_stopped_goes_on_as_soon_as_it_owes_news(tmp_path: Path) -> None:
    """Here by a Function, which waits then; it might be a debugger."""
    file = tmp_path / "my_ops.py"
    deaf = "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])"
    stops = f"{deaf}, time.sleep(os.kill(os.getppid(), signal.SIGSTOP) or 60)"
    text = TELLING.replace("x.abs().max() > 50", "59 < x.abs().max() < 61").replace("raise ValueError", f"{stops}, str")
    file.write_text(f"import signal, time\n{text}")
    async with engine_of(file, deadline=1.0) as engine:
        await engine.wait_ready()
        before = forkservers()
        lost = await engine.answer(await question_of(engine, "Telling", start=55.0, stop=60.0))
        answered = await engine.answer(await question_of(engine, "Telling"))
        assert forkservers() == before
    assert (lost.header["failure"]["kind"], answered.header["verdict"]["word"]) == ("Timeout", "matches")


@pytest.mark.nightly
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


@awaited
async def test_a_file_that_ends_its_process_while_it_loads_is_tried_once(tmp_path: Path) -> None:
    (tmp_path / "my_ops.py").write_text(f"open({str(tmp_path / 'tries')!r}, 'a').write('.')\nimport os\nos._exit(1)\n")
    async with engine_of(tmp_path / "my_ops.py") as engine:
        with pytest.raises(EngineBroken, match="called exit with code 1"):
            await engine.wait_ready()
    assert (tmp_path / "tries").read_text() == "."
