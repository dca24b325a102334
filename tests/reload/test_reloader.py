"""Loads: one fresh worker for each save, the last good one until the next, and no question lost on the way."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from psutil import STATUS_ZOMBIE, NoSuchProcess, Process
from support.event_loop import awaited
from support.written_functions import class_source

from gradloupe.server.protocol.job import Job
from gradloupe.server.reload.reloader import Reloader
from gradloupe.server.url.parse import read_address

SCALES = """
    def forward(ctx, x):
        return FACTOR * x
    def backward(ctx, grad_output):
        return FACTOR * grad_output
"""
SCALED = f"import torch\n\n\n{class_source(SCALES, 'Scaled', 'Scales what it is given by FACTOR.')}"
RELOADS = 12  # a sample: a few times what three clients ask at once


def scaled(factor: float) -> str:
    return SCALED.replace("FACTOR", str(factor))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my_ops.py"
    path.write_text(scaled(1))
    return path


@asynccontextmanager
async def loading(*targets: Path | str, deadline: float = 60.0) -> AsyncIterator[Reloader]:
    """Their first load has come to an end."""
    loads = Reloader(Job(deadline=deadline, targets=tuple(map(str, targets))))
    await loads.connect()
    try:
        await until(loads, lambda: loads.generation == 1)
        yield loads
    finally:
        await loads.close()


async def until(loads: Reloader, so: Any, seconds: float = 120.0) -> None:
    """Wait for a state in which that is so."""

    async def seen() -> None:
        async for _ in loads.changes():
            if so():
                return

    await asyncio.wait_for(seen(), seconds)


async def slope(loads: Reloader) -> float:
    """What backward returns in the middle: the factor of the version that has answered."""
    op = await loads.engine.op("Scaled")
    answer = await loads.engine.answer(
        read_address(op, await loads.engine.device(), {"start": "-1", "stop": "1", "count": "5"}).question
    )
    assert answer.header["failure"] is None, answer.header["failure"]
    return float(answer.columns["analytical"][2])


def save(file: Path, text: str) -> None:
    file.write_text(text)


def alive(pid: int) -> bool:
    try:
        return Process(pid).status() != STATUS_ZOMBIE
    except NoSuchProcess:
        return False


async def becomes(so: Callable[[], object]) -> None:
    """Wait for what tells nobody."""
    async with asyncio.timeout(60):
        while not so():  # noqa: ASYNC110 - as it says
            await asyncio.sleep(0.005)


async def loaded(loads: Reloader, file: Path, text: str) -> None:
    """Save this, and wait until the files that are loaded are others than before."""
    known = loads.state()["digests"]
    save(file, text)
    await until(loads, lambda: loads.state()["digests"] != known)


@awaited
async def test_a_save_is_loaded_by_a_fresh_worker_and_the_old_one_ends(file: Path) -> None:
    async with loading(file) as loads:
        assert await slope(loads) == 1
        worker = loads.engine.workers[0]
        await loaded(loads, file, scaled(2))
        assert await slope(loads) == 2
        assert loads.engine.workers[0] != worker
        assert (loads.state()["first"], loads.trouble) == ("Scaled", None)
        await becomes(lambda: not alive(worker))


@pytest.mark.parametrize("after", ["", "raise ValueError\n"])
@awaited
async def test_a_temporary_folder_of_the_file_goes_with_its_worker(file: Path, after: str) -> None:
    folder = file.with_name("temporary")
    folder.mkdir()
    making = f"import tempfile\nMINE = tempfile.TemporaryDirectory(dir={str(folder)!r})\n"
    save(file, making + after + scaled(1))
    async with loading(file) as loads:
        assert after or len(list(folder.iterdir())) == 1
        save(file, scaled(2))
        await until(loads, lambda: loads.generation == 2 and not loads.trouble)
        await becomes(lambda: not [*folder.iterdir()])


@awaited
async def test_a_worker_that_does_not_come_to_its_end_is_ended(file: Path) -> None:
    ending = "import atexit, signal\natexit.register(signal.pause)\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    save(file, ending + scaled(1))
    async with loading(file) as loads:
        worker = loads.engine.workers[0]
        save(file, scaled(2))
        await until(loads, lambda: loads.generation == 2)
        assert await slope(loads) == 2
        await becomes(lambda: not alive(worker))


@awaited
async def test_a_broken_save_leaves_the_last_good_load_and_says_where_and_a_good_one_goes_on(file: Path) -> None:
    async with loading(file) as loads:
        good = loads.state()["digests"]
        save(file, scaled(2).replace("return 2 * x", "return 2 *"))
        await until(loads, lambda: loads.trouble is not None)
        assert (loads.trouble["kind"], loads.trouble["line"]) == ("SyntaxError", 9)
        assert dict(loads.trouble["excerpt"])[9] == "        return 2 *"
        assert loads.state()["digests"] == good
        assert await slope(loads) == 1
        save(file, scaled(3))
        await until(loads, lambda: loads.trouble is None)
        assert await slope(loads) == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import os\nos._exit(3)\n", "exit with code 3"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n", "SIGSEGV"),
        ("raise SystemExit\n", "my_ops.py"),
        ("import not_there_at_all\n", "not_there_at_all"),
        ("", "my_ops.py"),
    ],
)
@awaited
async def test_whatever_an_import_does_the_last_good_load_stays(file: Path, text: str, said: str) -> None:
    async with loading(file) as loads:
        save(file, text)
        await until(loads, lambda: loads.trouble is not None)
        assert said in loads.trouble["sentence"]
        assert await slope(loads) == 1


@awaited
async def test_the_terminal_hears_of_a_trouble_once_and_of_its_end(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="gradloupe")
    async with loading(file) as loads:
        save(file, "x = (1,\n")
        await until(loads, lambda: loads.trouble)
        broken = loads.generation
        await loads.reload()
        assert loads.generation > broken
        save(file, scaled(2))
        await until(loads, lambda: not loads.trouble)
    (told, after) = [each.getMessage() for each in caplog.records if each.name == "gradloupe"]
    assert "my_ops.py, line 1" in told
    assert "1 Function" in after


@awaited
async def test_a_save_during_a_load_that_never_ends_is_loaded_at_once(file: Path) -> None:
    async with loading(file) as loads:
        save(file, "while True:\n    pass\n")
        await until(loads, lambda: loads.state()["loading"])
        assert await slope(loads) == 1
        save(file, scaled(2))
        await until(loads, lambda: loads.generation == 2, Job.loading / 2)  # that of the other is not waited for
        assert await slope(loads) == 2


WRITES = """
import importlib, itertools, os, sys

