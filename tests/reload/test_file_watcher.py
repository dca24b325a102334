"""The watcher: what is saved is heard of once, however an editor saves it, and nothing else is."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest
from support import event_loop

from gradloupe.server.reload.file_watcher import FileWatcher

Deed = Callable[[Path, FileWatcher], Awaitable[None]]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """What is watched."""
    path = tmp_path / "my_ops.py"
    path.write_text("first = 1\n")
    return path


class Heard:
    """What a watcher tells, one after the other."""

    def __init__(self, saves: AsyncGenerator[list[Path], None]) -> None:
        self._saves = saves
        self.times = 0

    async def next(self) -> list[Path]:
        gone = await asyncio.wait_for(anext(self._saves), 60)
        self.times += 1
        return gone


@asynccontextmanager
async def heard(watcher: FileWatcher) -> AsyncIterator[Heard]:
    async with aclosing(watcher.saves()) as saves:
        yield Heard(saves)


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


def save(file: Path, text: str) -> None:
    file.write_text(text)


def append(file: Path, text: str) -> None:
    with file.open("a") as half:
        half.write(text)


def text_of(file: Path) -> str:
    return file.read_text()


async def overwritten(file: Path, watcher: FileWatcher) -> None:
    save(file, "saved = 1\n")


async def renamed_over(file: Path, watcher: FileWatcher) -> None:
    """As vim, black and most others do it."""
    beside = file.with_suffix(".py.tmp")
    save(beside, "saved = 1\n")
    os.replace(beside, file)


async def kept_as_a_backup(file: Path, watcher: FileWatcher) -> None:
    """As vim does it with `backupcopy=no`."""
    backup = file.with_name("my_ops.py~")
    os.rename(file, backup)
    save(file, "saved = 1\n")
    os.unlink(backup)


async def emptied_first(file: Path, watcher: FileWatcher) -> None:
    await stirred(watcher, lambda: save(file, ""))
    save(file, "saved = 1\n")


async def in_two_halves(file: Path, watcher: FileWatcher) -> None:
    await stirred(watcher, lambda: save(file, "sav"))
    append(file, "ed = 1\n")


async def deleted_and_created(file: Path, watcher: FileWatcher) -> None:
    await stirred(watcher, file.unlink)
    save(file, "saved = 1\n")


async def in_a_burst(file: Path, watcher: FileWatcher) -> None:
    for number in range(100):
        save(file, f"saved = {number}\n" * 50)
    save(file, "saved = 1\n")


@pytest.mark.parametrize(
    "deed",
    [
        overwritten,
        renamed_over,
        kept_as_a_backup,
        emptied_first,
        in_two_halves,
        deleted_and_created,
        in_a_burst,
    ],
)
def test_a_save_is_heard_of_once_and_whole(file: Path, deed: Deed) -> None:
    async def scene() -> None:
        watcher = FileWatcher([file])
        async with heard(watcher) as news:
            listening = asyncio.create_task(news.next())
            await at_work(watcher, file)
            await deed(file, watcher)
            assert await listening == []
            assert text_of(file) == "saved = 1\n"
            listening = asyncio.create_task(news.next())
            await stirred(watcher, lambda: os.utime(file))
            save(file, "next = 1\n")
            assert await listening == []
            assert (text_of(file), news.times) == ("next = 1\n", 2)

    event_loop.run(scene())


def test_a_file_that_was_only_touched_is_no_save(file: Path) -> None:
    async def scene() -> None:
        watcher = FileWatcher([file])
        async with heard(watcher) as news:
            listening = asyncio.create_task(news.next())
            await at_work(watcher, file)
            for _ in range(3):
                await stirred(watcher, lambda: os.utime(file))
            await stirred(watcher, lambda: save(file, "first = 1\n"))
            assert not listening.done()
            save(file, "saved = 1\n")
            assert await listening == []

    event_loop.run(scene())


def test_what_was_saved_before_anybody_listened_is_heard_of(file: Path) -> None:
    async def scene() -> None:
        watcher = FileWatcher([file])
        save(file, "saved = 1\n")
        async with heard(watcher) as news:
            assert await news.next() == []

    event_loop.run(scene())


def test_a_file_that_stays_away_is_told_and_so_is_its_return(file: Path) -> None:
    async def scene() -> None:
        watcher = FileWatcher([file])
        async with heard(watcher) as news:
            os.unlink(file)
            assert await news.next() == [file]
            save(file, "first = 1\n")
            assert await news.next() == []

    event_loop.run(scene())


def test_a_folder_that_is_replaced_is_followed(tmp_path: Path) -> None:
    """As when another branch is checked out."""

    async def scene() -> None:
        folder = tmp_path / "code"
        os.mkdir(folder)
        file = folder / "my_ops.py"
        save(file, "first = 1\n")
        watcher = FileWatcher([file])
        async with heard(watcher) as news:
            listening = asyncio.create_task(news.next())
            await at_work(watcher, file)
            shutil.rmtree(folder)
            os.mkdir(folder)
            save(file, "branch = 1\n")
            assert await listening == []
            for text in ("once = 1\n", "twice = 1\n"):
                save(file, text)
                assert await news.next() == []
                assert text_of(file) == text

    event_loop.run(scene())


def test_a_file_behind_a_link_is_followed(tmp_path: Path) -> None:
    async def scene() -> None:
        (tmp_path / "there").mkdir()
        (tmp_path / "here").mkdir()
        real, link = tmp_path / "there" / "real.py", tmp_path / "here" / "my_ops.py"
        save(real, "first = 1\n")
        link.symlink_to(real)
        watcher = FileWatcher([link])
        async with heard(watcher) as news:
            listening = asyncio.create_task(news.next())
            save(real, "saved = 1\n")
            assert await listening == []

    event_loop.run(scene())


def test_while_it_looks_wide_a_module_that_appears_beside_is_heard_of(file: Path) -> None:
    async def scene() -> None:
        watcher = FileWatcher([file])
        async with heard(watcher) as news:
            watcher.follow([file], wide=True)
            listening = asyncio.create_task(news.next())
            await at_work(watcher, file)
            save(file.with_name("notes.txt"), "nothing to import\n")
            save(file.with_name("helper.py"), "half = 2\n")
            assert await listening == []
            watcher.follow([file], wide=False)
            listening = asyncio.create_task(news.next())
            save(file.with_name("helper.py"), "half = 3\n")
            await stirred(watcher, lambda: os.utime(file))
            assert not listening.done()
            save(file, "saved = 1\n")
            assert await listening == []

    event_loop.run(scene())


def test_other_folders_are_followed_as_soon_as_they_are_named(file: Path, tmp_path: Path) -> None:
    async def scene() -> None:
        helper = tmp_path / "lib" / "helper.py"
        helper.parent.mkdir()
        save(helper, "half = 2\n")
        watcher = FileWatcher([file])
        async with heard(watcher) as news:
            listening = asyncio.create_task(news.next())
            await at_work(watcher, file)
            watcher.follow([file, helper], wide=False)
            save(helper, "half = 3\n")
            assert await listening == []

    event_loop.run(scene())


def test_where_nothing_is_reported_it_looks_itself(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a drive over the network, or one of the system around this one."""

    async def scene() -> None:
        watcher = FileWatcher([file])
        async with heard(watcher) as news:
            listening = asyncio.create_task(news.next())
            save(file, "saved = 1\n")
            assert await listening == []

    monkeypatch.setattr("gradloupe.server.reload.file_watcher.awatch", _refused)
    event_loop.run(scene())


async def _refused(*folders: Path, **options: object) -> AsyncIterator[None]:
    raise OSError("OS file watch limit reached")
    yield
