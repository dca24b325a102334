"""The clock of what is asked of a Function: others that compute do not make it slow, and whoever sleeps is."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from crowd import crowded

from gradloupe.server.numerics import stopwatch
from gradloupe.server.numerics.contract.patience import TookTooLong, within


@pytest.fixture
def crowd() -> Iterator[None]:
    with crowded():
        yield


def compute(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


@pytest.mark.usefixtures("crowd")
def test_it_stands_while_others_have_the_processor() -> None:
    began, wall = stopwatch.now(), time.monotonic()
    compute(0.5)
    passed, wall = stopwatch.now() - began, time.monotonic() - wall
    assert 0.45 < passed < 0.7 * wall


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
    wall = time.monotonic()
    assert 0.25 <= stopwatch.taken(lambda: compute(0.25)) < 0.7 * (time.monotonic() - wall)
    assert stopwatch.taken(lambda: threading.Event().wait(0.1)) > 0.09
