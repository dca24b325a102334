"""However a worker ends: the answer names how, at which line and at which limit, and the next one is right."""

import asyncio
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from functions.misbehaving_op import OWN
from psutil import NoSuchProcess, Process
from support.busy_cpu import crowded
from support.engines import engine_of, question_of
from support.event_loop import awaited
from support.servers import children
from support.written_functions import class_source

from gradloupe.server.protocol.errors import EngineBroken, Unsolved
from gradloupe.server.supervisor.engine import Engine

IMPORTS = "import ctypes, faulthandler, multiprocessing, os, signal, subprocess, sys, threading, time\nimport torch"
FAR = "if 59 < x.abs().max() < 61: "


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of a visitor's, with a Function that does what it is told."""
    path = tmp_path / "my_ops.py"
    path.write_text(OWN)
    return path


def doing(
    deed: str, before: str = "", backward: str = "pass", after: str = "", recipe: str = "Gradloupe: x: float64[]"
) -> str:
    """The text of a file with a Function that does this, and then doubles."""
    forward = f"def forward(ctx, x):\n    {deed}\n    return 2 * x"
    methods = f"{forward}\ndef backward(ctx, grad_output):\n    {backward}\n    return 2 * grad_output"
    return f"{IMPORTS}\n{before}\n{class_source(methods, 'Doing', recipe)}\n{after}\n"


async def asked(engine: Engine, name: str = "Doing", **changes: Any) -> dict[str, Any]:
    """The header of the answer to the first question about a Function, with these changes."""
    header: dict[str, Any] = (await engine.answer(await question_of(engine, name, **changes))).header
    return header


async def lost_and_found(file: Path, deed: str, **limits: Any) -> tuple[dict[str, Any], str]:
    """The failure of the Function that does what it is told, and the line of the shown source that it names.

    The next answer is right.
    """
    async with engine_of(file, **{"deadline": 60.0, **limits}) as engine:
        failure = (await asked(engine, "Misbehaving", parameters={"deed": deed}))["failure"]
        after = await asked(engine, "Misbehaving")
        source = (await engine.op("Misbehaving"))["source"].splitlines()
    assert failure["phase"] == "worker"
    assert after["verdict"]["word"] == "matches"
    line = source[failure["line"] - 1].strip()
    number = 1 + next(n for n, text in enumerate(file.read_text().splitlines()) if text.strip() == line)
    assert f"last line: my_ops.py, line {number}, in " in failure["sentence"]
    return failure, line


@pytest.mark.parametrize(
    ("deed", "kind", "how", "line"),
    [
        ("segfault", "SIGSEGV", "a segmentation fault (SIGSEGV)", "ctypes.string_at(0)"),
        ("abort", "SIGABRT", "aborted by a library (SIGABRT)", "os.abort()"),
        ("exit", "exit code 3", "called exit with code 3", "sys.exit(3)"),
        ("leave", "exit code 4", "called exit with code 4", "os._exit(4)"),
        ("eat", "Memory", "limit of 600 MiB (--memory)", "KEPT = [bytes([1]) * 2**23 for _ in range(2**10)]"),
        ("copies", "Processes", "limit of 16 processes", "while True: os.fork()"),
    ],
)
@awaited
async def test_how_and_where_a_worker_ended_is_said(file: Path, deed: str, kind: str, how: str, line: str) -> None:
    failure, there = await lost_and_found(file, deed, memory=600)
    assert (failure["kind"], there) == (kind, line)
    assert how in failure["sentence"]


@awaited
async def test_where_a_worker_was_that_was_ended_at_the_deadline_is_said(file: Path) -> None:
    lines = {
        "loop": "while True: pass",
        "sleep": "ctypes.CDLL(None).sleep(60)",
        "match": 're.match("(a*)*b", "a" * 60)',
    }
    together = await asyncio.gather(*(lost_and_found(file, deed, deadline=1.0) for deed in lines))
    assert [line for _, line in together] == [*lines.values()]
    for failure, _ in together:
        assert failure["kind"] == "Timeout"
        assert "deadline of 1 s (--deadline)" in failure["sentence"]


SPIN = """
def spin():
    until = time.thread_time() + 0.6
    while time.thread_time() < until:
        pass
"""


@pytest.mark.parametrize(("most", "kind"), [(100.0, ""), pytest.param(1.0, "Timeout", marks=pytest.mark.nightly)])
@awaited
async def test_what_a_worker_waits_for_a_processor_is_no_time_of_the_function(
    file: Path, monkeypatch: pytest.MonkeyPatch, most: float, kind: str
) -> None:
    monkeypatch.setattr("gradloupe.server.protocol.job._PATIENCE", most)
    now = file.with_name("now")
    file.write_text(doing(f"os.path.exists({str(now)!r}) and (os.remove({str(now)!r}), spin())", SPIN))
    async with engine_of(file, deadline=1.0) as engine:
        question = await question_of(engine, "Doing")
        now.touch()
        with crowded(engine.workers[0]):
            failure = (await engine.answer(question)).header["failure"]
    assert (failure or {"kind": ""})["kind"] == kind


