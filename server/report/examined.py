"""All Functions of some targets, one after the other, in a worker of their own: a crash costs only the one that did."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import Any

from ..denial import EngineBroken
from ..engine import Engine
from ..process import WorkerProcess
from .asked import asked
from .found import Found, Report

NOWHERE: dict[str, Any] = {"kind": "", "file": "", "line": None, "excerpt": [], "traceback": ""}


class NoSuchFunction(Exception):
    """A name that was allowed to differ is that of no Function; the message says which there are."""


async def examined(process: WorkerProcess, allowed: Collection[str], tell: Callable[[int, int, str], None]) -> Report:
    """The report on the Functions that ``process`` imports; ``tell`` hears how many there are, and which is next.

    Raises ``NoSuchFunction``.
    """
    began, targets = time.monotonic(), process.work.targets
    engine = Engine(process)
    await engine.connect()
    try:
        names = list(await engine.catalogue())
        _check(allowed, names)
        found = list[Found]()
        for number, name in enumerate(names):
            tell(number, len(names), name)
            found.append(await asked(engine, name, name in allowed))
        device = await engine.device()
        seconds = time.monotonic() - began
        kind = next(each["name"] for each in device["devices"] if each["kind"] == device["auto"])
        return Report(targets, tuple(found), None, device["torch"], kind, seconds)
    except EngineBroken as broken:
        trouble = engine.trouble or {**NOWHERE, "sentence": str(broken)}
        return Report(targets, (), trouble, seconds=time.monotonic() - began)
    finally:
        await engine.close()


def _check(allowed: Collection[str], names: list[str]) -> None:
    strangers = [each for each in allowed if each not in names]
    if strangers:
        there = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
        raise NoSuchFunction(f"--allow {strangers[0]} names no Function that was found; there are {there}.")
