"""An examination ends in time, and leaves all as it was: the class, random numbers, the collector, the output."""

import gc
import random
import subprocess
import sys
import time

import numpy as np
import pytest
import torch
from functions.basics import Square, altered, with_backward
from functions.contract_broken import KeepsItsOutput
from support.examined import ROW, examined, grave, levels, said
from support.sections import section

from gradloupe.ops import Op
from gradloupe.server.contract import contract_xray
from gradloupe.server.runtime.rng import GeneratorStates, preserve_rng


def sleeping(when):
    """A square whose forward sleeps for a minute when it is called so."""

    def forward(ctx, x):
        if when():
            time.sleep(60)
        return Square.forward(ctx, x)

    return altered(Square, "Sleeping", forward=forward)


def test_the_class_and_the_random_numbers_are_left_as_they_were():
    written = dict(vars(Square))
    for seed in (torch.manual_seed, np.random.seed, random.seed):
        seed(7)
    before = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()
    examined(Square)
    assert dict(vars(Square)) == written
    assert torch.equal(before[0], torch.get_rng_state())
    assert (np.random.get_state()[1].tolist(), random.getstate()) == before[1:]


def test_a_cycle_is_found_without_a_collector_and_a_right_function_has_none():
    enabled = gc.isenabled()
    assert levels(examined(KeepsItsOutput))["CTX-CYCLE"] == "warning"
    assert "CTX-CYCLE" not in levels(examined(Square))
    assert gc.isenabled() == enabled


def test_any_generator_of_numpy_is_watched_and_left_where_it_was():
    ours = np.random.get_bit_generator()
    try:
        for generator in (np.random.PCG64(3), np.random.Philox(3), np.random.SFC64(3)):
            np.random.set_bit_generator(generator)
            with preserve_rng():
                before = GeneratorStates.now()
                assert before.changed() == ()
                np.random.rand()
                assert before.changed() == ("NumPy",)
                np.random.set_bit_generator(ours)
            assert np.random.get_bit_generator() is generator
            assert before.changed() == ()
        assert not grave(examined(Square))
    finally:
        np.random.set_bit_generator(ours)


def test_what_a_function_prints_is_dropped_also_past_print(capfd):
    def forward(ctx, x):
        print("line\n" * 100)
        sys.stdout.buffer.write(b"bytes")
        print("an error", file=sys.stderr)
        return Square.forward(ctx, x)

    cut = section(Op(altered(Square, "Shouts", forward=forward), "", "", "", "", (ROW,)))
    sys.stdout.flush()
    capfd.readouterr()
    assert contract_xray(cut).failure is None
    assert capfd.readouterr() == ("", "")


def test_a_function_that_hangs_when_asked_again_is_a_row():
    calls = []

    def backward(g, x):
        calls.append(1)
        if len(calls) > 10:
            time.sleep(60)
        return 2 * g

    found = examined(with_backward(lambda x: 2 * x, backward))
    assert "the Function did not return within 1.5 s" in said(found, "BACKWARD-RAISED") + said(found, "NOT-LOOKED-AT")


def test_a_forward_that_never_returns_is_a_row_and_a_failure_in_bounded_time():
    calls = []

    def stuck():
        calls.append(1)
        return len(calls) > 1  # the first call measures the shape of the output

    found = examined(sleeping(stuck))
    assert levels(found)["FORWARD-RAISED"] == "error"
    assert "did not return within" in said(found, "FORWARD-RAISED")
    assert "did not return" in found.failure.sentence
    assert len(found.badges) == 7


def test_a_slow_check_is_told_from_a_call_that_does_not_come_back():
    def forward(ctx, x):
        time.sleep(0.02)
        return Square.forward(ctx, x)

    found = examined(altered(Square, "Slow", forward=forward), ROW)
    assert found.failure is None
    assert "takes too long for all checks" in said(found, "NOT-LOOKED-AT")
    assert "did not return" not in said(found, "NOT-LOOKED-AT")


@pytest.mark.nightly
def test_what_torch_loads_late_is_loaded_before_a_clock_runs():
    script = (
        "import sys, torch; from gradloupe.ops import OPS; from gradloupe.server.contract.xray import _load as load;"
        "load(OPS['exp'].function); before = set(sys.modules); "
        "x = torch.ones(2, dtype=torch.float64, requires_grad=True);"
        "torch.autograd.gradgradcheck(OPS['exp'].function.apply, x);"
        "print([name for name in set(sys.modules) - before if name.startswith(('torch', 'sympy'))])"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "[]\n"
