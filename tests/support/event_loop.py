"""What is awaited in a test, run in a loop of its own, whatever else runs in this process."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import Any, ParamSpec, TypeVar

SECONDS = 300.0  # after them the test fails where it waits
T = TypeVar("T")
P = ParamSpec("P")


def run(scene: Coroutine[Any, Any, T]) -> T:
    """What ``scene`` returns; in this thread the browser's own loop may be running."""
    with ThreadPoolExecutor(1) as alone:
        return alone.submit(asyncio.run, asyncio.wait_for(scene, SECONDS)).result()


def awaited(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """A test that awaits, as pytest calls it."""

    @wraps(test)
    def run_test(*arguments: P.args, **fixtures: P.kwargs) -> None:
        run(test(*arguments, **fixtures))

    return run_test
