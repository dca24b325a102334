"""However a worker ends: the answer names how, at which line and at which limit, and the next one is right."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from functions.misbehaving_op import OWN
from psutil import NoSuchProcess, Process
from support import event_loop
from support.busy_cpu import crowded
from support.engines import engine_of, question_of
from support.servers import children

from gradloupe.server.protocol import job
from gradloupe.server.protocol.errors import EngineBroken, Unsolved
from gradloupe.server.supervisor import supervisor, worker_process

Answers = list[dict[str, Any]]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of a visitor's, with a Function that does what it is told."""
    path = tmp_path / "my_ops.py"
    path.write_text(OWN)
    return path


async def answers(file: Path, *deeds: str, **limits: Any) -> tuple[Answers, list[str]]:
    """What is answered for each deed in turn, and the lines of the source that is shown."""
    async with engine_of(file, **{"deadline": 60.0, **limits}) as engine:
        found = []
        for deed in deeds:
            question = await question_of(engine, "Misbehaving", parameters={"deed": deed})
            found.append((await engine.answer(question)).header)
        return found, (await engine.op("Misbehaving"))["source"].splitlines()


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    return event_loop.run(asyncio.wait_for(coroutine, 240))


@pytest.mark.parametrize(
    ("deed", "kind", "how", "line"),
    [
        ("segfault", "SIGSEGV", "ended with a segmentation fault (SIGSEGV)", "ctypes.string_at(0)"),
        ("abort", "SIGABRT", "was aborted by a library (SIGABRT)", "os.abort()"),
        ("exit", "exit code 3", "called exit with code 3", "sys.exit(3)"),
        ("leave", "exit code 4", "called exit with code 4", "os._exit(4)"),
    ],
)
def test_how_and_where_a_worker_ended_is_said(file: Path, deed: str, kind: str, how: str, line: str) -> None:
    says_how_and_where(file, run(answers(file, deed, "none")), kind, how, line)


def test_where_a_worker_was_that_was_ended_at_the_deadline_is_said(file: Path) -> None:
    lines = {
        "loop": "while True: pass",
        "sleep": "ctypes.CDLL(None).sleep(60)",
        "match": 're.match("(a*)*b", "a" * 60)',
    }

    async def together() -> list[tuple[Answers, list[str]]]:
        return await asyncio.gather(*(answers(file, deed, "none", deadline=5.0) for deed in lines))

    for line, found in zip(lines.values(), run(together()), strict=True):
        says_how_and_where(file, found, "Timeout", "was ended at the deadline of 5 s (--deadline)", line)


def says_how_and_where(file: Path, found: tuple[Answers, list[str]], kind: str, how: str, line: str) -> None:
    (lost, after), source = found
    failure = lost["failure"]
    number = 1 + next(n for n, text in enumerate(file.read_text().splitlines()) if text.strip() == line)
    assert (failure["phase"], failure["kind"]) == ("worker", kind)
    assert source[failure["line"] - 1].strip() == line
    assert f"The worker process {how} while it computed Misbehaving" in failure["sentence"]
    assert f"last line: my_ops.py, line {number}, in forward" in failure["sentence"]
    assert after["verdict"]["word"] == "matches"


SPINS = """import os
import time

import torch


class Spins(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        if os.path.exists(%r):
            os.remove(%r)
            until = time.thread_time() + 1.5
            while time.thread_time() < until:
                pass
        return 2 * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output
"""


@pytest.mark.parametrize(("most", "kind"), [(100.0, ""), (1.0, "Timeout")])
def test_what_a_worker_waits_for_a_processor_is_no_time_of_the_function(
    file: Path, monkeypatch: pytest.MonkeyPatch, most: float, kind: str
) -> None:
    monkeypatch.setattr(job, "_PATIENCE", most)
    now = file.with_name("now")
    file.write_text(SPINS % (str(now), str(now)))

    async def scene() -> dict[str, Any]:
        async with engine_of(file, deadline=3.0) as engine:
            question = await question_of(engine, "Spins")
            now.touch()
            with crowded(engine.worker):
                return (await engine.answer(question)).header

    assert (run(scene())["failure"] or {"kind": ""})["kind"] == kind


