"""The watcher: what is saved is heard of once, however an editor saves it, and nothing else is."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from support.event_loop import awaited

from gradloupe.server.reload.file_watcher import FileWatcher


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """What is watched."""
    path = tmp_path / "my_ops.py"
    path.write_text("first = 1\n")
    return path


@asynccontextmanager
async def heard(watcher: FileWatcher) -> AsyncIterator[Callable[[], Coroutine[Any, Any, list[Path]]]]:
    """What returns the files that are gone when it tells of the next save."""
    async with aclosing(watcher.saves()) as saves:
        yield lambda: asyncio.wait_for(anext(saves), 60)


async def stirred(watcher: FileWatcher, deed: Callable[[], object]) -> None:
    """Do that, and return when the watcher has been told of it."""
    before = watcher.stirs
    deed()
    async with asyncio.timeout(60):
        while watcher.stirs == before:  # noqa: ASYNC110 - a number is all there is to wait for
            await asyncio.sleep(0.001)


async def at_work(watcher: FileWatcher, file: Path) -> None:
    """Return when the watcher is told what happens to the file."""
    async with asyncio.timeout(60):
        while not watcher.stirs:
            os.utime(file)
            await asyncio.sleep(0.001)


def save(file: Path, text: str = "saved = 1\n") -> None:
    file.write_text(text)


def text_of(file: Path) -> str:
    return file.read_text()


def rename_over(file: Path) -> None:
    save(beside := file.with_suffix(".py.tmp"))
    os.replace(beside, file)


def keep_a_backup(file: Path) -> None:
    os.rename(file, backup := file.with_name("my_ops.py~"))
    save(file)
    os.unlink(backup)


def save_often(file: Path) -> None:
    for number in range(100):
        save(file, f"saved = {number}\n" * 50)
    save(file)


# The steps of a save; the watcher is told of each before the next.
SAVES: dict[str, list[Callable[[Path], object]]] = {
    "overwritten": [save],
    "renamed over, as vim, black and most others do": [rename_over],
    "kept as a backup, as vim does with backupcopy=no": [keep_a_backup],
    "emptied first": [lambda file: save(file, ""), save],
    "in two halves": [lambda file: save(file, "sav"), lambda file: save(file, text_of(file) + "ed = 1\n")],
    "deleted and created": [Path.unlink, save],
    "in a burst": [save_often],
}


@pytest.mark.parametrize("steps", SAVES.values(), ids=SAVES)
@awaited
async def test_a_save_is_heard_of_once_and_whole(file: Path, steps: list[Callable[[Path], object]]) -> None:
    watcher = FileWatcher([file])
    async with heard(watcher) as news:
        listening = asyncio.create_task(news())
        await at_work(watcher, file)
        *first, last = steps
        for step in first:
            await stirred(watcher, lambda step=step: step(file))
        last(file)
        assert await listening == []
        assert text_of(file) == "saved = 1\n"
        listening = asyncio.create_task(news())
        await stirred(watcher, lambda: os.utime(file))
        save(file, "next = 1\n")
        assert await listening == []
        assert text_of(file) == "next = 1\n"


@awaited
async def test_a_file_that_was_only_touched_is_no_save(file: Path) -> None:
    watcher = FileWatcher([file])
    async with heard(watcher) as news:
        listening = asyncio.create_task(news())
        await at_work(watcher, file)
        for _ in range(3):
            await stirred(watcher, lambda: os.utime(file))
        await stirred(watcher, lambda: save(file, "first = 1\n"))
        assert not listening.done()
        save(file)
        assert await listening == []


@awaited
async def test_what_was_saved_before_anybody_listened_is_heard_of(file: Path) -> None:
    watcher = FileWatcher([file])
    save(file)
    async with heard(watcher) as news:
        assert await news() == []


@awaited
async def test_a_file_that_stays_away_is_told_and_so_is_its_return(file: Path) -> None:
    watcher = FileWatcher([file])
    async with heard(watcher) as news:
        os.unlink(file)
        assert await news() == [file]
        save(file, "first = 1\n")
        assert await news() == []


@awaited
async def test_a_folder_that_is_replaced_is_followed(tmp_path: Path) -> None:
    """As when another branch is checked out."""
    folder = tmp_path / "code"
    os.mkdir(folder)
    file = folder / "my_ops.py"
    save(file, "first = 1\n")
    watcher = FileWatcher([file])
    async with heard(watcher) as news:
        listening = asyncio.create_task(news())
        await at_work(watcher, file)
        shutil.rmtree(folder)
        os.mkdir(folder)
        save(file, "branch = 1\n")
        assert await listening == []
        for text in ("once = 1\n", "twice = 1\n"):
            save(file, text)
            assert await news() == []
            assert text_of(file) == text


@awaited
async def test_a_file_behind_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "here").mkdir()
    real, link = tmp_path / "there" / "real.py", tmp_path / "here" / "my_ops.py"
    save(real, "first = 1\n")
    link.symlink_to(real)
    watcher = FileWatcher([link])
    async with heard(watcher) as news:
        listening = asyncio.create_task(news())
        save(real)
        assert await listening == []


@awaited
async def test_while_it_looks_wide_a_module_that_appears_beside_is_heard_of(file: Path) -> None:
    watcher = FileWatcher([file])
    async with heard(watcher) as news:
        watcher.follow([file], wide=True)
        listening = asyncio.create_task(news())
        await at_work(watcher, file)
        save(file.with_name("notes.txt"), "nothing to import\n")
        save(file.with_name("helper.py"), "half = 2\n")
        assert await listening == []
        watcher.follow([file], wide=False)
        listening = asyncio.create_task(news())
        save(file.with_name("helper.py"), "half = 3\n")
        await stirred(watcher, lambda: os.utime(file))
        assert not listening.done()
        save(file)
        assert await listening == []


@awaited
async def test_other_folders_are_followed_as_soon_as_they_are_named(file: Path, tmp_path: Path) -> None:
    helper = tmp_path / "lib" / "helper.py"
    helper.parent.mkdir()
    save(helper, "half = 2\n")
    watcher = FileWatcher([file])
    async with heard(watcher) as news:
        listening = asyncio.create_task(news())
        await at_work(watcher, file)
        watcher.follow([file, helper], wide=False)
        save(helper, "half = 3\n")
        assert await listening == []


@awaited
async def test_where_nothing_is_reported_it_looks_itself(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a drive over the network, or one of the system around this one."""
    monkeypatch.setattr("gradloupe.server.reload.file_watcher.awatch", _refused)
    watcher = FileWatcher([file])
    async with heard(watcher) as news:
        listening = asyncio.create_task(news())
        save(file)
        assert await listening == []


async def _refused(*folders: Path, **options: object) -> AsyncIterator[None]:
    raise OSError("OS file watch limit reached")
    yield
