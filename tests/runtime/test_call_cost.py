"""What a call costs is counted: the same on every machine; only what cannot be counted is timed."""

import cProfile
import itertools
import math
import pstats
import sys
import threading

import pytest
import torch

from gradloupe.server.runtime.call_cost import TooManySteps, count_functions, estimated_seconds, step_limit


def cosines(count: int) -> torch.Tensor:
    x = torch.ones(3, dtype=torch.float64)
    for _ in range(count):
        x = torch.cos(x)
    return x


def test_it_grows_with_what_is_called() -> None:
    assert count_functions(lambda: cosines(50)) - count_functions(lambda: cosines(20)) == 30
    assert estimated_seconds(lambda: cosines(500)) > 5 * estimated_seconds(lambda: cosines(50))


def test_a_call_that_sleeps_is_timed_to_a_power_of_two() -> None:
    seconds = estimated_seconds(lambda: threading.Event().wait(0.01))
    assert seconds > 0.01
    assert math.log2(seconds).is_integer()


def test_the_profiler_of_a_caller_goes_on() -> None:
    with cProfile.Profile() as profile:
        profiler = sys.getprofile()
        assert estimated_seconds(lambda: cosines(3)) > 0
        assert sys.getprofile() is profiler
    assert any("cosines" in str(function) for function in pstats.Stats(profile).stats)  # type: ignore[attr-defined]


def add_up(numbers):
    total = 0
    for each in numbers:
        total += each
    return total


def test_a_call_that_runs_ever_more_lines_is_stopped():
    with pytest.raises(TooManySteps), step_limit(1000):
        add_up(itertools.count())


def test_a_call_of_few_lines_is_not_stopped_and_leaves_no_tracer():
    with step_limit(1000):
        total = add_up(range(10))
    assert total == 45
    assert sys.gettrace() is None