def test_a_function_that_eats_memory_is_ended_at_the_limit(file: Path) -> None:
    (lost, after), source = run(answers(file, "eat", "none", memory=600))
    assert lost["failure"]["kind"] == "Memory"
    assert "was ended at the memory limit of 600 MiB (--memory)" in lost["failure"]["sentence"]
    assert source[lost["failure"]["line"] - 1].strip().startswith("KEPT = ")
    assert after["verdict"]["word"] == "matches"


def test_a_process_that_outlives_the_answer_is_ended_and_said(file: Path) -> None:
    async def worker_and_notes() -> tuple[list[int], list[int], list[str]]:
        async with engine_of(file) as engine:
            question = await question_of(engine, "Misbehaving", parameters={"deed": "start"})
            before = engine.worker
            notes = (await engine.answer(question)).header["notes"]
            return [before, engine.worker], children(engine.worker), notes

    (before, after), left, notes = run(worker_and_notes())
    assert notes == ["The Function started a process that outlived it; it was ended."]
    assert before == after
    assert left == []


FORKING = """
import os
import torch

TOLD, COPIES = open(os.path.join(os.path.dirname(__file__), "told"), "a", 1), []


class Forking(torch.autograd.Function):
    '''Forks in some calls.

    Gradloupe: x: float64[]
    '''

    @staticmethod
    def forward(ctx, x):
        print(os.getpid(), file=TOLD)
        if len(COPIES) < MOST:
            COPIES.append(os.fork())
        return 2 * x

    @staticmethod
    def backward(ctx, grad_output):
        if len(COPIES) < MOST:
            COPIES.append(os.fork())
        return 2 * grad_output
"""


def test_a_copy_that_comes_back_from_the_function_goes_no_further(file: Path, tmp_path: Path) -> None:
    """Else it would compute on, and be copied wherever the Function is called again."""
    file.write_text(FORKING.replace("MOST", "7"))

    async def answered() -> tuple[dict[str, Any], int]:
        async with engine_of(file) as engine:
            frame = await engine.answer(await question_of(engine, "Forking"))
            return frame.header, engine.worker

    header, worker = run(answered())
    assert header["verdict"]["word"] == "matches"
    assert set((tmp_path / "told").read_text().split()) == {str(worker)}


def test_copies_that_came_back_are_said(file: Path) -> None:
    (header,), _ = run(answers(file, "fork"))
    assert header["notes"] == ["The Function started 3 processes that outlived it; they were ended."]
    assert header["verdict"]["word"] == "matches"


def test_a_function_that_copies_its_process_for_ever_is_ended_after_a_few(file: Path) -> None:
    (lost, after), source = run(answers(file, "copies", "none"))
    assert lost["failure"]["kind"] == "Processes"
    assert "was ended at the limit of 16 processes started by os.fork while it computed" in lost["failure"]["sentence"]
    assert source[lost["failure"]["line"] - 1].strip() == "while True: os.fork()"
    assert after["verdict"]["word"] == "matches"


def test_copies_while_arguments_are_looked_for_are_said_with_their_line(file: Path) -> None:
    file.write_text(FORKING.replace("MOST", "17").replace("Gradloupe:", "").replace("if len", "while len"))

    async def sentence() -> str:
        async with engine_of(file) as engine:
            with pytest.raises(Unsolved) as unsolved:
                await engine.op("Forking")
            return str(unsolved.value)

    line = 1 + file.read_text().splitlines().index("            COPIES.append(os.fork())")
    place = f"my_ops.py, line {line}, in forward: `COPIES.append(os.fork())`"
    assert f"{place}, which is to wait for what it starts" in run(sentence())