@pytest.mark.parametrize(("compiler", "kind"), [("numba", ""), ("another", "Timeout")])
@awaited
async def test_what_is_compiled_has_more_time(file: Path, compiler: str, kind: str) -> None:
    file.with_name(f"{compiler}.py").touch()
    now = file.with_name("now")
    deaf = "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])"  # to what ends a slow call within the process
    spins = f"os.path.exists({str(now)!r}) and (os.remove({str(now)!r}), {deaf}, spin())"
    file.write_text(doing(spins, f"import {compiler}\n{SPIN}".replace("0.6", "2.0")))
    async with engine_of(file, deadline=1.0) as engine:
        question = await question_of(engine, "Doing")
        now.touch()
        failure = (await engine.answer(question)).header["failure"]
    assert (failure or {"kind": ""})["kind"] == kind


@pytest.mark.parametrize(
    ("deed", "said"), [("start", "a process that outlived it"), ("fork", "3 processes that outlived it")]
)
@awaited
async def test_processes_that_outlive_the_answer_are_ended_and_said(file: Path, deed: str, said: str) -> None:
    async with engine_of(file) as engine:
        question = await question_of(engine, "Misbehaving", parameters={"deed": deed})
        worker = engine.workers[0]
        header = (await engine.answer(question)).header
        assert [said in note for note in header["notes"]] == [True]
        assert header["verdict"]["word"] == "matches"
        assert (engine.workers[0], children(engine.workers[0])) == (worker, [])


@awaited
async def test_a_copy_that_comes_back_from_the_function_goes_no_further(file: Path) -> None:
    """Else it would compute on, and be copied wherever the Function is called again."""
    told = file.with_name("told")
    fork = "if len(COPIES) < 7: COPIES.append(os.fork())"
    tell = f"print(os.getpid(), file=open({str(told)!r}, 'a', 1))\n    {fork}"
    file.write_text(doing(tell, "COPIES = []", backward=fork))
    async with engine_of(file) as engine:
        assert (await asked(engine))["verdict"]["word"] == "matches"
        assert {*told.read_text().split()} == {str(engine.workers[0])}


@awaited
async def test_copies_while_arguments_are_looked_for_are_said_with_their_line(file: Path) -> None:
    fork = "COPIES.append(os.fork())"
    file.write_text(doing(f"while len(COPIES) < 17:\n        {fork}", "COPIES = []", recipe=""))
    line = 1 + file.read_text().splitlines().index(f"            {fork}")
    async with engine_of(file) as engine:
        with pytest.raises(Unsolved) as unsolved:
            await engine.op("Doing")
    assert f"my_ops.py, line {line}, in forward: `{fork}`" in str(unsolved.value)


@pytest.mark.parametrize("recipe", ["", "Gradloupe: x: float64[3]"])
@awaited
async def test_a_forward_that_ends_the_program_is_named_with_its_line(file: Path, recipe: str) -> None:
    file.write_text(doing("sys.exit('no licence')", recipe=recipe))
    line = 1 + file.read_text().splitlines().index("        sys.exit('no licence')")
    async with engine_of(file) as engine:
        with pytest.raises(Unsolved, match=rf"\(sys.exit, my_ops.py, line {line}\)"):
            await engine.op("Doing")
        assert engine.restarts == 0


WAITED_FOR = """if len(DONE) == 40:
        return 2 * x
    DONE.append(1)
    reading, writing = os.pipe()
    child = multiprocessing.get_context("fork").Process(target=os.write, args=(writing, b"2"))
    child.start(), child.join()
    number = float(os.read(reading, 1))
    os.close(reading), os.close(writing)
    return number * x"""


@awaited
async def test_processes_that_are_waited_for_are_no_copies_too_many(file: Path) -> None:
    """Though there are more in all than there may be at once, and though they fork by way of multiprocessing."""
    file.write_text(doing(WAITED_FOR, "DONE = []"))
    async with engine_of(file, deadline=60.0) as engine:
        header = await asked(engine, count=2)
    assert (header["verdict"]["word"], header["notes"]) == ("matches", [])


KEEPERS = """
KEPT = []


def double(number):
    return 2 * number


def calculator():
    piped = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    process = subprocess.Popen(["cat"], **piped)

    def doubled(number):
        print(double(number), file=process.stdin)
        return float(process.stdout.readline())

    return doubled


def pool(method):
    processes = multiprocessing.get_context(method).Pool(2)
    return lambda number: processes.apply(double, (number,))
"""


