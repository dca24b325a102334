"""The bound on time interrupts what runs too long, and nothing that must run to its end."""

import gc
import signal
import sys
import threading
from importlib import import_module
from time import thread_time

import pytest
import torch

from gradloupe.server.runtime.timeouts import TookTooLong, time_limit


def for_ever():
    while True:
        pass


def test_the_bound_on_time_interrupts_and_leaves_an_earlier_alarm_alone():
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(60)
    try:
        with pytest.raises(TookTooLong, match=r"within 0.05 s"), time_limit(0.05):
            for_ever()
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
        assert 55 < signal.getitimer(signal.ITIMER_REAL)[0] <= 60
    finally:
        signal.alarm(0)


def test_whoever_waits_for_something_else_is_interrupted():
    with pytest.raises(TookTooLong), time_limit(0.1):
        threading.Event().wait(60)


def test_a_callback_of_the_garbage_collector_is_finished_before_the_interruption():
    finished = []

    def callback(phase, info):
        finished.append(False)
        until = thread_time() + 0.1
        while thread_time() < until:
            pass
        finished[-1] = True

    def work():
        gc.collect(0)
        for_ever()

    gc.collect()  # what others have left behind is not to be finalized within the limit
    gc.callbacks.append(callback)
    try:
        with pytest.raises(TookTooLong), time_limit(0.1):
            work()
    finally:
        gc.callbacks.remove(callback)
    assert finished
    assert all(finished)


def test_an_import_is_never_interrupted(tmp_path, monkeypatch):
    slow = "import time\nuntil = time.monotonic() + 0.2\nwhile time.monotonic() < until: pass\nwhole = True\n"
    (tmp_path / "slow_to_import.py").write_text(slow)
    monkeypatch.syspath_prepend(tmp_path)

    def imports_and_hangs():
        import_module("slow_to_import")
        for_ever()

    with pytest.raises(TookTooLong), time_limit(0.05):
        imports_and_hangs()
    assert sys.modules.pop("slow_to_import").whole


def test_what_is_interrupted_where_gradients_are_off_leaves_them_on():
    def without_gradients():
        while True:
            with torch.no_grad():
                pass

    for _ in range(20):
        with pytest.raises(TookTooLong), time_limit(0.01):
            without_gradients()
        assert torch.is_grad_enabled()
