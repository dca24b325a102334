"""The command ``gradloupe TARGET --publish FOLDER``: measures, writes the folder, says what it did; its exit code."""

import asyncio
import sys
import time
from pathlib import Path

from ..config.settings import Settings
from ..html.course import read_course
from ..numbered_files import NumberedFolders
from ..protocol.errors import EngineBroken, EngineBusy
from ..standard_streams import progress_bar
from ..supervisor.engine import Engine
from ..supervisor.worker_process import WorkerProcess
from ..url.numbers import BadQuery
from .folder import FolderRefused, Written, our_files, write_folder
from .page import Published
from .site import NothingPublished, planned_site, site_files


def run_publish(process: WorkerProcess, chosen: Settings, folders: NumberedFolders) -> int:
    """Publish what ``process`` imports into the folder that is ``chosen``; 0, or 2 where it cannot be.

    Raises ``KeyboardInterrupt``, and then nothing is written.
    """
    folder, began = Path(chosen.publish), time.monotonic()
    try:
        our_files(folder)
        files, entries = asyncio.run(_measured(process, chosen, folders))
        written = write_folder(folder, files)
    except (FolderRefused, NothingPublished, EngineBroken, BadQuery) as refused:
        sys.stderr.write(f"gradloupe: {refused}\n")
        return 2
    except EngineBusy:  # cancelled while it waited for an answer
        raise KeyboardInterrupt from None
    except OSError as problem:
        sys.stderr.write(f"gradloupe: {folder} cannot be written: {problem.strerror or problem}. It is as it was.\n")
        return 2
    _say(folder, written, entries, time.monotonic() - began)
    return 0


async def _measured(
    process: WorkerProcess, chosen: Settings, folders: NumberedFolders
) -> tuple[dict[str, bytes], tuple[Published, ...]]:
    engine = Engine(process)
    await engine.connect()
    try:
        plan = await planned_site(engine, read_course(folders), chosen.op, chosen.sliders)
        count = len(plan.functions)
        taught = len(plan.lessons)
        lessons = f" and {taught} lesson{'s' * (taught != 1)}" if taught else ""
        sys.stderr.write(f"{count} Function{'s' * (count != 1)}{lessons}: {plan.questions} sections and pictures.\n")
        title = ", ".join(Path(each).name for each in chosen.targets) or "Gradloupe"
        with progress_bar("measuring", plan.questions, sys.stderr.isatty()) as update:
            return await site_files(engine, plan, title, lambda: update(advance=1))
    finally:
        await engine.close()


def _say(folder: Path, written: Written, entries: tuple[Published, ...], seconds: float) -> None:
    for each in entries:
        if each.plan.why:
            name = each.plan.about["stub"]["name"]
            sys.stderr.write(f"{name} has a page that says why it cannot be called: {each.plan.why}\n")
    if not written.changed and not written.gone:
        print(f"{folder}/ is as it was: none of its {written.files} files has changed, in {seconds:.1f} s.")
        return
    gone = f", {written.gone} are gone" if written.gone else ""
    size = f"{written.bytes / 1e6:.1f} MB"
    print(f"Wrote {written.changed} of {written.files} files to {folder}/, {size}{gone}, in {seconds:.1f} s.")
    print(f"Open {folder / 'index.html'}, or put the folder on any web server.")
