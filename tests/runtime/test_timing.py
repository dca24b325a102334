"""The clock of what is asked of a Function: others that compute do not make it slow, and whoever sleeps is."""

import threading
import time
from itertools import chain, pairwise, repeat

import pytest
import torch
from support.busy_cpu import crowded
from support.sections import Counted

from gradloupe.server.runtime import timing
from gradloupe.server.runtime.timeouts import time_limit
from gradloupe.server.runtime.timing import minimum_time

COMPUTED = 0.2  # seconds
SLEW = 5e-4  # the most by which a clock is made to run faster or slower


def compute(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def test_it_stands_while_others_have_the_processor_and_never_runs_back() -> None:
    with crowded(by=1):
        began, wall = timing.now(), time.monotonic()
        with time_limit(0.3):
            compute(COMPUTED)  # waits for longer than the limit
        passed, wall = timing.now() - began, time.monotonic() - wall
        began = time.monotonic()
        readings = [timing.now() for _ in range(20_000)]
        lasted = time.monotonic() - began
    waited = wall - COMPUTED  # how much that is the scheduler decides
    assert 0.15 < passed < COMPUTED + 0.5 * waited
    # The scheduler has a clock of its own, of another rate: that of the system is slewed by as much to be right.
    steps = [after - before for before, after in pairwise(readings)]
    assert min(steps) >= -SLEW * lasted


def test_where_the_system_does_not_tell_it_is_the_clock_on_the_wall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "SCHEDULED", "/nowhere")
    before = time.monotonic()
    now = timing.now()
    assert before <= now <= time.monotonic()


def test_a_call_takes_what_it_computes_and_sleeps() -> None:
    def naps() -> None:
        for _ in range(5):
            threading.Event().wait(1e-3)
            compute(0.05)

    assert timing.time_of(lambda: compute(0.05)) >= 0.05
    assert timing.time_of(lambda: threading.Event().wait(0.1)) > 0.09
    assert timing.time_of(naps) >= 0.25


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
