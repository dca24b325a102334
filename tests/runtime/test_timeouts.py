"""The bound on time interrupts what runs too long, and nothing that must run to its end."""

import signal
import sys
from importlib import import_module

import pytest

from gradloupe.server.runtime import TookTooLong, time_limit


def for_ever():
    while True:
        pass


def test_the_bound_on_time_interrupts_and_leaves_an_earlier_alarm_alone():
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(60)
    try:
        with pytest.raises(TookTooLong), time_limit(0.05):
            for_ever()
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
        assert 55 < signal.getitimer(signal.ITIMER_REAL)[0] <= 60
    finally:
        signal.alarm(0)


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