sys.path.insert(0, os.path.dirname(__file__))
NUMBERS = itertools.count()


def factor():
    name = f"made_{os.getpid()}_{next(NUMBERS)}"
    with open(os.path.join(os.path.dirname(__file__), name + ".py"), "w") as module:
        module.write("FACTOR = 4")
    importlib.invalidate_caches()
    return importlib.import_module(name).FACTOR
"""


@awaited
async def test_what_a_call_has_written_itself_is_not_followed(file: Path) -> None:
    save(file, SCALED.replace("FACTOR", "factor()") + WRITES)
    async with loading(file) as loads:
        for _ in range(3):
            assert await slope(loads) == 4
        assert loads.generation == 1
        save(file, scaled(2))
        await until(loads, lambda: loads.generation > 1)
        assert loads.generation == 2


IN_A_CALL = SCALED.replace("FACTOR", "factor()") + "\n\ndef factor():\n    import factors\n    return factors.FACTOR\n"


@pytest.mark.parametrize("text", [f"from factors import FACTOR\n{SCALED}", IN_A_CALL])
@awaited
async def test_what_the_file_or_only_a_call_imports_is_followed_from_then_on(file: Path, text: str) -> None:
    helper = file.with_name("factors.py")
    save(helper, "FACTOR = 4\n")
    save(file, text)
    async with loading(file) as loads:
        assert await slope(loads) == 4
        for number, asked in ((5, True), (6, False), (7, True)):
            await loaded(loads, helper, f"FACTOR = {number}\n")
            assert not asked or await slope(loads) == number


@awaited
async def test_a_module_that_was_missing_is_found_as_soon_as_it_is_there(file: Path) -> None:
    save(file, "from factors import FACTOR\n" + SCALED)
    async with loading(file) as loads:
        assert "factors" in str(loads.trouble)
        assert loads.state()["first"] is None
        save(file.with_name("factors.py"), "FACTOR = 6\n")
        await until(loads, lambda: loads.trouble is None)
        assert await slope(loads) == 6


@awaited
async def test_a_file_that_is_taken_away_is_missed_and_welcome_back(file: Path) -> None:
    async with loading(file) as loads:
        os.rename(file, file.with_suffix(".away"))
        await until(loads, lambda: loads.trouble is not None)
        assert "my_ops.py was deleted or moved" in loads.trouble["sentence"]
        assert await slope(loads) == 1
        os.rename(file.with_suffix(".away"), file)
        await until(loads, lambda: loads.trouble is None)


@awaited
async def test_a_pipe_in_the_place_of_the_file_is_not_waited_for(file: Path) -> None:
    async with loading(file) as loads:
        os.remove(file)
        os.mkfifo(file)
        await until(loads, lambda: loads.trouble is not None and "neither a file" in loads.trouble["sentence"])
        os.remove(file)
        save(file, scaled(2))
        await until(loads, lambda: loads.trouble is None)
        assert await slope(loads) == 2


@awaited
async def test_a_name_that_is_no_text_beside_the_file_is_no_trouble(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    beside = os.path.join(os.fsencode(file.parent), b"\xff.py")
    async with loading(file) as loads:
        os.mkdir(beside)
        save(file, scaled(2))
        await until(loads, lambda: loads.generation == 2)
        assert await slope(loads) == 2
    assert [each.message for each in caplog.records if each.levelname == "ERROR"] == []


@awaited
async def test_who_asks_for_it_has_the_same_files_loaded_again(file: Path) -> None:
    async with loading(file) as loads:
        before, worker = loads.state(), loads.engine.workers[0]
        await loads.reload()
        assert loads.engine.workers[0] != worker
        now = loads.state()
        assert now | {"digests": {}} == before | {"generation": 2, "digests": {}}
        # What is read beside the source may have changed, so that nothing that was kept may be shown again.
        assert now["digests"].keys() == before["digests"].keys()
        assert not set(now["digests"].values()) & set(before["digests"].values())
        assert await slope(loads) == 1


@awaited
async def test_whoever_listens_is_told_the_present_state_and_every_other_until_the_end(file: Path) -> None:
    async with loading(file) as loads:
        told: list[list[int]] = [[], [], []]

        async def listen(mine: list[int]) -> None:
            async for state in loads.changes():
                mine.append(state["generation"])

        listening = [asyncio.create_task(listen(mine)) for mine in told]
        for generation in (2, 3):
            await loads.reload()
            await becomes(lambda generation=generation: all(generation in mine for mine in told))
        loads.end()
        await asyncio.wait_for(asyncio.gather(*listening), 60)
        assert [list(dict.fromkeys(mine)) for mine in told] == [[1, 2, 3]] * 3  # a slow load is told of, too


@awaited
async def test_a_question_under_way_is_answered_by_the_version_it_was_asked_of(file: Path) -> None:
    held = file.with_name("held")
    waits = f"import os\n        while os.path.exists({str(held)!r}):\n            pass\n        return 7 * x"
    save(file, scaled(7).replace("return 7 * x", waits))
    async with loading(file) as loads:
        assert await slope(loads) == 7
        save(held, "")
        asked = asyncio.create_task(slope(loads))
        await becomes(lambda: loads.engine.waiting)
        await loaded(loads, file, scaled(8))
        assert not asked.done()
        assert await slope(loads) == 8
        os.unlink(held)
        assert await asked == 7


@pytest.mark.nightly
@awaited
async def test_saves_in_a_row_lose_no_question_and_mix_no_answers(file: Path) -> None:
    async with loading(file) as loads:
        saved, answers, going = [1.0], 0, True

        async def ask() -> None:
            nonlocal answers
            while going:
                known = saved[-2:]
                value = await slope(loads)
                assert value >= known[0], "an answer by a version from before the last load"
                assert value in saved
                answers += 1

        asking = [asyncio.create_task(ask()) for _ in range(3)]
        for number in range(2, RELOADS + 2):
            saved.append(float(number))
            generation = loads.generation
            save(file, scaled(number))
            await until(loads, lambda known=generation: loads.generation > known)
            assert await slope(loads) == number
        going = False
        await asyncio.gather(*asking)
        assert answers > RELOADS


@awaited
async def test_a_module_of_a_package_is_followed_with_what_it_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "mine"
    package.mkdir()
    save(package / "__init__.py", "")
    save(package / "factors.py", "FACTOR = 4\n")
    save(package / "ops.py", "from .factors import FACTOR\n" + SCALED)
    monkeypatch.chdir(tmp_path)
    async with loading("mine.ops") as loads:
        assert await slope(loads) == 4
        for name, text, factor in (("factors", "FACTOR = 5\n", 5), ("ops", scaled(6), 6)):
            await loaded(loads, package / f"{name}.py", text)
            assert await slope(loads) == factor
