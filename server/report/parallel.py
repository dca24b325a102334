"""One target that cannot be loaded takes nothing from the others: those that can be are examined together."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from ..protocol.errors import EngineBroken
from ..protocol.job import Work
from ..protocol.load_error import trouble
from ..supervisor.engine import Engine
from ..supervisor.worker_process import WorkerProcess
from .allowlist import NothingToAllow
from .report_data import Found, Report
from .runner import Tell, examined


async def each_of(
    process: WorkerProcess, allowed: Collection[str], tell: Tell, drawn: bool, found: dict[int, Found]
) -> Report:
    """What ``examined`` says of all targets; where they cannot be loaded, of those that can, and why the others cannot.

    Raises ``NothingToAllow``.
    """
    together = await examined(process, allowed, tell, drawn, found)
    work = process.work
    if not together.troubles or together.found or len(work.targets) == 1:
        return together
    whys = {target: await _why(replace(work, targets=(target,))) for target in work.targets}
    good = tuple(target for target, why in whys.items() if why is None)
    troubles = tuple({"target": target} | why for target, why in whys.items() if why is not None)
    if not troubles:  # they cannot be loaded beside one another
        return together
    if not good:
        return replace(together, troubles=troubles)
    try:
        rest = await examined(WorkerProcess(replace(work, targets=good)), allowed, tell, drawn, found)
    except (NothingToAllow, OSError):  # what is allowed may be in what cannot be loaded
        return replace(together, troubles=troubles)
    return replace(rest, targets=work.targets, troubles=(*troubles, *rest.troubles))


async def _why(work: Work) -> dict[str, Any] | None:
    """Why a target cannot be loaded, None if it can."""
    try:
        engine = Engine.spawn(work)
    except OSError as refused:
        return trouble(f"No worker process can be started: {refused}.")
    await engine.connect()
    try:
        await engine.catalogue()
    except EngineBroken as broken:
        return engine.trouble or trouble(str(broken))
    finally:
        await engine.close()
    return None