def test_processes_that_are_waited_for_are_no_copies_too_many(file: Path) -> None:
    """However many there are in all, and though they fork by way of multiprocessing."""
    file.write_text(
        "import multiprocessing, os\nimport torch\n\n\nclass Waiting(torch.autograd.Function):\n"
        '    """Computes elsewhere.\n\n    Gradloupe: x: float64[]\n    """\n\n'
        "    @staticmethod\n    def forward(ctx, x):\n"
        "        reading, writing = os.pipe()\n"
        "        child = multiprocessing.get_context('fork').Process(target=os.write, args=(writing, b'2'))\n"
        "        child.start()\n        child.join()\n"
        "        y = x * float(os.read(reading, 1))\n        os.close(reading); os.close(writing)\n        return y\n\n"
        "    @staticmethod\n    def backward(ctx, grad_output):\n        return 2 * grad_output\n"
    )

    async def answered() -> dict[str, Any]:
        async with engine_of(file, deadline=60.0) as engine:
            return (await engine.answer(await question_of(engine, "Waiting", count=2))).header

    header = run(answered())
    assert (header["verdict"]["word"], header["notes"]) == ("matches", [])


KEEPING = """
import multiprocessing
import subprocess
import torch

KEPT = []
METHOD = multiprocessing.get_context("METHOD")


def double(number):
    return 2 * number


def calculator():
    piped = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    process = subprocess.Popen(["cat"], **piped)

    def doubled(number):
        print(double(number), file=process.stdin)
        return float(process.stdout.readline())

    return doubled


def pool():
    processes = METHOD.Pool(2)
    return lambda number: processes.apply(double, (number,))


class Keeping(torch.autograd.Function):
    '''Has another process compute.

    Gradloupe: x: float64[]
    '''

    @staticmethod
    def forward(ctx, x):
        if not KEPT:
            KEPT.append(HELPER())
        return x * KEPT[0](1.0)

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output


ONCE
"""


@pytest.mark.parametrize("once", ["", "KEPT.append(HELPER())"])
@pytest.mark.parametrize(("helper", "method"), [("pool", "fork"), ("pool", "spawn"), ("calculator", "fork")])
def test_a_pool_or_a_helper_that_a_function_keeps_works_for_every_answer(
    file: Path, helper: str, method: str, once: str
) -> None:
    once = f"if __name__ == 'my_ops' and multiprocessing.parent_process() is None:\n    {once}" if once else ""
    file.write_text(KEEPING.replace("ONCE", once).replace("HELPER", helper).replace("METHOD", method))

    async def found() -> list[tuple[str, list[str], int]]:
        async with engine_of(file, deadline=60.0) as engine:
            answers = []
            for count in (2, 3):
                header = (await engine.answer(await question_of(engine, "Keeping", count=count))).header
                answers.append((header["verdict"]["word"], header["notes"], engine.restarts))
            return answers

    assert run(found()) == [("matches", [], 0)] * 2


def test_what_a_worker_started_ends_with_it(file: Path, tmp_path: Path) -> None:
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

    async def broken() -> str:
        async with engine_of(file) as engine:
            with pytest.raises(EngineBroken):
                await engine.wait_ready()
            return engine.broken

    assert "called exit with code 5" in run(broken())
    with suppress(NoSuchProcess):  # gone already
        Process(int((tmp_path / "child").read_text())).wait(60)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import os\nos._exit(7)\n", "called exit with code 7; last line: my_ops.py, line 2, in <module>"),
        ("import ctypes\n\nctypes.string_at(0)\n", "segmentation fault (SIGSEGV); last line: my_ops.py, line 3,"),
        ("while True:\n    pass\n", "was ended at the time of 2 s to load (--loading); last line: my_ops.py, line "),
        ("\nkept = [bytes([1]) * 2**23 for _ in range(1000)]\n", "memory limit of 600 MiB (--memory); last line: my"),
    ],
)
def test_an_import_that_ends_its_process_is_explained_with_its_line(file: Path, text: str, said: str) -> None:
    file.write_text(text)

    async def broken() -> tuple[str, Any]:
        async with engine_of(file, loading=2.0 if "while" in text else 120.0, memory=600) as engine:
            with pytest.raises(EngineBroken):
                await engine.wait_ready()
            return engine.broken, engine.trouble

    sentence, trouble = run(broken())
    assert said in sentence
    assert trouble["file"] == "my_ops.py"
    assert dict(trouble["excerpt"])[trouble["line"]] == text.splitlines()[trouble["line"] - 1]


