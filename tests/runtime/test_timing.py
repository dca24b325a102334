"""The clock of what is asked of a Function: others that compute do not make it slow, and whoever sleeps is."""

import gc
import inspect
import subprocess
import sys
import threading
import time
from itertools import chain, repeat

import pytest
import torch
from support.busy_cpu import crowded
from support.sections import Counted

from gradloupe.server.runtime import TookTooLong, time_limit, timing
from gradloupe.server.runtime.timing import minimum_time


def compute(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def test_it_stands_while_others_have_the_processor_and_never_runs_back() -> None:
    with crowded():
        began, wall = timing.now(), time.monotonic()
        with time_limit(0.4):
            compute(0.2)  # waits for longer than the limit
        passed, wall = timing.now() - began, time.monotonic() - wall
        readings = [timing.now() for _ in range(20_000)]
    assert 0.15 < passed < 0.7 * wall
    assert readings == sorted(readings)


def test_one_that_computes_for_ever_is_interrupted() -> None:
    with pytest.raises(TookTooLong, match=r"within 0.2 s"), time_limit(0.2):
        compute(60)


def test_whoever_waits_for_something_else_is_interrupted() -> None:
    began = timing.now()
    with pytest.raises(TookTooLong), time_limit(0.1):
        threading.Event().wait(60)
    assert timing.now() - began > 0.05


def test_a_callback_of_the_garbage_collector_is_finished_before_the_interruption() -> None:
    finished: list[bool] = []

    def callback(phase: str, info: dict[str, int]) -> None:
        finished.append(False)
        compute(0.1)
        finished[-1] = True

    def work() -> None:
        gc.collect(0)
        compute(60)

    gc.collect()  # what others have left behind is not to be finalized within the limit
    gc.callbacks.append(callback)
    try:
        with pytest.raises(TookTooLong), time_limit(0.1):
            work()
    finally:
        gc.callbacks.remove(callback)
    assert finished
    assert all(finished)


def test_where_the_system_does_not_tell_it_is_the_clock_on_the_wall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "SCHEDULED", "/nowhere")
    before = time.monotonic()
    now = timing.now()
    assert before <= now <= time.monotonic()


def naps() -> None:
    for _ in range(5):
        threading.Event().wait(1e-3)
        compute(0.05)


def test_a_call_takes_what_it_computes_and_sleeps() -> None:
    assert timing.time_short_call(lambda: compute(0.05)) >= 0.05
    assert timing.time_short_call(lambda: threading.Event().wait(0.1)) > 0.09
    assert timing.time_by_clock(naps) >= 0.25


# In a process of its own, as a worker's: whoever has waited for a lock that another thread holds is not told from one
# that sleeps.
FIVE_CALLS = f"""
import time
from gradloupe.server.runtime import timing

{inspect.getsource(compute)}
began = time.monotonic()
print(min(timing.time_short_call(lambda: compute(0.05)) for _ in range(5)), (time.monotonic() - began) / 5)
"""


@pytest.mark.nightly
def test_a_call_does_not_take_what_it_waits_for_the_processor() -> None:
    with crowded():
        seconds, by_the_wall = map(float, subprocess.check_output([sys.executable, "-c", FIVE_CALLS]).split())
    assert 0.05 <= seconds < 0.7 * by_the_wall


@pytest.mark.nightly
def test_whoever_sleeps_and_has_to_wait_for_the_processor_then_has_not_slept_for_longer() -> None:
    with crowded():
        began = time.monotonic()
        assert 0.25 <= timing.time_by_clock(naps) < 0.7 * (time.monotonic() - began)


def test_a_call_that_is_held_up_for_a_while_is_not_called_slow() -> None:
    lengths = chain([2e-3] * 20, repeat(1e-5))
    assert minimum_time(lambda: compute(next(lengths)), enough=5e-4) < 5e-4


def test_a_call_that_is_always_slow_is_called_so_after_a_while_whether_it_computes_or_sleeps() -> None:
    assert minimum_time(lambda: compute(2e-3), enough=5e-4) >= 2e-3
    assert minimum_time(lambda: compute(0.2), enough=5e-4) >= 0.2
    assert minimum_time(lambda: threading.Event().wait(2e-3), enough=5e-4) > 1e-3


def test_a_quick_call_is_not_repeated() -> None:
    call = Counted(torch.sin)
    minimum_time(lambda: call(torch.zeros(1)), enough=1.0)
    assert call.calls == 1