@pytest.mark.parametrize(
    ("helper", "at_once"),
    [
        ("pool('fork')", True),
        ("calculator()", False),
        pytest.param("pool('fork')", False, marks=pytest.mark.nightly),
        pytest.param("calculator()", True, marks=pytest.mark.nightly),
        pytest.param("pool('spawn')", False, marks=pytest.mark.nightly),
        pytest.param("pool('spawn')", True, marks=pytest.mark.nightly),
    ],
)
@awaited
async def test_a_pool_or_a_helper_that_a_function_keeps_works_for_every_answer(
    file: Path, helper: str, at_once: bool
) -> None:
    keep = f"KEPT.append({helper})"
    imported = f"if __name__ == 'my_ops' and multiprocessing.parent_process() is None:\n    {keep}\n" * at_once
    file.write_text(doing(f"KEPT or {keep}\n    return x * KEPT[0](1.0)", KEEPERS, after=imported))
    async with engine_of(file, deadline=60.0) as engine:
        for count in (2, 3):
            header = await asked(engine, count=count)
            assert (header["verdict"]["word"], header["notes"], engine.restarts) == ("matches", [], 0)


@awaited
async def test_what_a_worker_started_ends_with_it(file: Path, tmp_path: Path) -> None:
    """Even in a session of its own, and though it holds the worker's end of the channel."""
    file.write_text(
        "import os, time\n"
        "reading, writing = os.pipe()\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    os.setsid(); os.write(writing, b'.'); time.sleep(60)\n"
        f"open({str(tmp_path / 'child')!r}, 'w').write(str(child))\n"
        "os.read(reading, 1)\n"
        "os._exit(5)\n"
    )
    async with engine_of(file) as engine:
        with pytest.raises(EngineBroken, match="exit with code 5"):
            await engine.wait_ready()
    with suppress(NoSuchProcess):  # gone already
        Process(int((tmp_path / "child").read_text())).wait(60)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import os\nos._exit(7)\n", "exit with code 7"),
        ("import ctypes\n\nctypes.string_at(0)\n", "(SIGSEGV)"),
        ("while True:\n    pass\n", "1 s to load (--loading)"),
        ("\nkept = [bytes([1]) * 2**23 for _ in range(1000)]\n", "600 MiB (--memory)"),
    ],
)
@awaited
async def test_an_import_that_ends_its_process_is_explained_with_its_line(file: Path, text: str, said: str) -> None:
    file.write_text(text)
    async with engine_of(file, loading=1.0 if "while" in text else 120.0, memory=600) as engine:
        with pytest.raises(EngineBroken):
            await engine.wait_ready()
        sentence, trouble = engine.broken, engine.trouble
    assert said in sentence
    assert f"last line: my_ops.py, line {trouble['line']}, in " in sentence
    assert trouble["file"] == "my_ops.py"
    assert dict(trouble["excerpt"])[trouble["line"]] == text.splitlines()[trouble["line"] - 1]


CLOSED = "files were closed or written to"


@pytest.mark.parametrize(
    ("deed", "imported", "said"),
    [
        ("os.closerange(3, 256)", "", CLOSED),
        ("ctypes.string_at(0)", "faulthandler.disable()", "line 9, in forward"),
        pytest.param("[os.dup2(1, each) for each in range(3, 30)]", "", CLOSED, marks=pytest.mark.nightly),
        pytest.param(
            *("ctypes.string_at(0)", "faulthandler.enable()", "line 9, in forward"), marks=pytest.mark.nightly
        ),
    ],
)
@awaited
async def test_what_a_function_does_to_files_and_to_the_handler_of_faults_hides_no_end(
    file: Path, deed: str, imported: str, said: str
) -> None:
    file.write_text(doing(FAR + deed, after=imported))
    async with engine_of(file) as engine:
        far = (await asked(engine, start=-60.0, stop=60.0))["failure"]
        assert said in far["sentence"]
        assert "called exit" not in far["sentence"]
        assert (await asked(engine))["verdict"]["word"] == "matches"


@awaited
async def test_a_worker_that_does_not_stay_is_not_replaced_without_a_pause(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a thread of the file ends it: else a server that nobody asks anything would be busy for ever."""
    monkeypatch.setattr("gradloupe.server.supervisor.engine.RESTART_PAUSE", 0.4)
    births = file.with_name("births")
    leaves = f"open({str(births)!r}, 'a').write(f'{{time.time()}}\\n'), time.sleep(0.1), os._exit(3)"
    file.write_text(doing("pass", after=f"threading.Timer(0.2, lambda: ({leaves})).start()"))
    async with engine_of(file):
        while not births.exists() or len(births.read_text().splitlines()) < 6:  # noqa: ASYNC110 - a stranger's
            await asyncio.sleep(0.02)
    times = [float(each) for each in births.read_text().splitlines()]
    assert min(later - earlier for earlier, later in pairwise(times[2:])) > 0.4