def test_a_worker_started_by_itself_is_no_other(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a process that has loaded torch cannot be copied."""
    monkeypatch.setattr(worker_process, "CAN_FORK", False)
    before = children(os.getpid(), "worker.forkserver")
    (well, lost, after), source = run(answers(file, "none", "segfault", "none"))
    assert {*children(os.getpid(), "worker.forkserver")} <= {*before}
    assert well["verdict"]["word"] == after["verdict"]["word"] == "matches"
    assert lost["failure"]["kind"] == "SIGSEGV"
    assert source[lost["failure"]["line"] - 1].strip() == "ctypes.string_at(0)"


DEED = """
import ctypes, faulthandler, os, threading, time
import torch


class Doing(torch.autograd.Function):
    '''Twice x, and something else at 60.

    Gradloupe: x: float64[]
    '''

    @staticmethod
    def forward(ctx, x):
        if 59 < x.abs().max() < 61:
            DEED
        return 2 * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output


IMPORTED
"""


def sentence_at_60(file: Path, deed: str, imported: str = "") -> str:
    """Why a Function that does this at 60 gives no answer there; near 0 it gives the right one."""
    file.write_text(DEED.replace("DEED", deed).replace("IMPORTED", imported))

    async def found() -> tuple[str, str]:
        async with engine_of(file) as engine:
            far = await engine.answer(await question_of(engine, "Doing", start=-60.0, stop=60.0))
            near = await engine.answer(await question_of(engine, "Doing"))
            return far.header["failure"]["sentence"], near.header["verdict"]["word"]

    sentence, word = run(found())
    assert word == "matches"
    return str(sentence)


@pytest.mark.parametrize("deed", ["os.closerange(3, 256)", "[os.dup2(1, each) for each in range(3, 30)]"])
def test_a_function_that_closes_what_it_has_not_opened_is_not_said_to_call_exit(file: Path, deed: str) -> None:
    said = sentence_at_60(file, deed)
    assert "ended with exit code" in said
    assert "files were closed or written to that the Function had not opened" in said


@pytest.mark.parametrize("imported", ["faulthandler.enable()", "faulthandler.disable()"])
def test_the_last_line_is_known_whatever_the_file_asks_of_the_handler_of_faults(file: Path, imported: str) -> None:
    said = sentence_at_60(file, "ctypes.string_at(0)", imported)
    assert "segmentation fault (SIGSEGV) while it computed Doing; last line: my_ops.py, line 15, in forward" in said


def test_a_worker_that_does_not_stay_is_not_replaced_without_a_pause(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a thread of the file ends it: else a server that nobody asks anything would be busy for ever."""
    monkeypatch.setattr(supervisor, "RESTART_PAUSE", 0.7)
    births = tmp_path / "births"
    leaves = f"open({str(births)!r}, 'a').write(f'{{time.time()}}\\n'), time.sleep(0.1), os._exit(3)"
    imported = f"threading.Timer(0.2, lambda: ({leaves})).start()"
    file.write_text(DEED.replace("DEED", "pass").replace("IMPORTED", imported))

    async def times() -> list[float]:
        async with engine_of(file):
            while not births.exists() or len(births.read_text().splitlines()) < 6:  # noqa: ASYNC110 - a stranger's
                await asyncio.sleep(0.02)
        return [float(each) for each in births.read_text().splitlines()]

    found = run(times())
    assert min(later - earlier for earlier, later in pairwise(found[2:])) > 0.7


@pytest.mark.parametrize("recipe", ["", "Gradloupe: x: float64[3]"])
def test_a_forward_that_ends_the_program_is_named_with_its_line(file: Path, recipe: str) -> None:
    file.write_text(
        f"import sys\nimport torch\n\n\nclass Leaving(torch.autograd.Function):\n    '''{recipe}'''\n\n"
        "    @staticmethod\n    def forward(ctx, x):\n        sys.exit('no licence')\n\n"
        "    @staticmethod\n    def backward(ctx, grad_output):\n        return grad_output\n"
    )

    async def sentence() -> str:
        async with engine_of(file) as engine:
            with pytest.raises(Unsolved) as unsolved:
                await engine.op("Leaving")
            assert engine.restarts == 0
            return str(unsolved.value)

    said = run(sentence())
    assert said.startswith("forward ends the program (sys.exit, my_ops.py, line 10)")
    assert "fix it" in said
