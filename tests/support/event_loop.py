"""What is awaited in a test, run in a loop of its own, whatever else runs in this process."""

import asyncio
import faulthandler
import sys
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import Any, ParamSpec, TypeVar

SECONDS = 300.0  # after them the test fails, and it is said where each task and each thread waits
T = TypeVar("T")
P = ParamSpec("P")


def run(scene: Coroutine[Any, Any, T]) -> T:
    """What ``scene`` returns; in this thread the browser's own loop may be running."""
    with ThreadPoolExecutor(1) as alone:
        return alone.submit(asyncio.run, _within_its_time(scene)).result()


async def _within_its_time(scene: Coroutine[Any, Any, T]) -> T:
    task = asyncio.create_task(scene)
    await asyncio.wait({task}, timeout=SECONDS)
    if task.done():
        return task.result()
    for waiting in asyncio.all_tasks():
        waiting.print_stack(file=sys.stderr)
    faulthandler.dump_traceback(sys.__stderr__)
    task.cancel()
    await asyncio.wait({task})
    raise TimeoutError(f"not done after {SECONDS:g} s")


def awaited(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """A test that awaits, as pytest calls it."""

    @wraps(test)
    def run_test(*arguments: P.args, **fixtures: P.kwargs) -> None:
        run(test(*arguments, **fixtures))

    return run_test
