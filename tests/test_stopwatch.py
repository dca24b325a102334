"""The clock of what is asked of a Function: others that compute do not make it slow, and whoever sleeps is."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from gradloupe.server.numerics import stopwatch
from gradloupe.server.numerics.contract.patience import TookTooLong, within

OTHERS = 3
COMPUTES = "print(flush=True)\nwhile True: pass"


@pytest.fixture
def crowd() -> Iterator[None]:
    """This process has one processor, and shares it with others that always compute."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    others = [subprocess.Popen([sys.executable, "-c", COMPUTES], stdout=subprocess.PIPE) for _ in range(OTHERS)]
    try:
        for each in others:
            assert each.stdout is not None
            each.stdout.readline()
        yield
    finally:
        os.sched_setaffinity(0, before)
        for each in others:
            each.kill()
            each.communicate()


def compute(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


@pytest.mark.usefixtures("crowd")
def test_it_stands_while_others_have_the_processor() -> None:
    began, wall = stopwatch.now(), time.monotonic()
    compute(0.5)
    passed, wall = stopwatch.now() - began, time.monotonic() - wall
    assert 0.45 < passed < 0.75
    assert wall > 1


@pytest.mark.usefixtures("crowd")
def test_a_function_that_waits_for_the_processor_is_not_called_slow() -> None:
    with within(0.5):
        compute(0.25)


@pytest.mark.usefixtures("crowd")
def test_one_that_computes_for_ever_is_interrupted_all_the_same() -> None:
    with pytest.raises(TookTooLong, match=r"it was not back after 0.2 s"), within(0.2):
        compute(60)


def test_whoever_waits_for_something_else_is_interrupted() -> None:
    began = stopwatch.now()
    with pytest.raises(TookTooLong), within(0.1):
        threading.Event().wait(60)
    assert stopwatch.now() - began > 0.05


def test_where_the_system_does_not_tell_it_is_the_clock_on_the_wall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopwatch, "SCHEDULED", "/nowhere")
    before = time.monotonic()
    now = stopwatch.now()
    assert before <= now <= time.monotonic()


@pytest.mark.usefixtures("crowd")
def test_a_call_takes_what_it_computes_and_sleeps() -> None:
    assert 0.25 <= stopwatch.taken(lambda: compute(0.25)) < 0.4
    assert stopwatch.taken(lambda: threading.Event().wait(0.1)) > 0.09
