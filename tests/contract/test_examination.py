"""The parts of the contract X-ray: the call, the subclass that watches it, differences, time, and the lines."""

import functools
import gc
import random
import signal
import subprocess
import sys
import time
from collections import OrderedDict
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch
from functions.basics import SparseGradient, Square
from functions.contract_broken import BREACHES, KeepsItsOutput, OnCtx, Swapped, WritesToIt
from support.sections import op_of, section

from gradloupe.ops import Input, Op
from gradloupe.server.contract.check_order import SLOW, _findings
from gradloupe.server.contract.examination.call import Call
from gradloupe.server.contract.examination.contract_check import CheckRow, ContractCheck
from gradloupe.server.contract.examination.session import CheckSession
from gradloupe.server.contract.examination.slopes import slopes_of_function
from gradloupe.server.contract.xray import ContractResult, contract_xray
from gradloupe.server.runtime import (
    GeneratorStates,
    TookTooLong,
    instrument,
    preserve_rng,
    replace_references,
    time_limit,
    timing,
)
from gradloupe.server.views.contract import _sentence

F = torch.autograd.Function
ROW = Input("x", shape=(4,), value=(1.0, -0.5, 2.0, 0.3))


def op_around(function: type[F], *inputs: Input, **more) -> Op:
    return Op(function, "a test", "tests", "", "", inputs or (Input("x"),), **more)


def levels(found: ContractResult) -> dict[str, str]:
    return {each.id: each.level for each in found.checks if each.level != "fine"}


def seen(found: ContractResult, id_: str) -> str:
    return " ".join(f"{each.seen} {each.torch} {each.advice}" for each in found.checks if each.id == id_)


POINTED = {
    "OneTooFew": "return ctx.k * grad_output",
    "Swapped": "return 2 * u * v * grad_output, v**2 * grad_output",
    "Raises": "return 2 * x.nothing * grad_output",
    "WritesToIt": "grad_output[x > 1] = 0",
    "WritesPastAutograd": "g.data.mul_(2 * x)",
    "ReadsLate": "return grad_output * ReadsLate.scale",
    "OnCtx": "ctx.x = x",
    "KeepsItsOutput": "ctx.y = x.exp()",
    "ForgetsTheMask": "ctx.save_for_backward(x)",
    "HidesTheName": 'ctx.name = "mine"',
    "SavesByHand": "ctx.saved_tensors = (x,)",
    "EditsItsInput": "return x.mul_(2)",
    "DirtyAndGone": "ctx.mark_dirty(x)",
    "ReturnsAList": "return [2 * x, 3 * x]",
    "ChangesWhatItKept": "return ctx.e.mul_(grad_output)",
    "Noisy": "return 2 * grad_output + 0.1 * torch.randn_like(grad_output)",
    "OtherInTraining": "return 2 * x if ctx.needs_input_grad[0] else 2 * x + 1",
    "NeedsTwoDimensions": "return x[:, :2] * 2",
    "IntermediateOnCtx": "ctx.e = x.exp()",
}


@pytest.mark.parametrize("name", POINTED)
def test_the_line_is_pointed_at(name: str) -> None:
    breach = next(each for each in BREACHES if each.name == name)
    row = next(each for each in contract_xray(section(breach.op)).checks if each.id == breach.id)
    assert row.line is not None
    assert breach.op.source.splitlines()[row.line - 1].strip() == POINTED[name]


def test_the_class_and_the_random_numbers_are_left_as_they_were() -> None:
    written = dict(vars(Square))
    torch.manual_seed(7)
    np.random.seed(7)
    random.seed(7)
    before = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()
    contract_xray(section(op_around(Square)))
    assert dict(vars(Square)) == written
    assert torch.equal(before[0], torch.get_rng_state())
    assert (np.random.get_state()[1].tolist(), random.getstate()) == before[1:]
    assert gc.isenabled()


def test_the_subclass_is_known_by_the_same_name_and_keeps_once_differentiable() -> None:
    class Once(Square):
        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, grad_output):
            return grad_output

    watched, record = instrument(Once)
    assert (watched.__name__, watched.__mro__[1]) == ("Once", Once)
    x = torch.ones(3, requires_grad=True)
    y = watched.apply(x * 1)
    (grad,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert not grad.requires_grad
    assert [each.name for each in record.forwards[0].saved if each] == ["x"]
    assert record.backwards[0].needs == (True,)


squared = Square.apply


class Layer(torch.nn.Module):
    def forward(self, x):
        return Square.apply(x) + 1

    def twice(self, x):
        return 2 * Square.apply(x)


def through_another(x):
    return through_a_name(x) * 2


def through_a_name(x):
    return squared(x)


def in_a_closure():
    function = Square

    def call(x):
        return (lambda each: function.apply(each))(x)

    return call


CALLS = {
    "apply": Square.apply,
    "a lambda": lambda x: Square.apply(x),
    "a function": through_a_name,
    "a function of a function": through_another,
    "a closure": in_a_closure(),
    "a partial": functools.partial(through_a_name),
    "a module": Layer(),
    "a method": Layer().twice,
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_function_is_reached_through_whatever_calls_it(call) -> None:
    watched, record = instrument(Square)
    x = torch.ones(2, requires_grad=True)
    assert torch.equal(replace_references(call, Square, watched)(x), call(x))
    assert len(record.forwards) == 1


def test_a_built_in_method_of_a_class_is_reached_too() -> None:
    swapped = replace_references(
        dict.fromkeys, dict, OrderedDict
    )  # as the apply of a Function is one from torch 2.15 on
    assert type(swapped("ab")) is OrderedDict


def test_what_calls_no_such_function_is_left_as_it_is() -> None:
    assert replace_references(torch.sin, Square, Swapped) is torch.sin


def test_an_op_of_torch_alone_is_not_accused_of_what_its_class_is() -> None:
    found = contract_xray(section(op_of(torch.sin)))
    assert not {"error", "warning"} & set(levels(found).values())
    assert "could not be watched" in seen(found, "NOT-LOOKED-AT")


def test_a_function_that_the_op_does_not_name_is_found_behind_its_call() -> None:
    assert levels(contract_xray(section(op_of(OnCtx.apply))))["CTX-TENSOR"] == "warning"


def test_an_elementwise_function_is_called_with_numbers_on_both_sides_of_its_masks() -> None:
    call = Call.of(section(op_around(WritesToIt)))
    x = call.tensors["x"]
    assert (call.stacked, x.shape) == (("x",), (8,))
    assert bool((x > 1).any())
    assert bool((x < 1).any())


def test_a_function_of_vectors_is_called_with_the_vector_that_is_declared() -> None:
    assert tuple(Call.of(section(op_around(Square, ROW))).tensors["x"].tolist()) == ROW.values


def test_what_backward_returned_stands_beside_what_was_delivered() -> None:
    rows = {each.input: each for each in contract_xray(section("functional_linear")).raw}
    assert (rows["weight"].returned, rows["weight"].delivered) == ("(2, 2, 3)", "(2, 3)")
    assert (rows["bias"].shape, rows["bias"].returned, rows["bias"].delivered) == ("(2,)", "(2, 2)", "(2,)")
    first, second = contract_xray(section("replace_grad")).raw
    assert (first.returned, first.delivered, second.delivered_dtype) == ("None", "zeros", "float64")


def test_what_a_surrogate_declares_is_no_error() -> None:
    for name, id_ in (("replace_grad", "GRAD-NONE"), ("replace_grad", "SWAPPED"), ("clamp_with_grad", "NONLINEAR")):
        found = contract_xray(section(name))
        assert levels(found)[id_] == "note"
        assert "Its surrogate declares so" in seen(found, id_)


def test_the_slope_of_a_smooth_function_is_known_and_at_a_kink_it_is_not() -> None:
    x = torch.tensor([0.7, -1.3, 0.0, 2.0], dtype=torch.float64)
    found = slopes_of_function(lambda t: float((t.abs() + t.sin()).sum()), x)
    assert found.known.tolist() == [True, True, False, True]
    exact = x.sign() + x.cos()
    assert torch.allclose(found.value[found.known], exact[found.known], rtol=1e-9)
    jump = slopes_of_function(lambda t: float(t.round().sum()), torch.tensor([0.5, 0.2], dtype=torch.float64))
    assert jump.known.tolist() == [False, True]


def test_a_function_that_hangs_when_asked_again_is_a_row() -> None:
    class HangsInBackward(F):
        calls = 0

        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, grad_output):
            HangsInBackward.calls += 1
            while HangsInBackward.calls > 10:
                pass
            return 2 * grad_output

    found = contract_xray(section(op_around(HangsInBackward)))
    assert "the Function did not return within 1.5 s" in seen(found, "BACKWARD-RAISED") + seen(found, "NOT-LOOKED-AT")


def test_what_a_function_prints_is_dropped(capsys: pytest.CaptureFixture[str]) -> None:
    class Shouts(Square):
        @staticmethod
        def forward(ctx, x):
            print("line\n" * 100)
            ctx.save_for_backward(x)
            return x * x

    cut = section(op_around(Shouts))
    capsys.readouterr()
    assert contract_xray(cut).failure is None
    assert capsys.readouterr().out == ""


def test_an_exception_that_cannot_be_said_is_a_row() -> None:
    class Unspeakable(Exception):
        def __str__(self) -> str:
            raise ValueError("no words")

    class Raises(Square):
        @staticmethod
        def forward(ctx, x):
            raise Unspeakable

    found = contract_xray(section(op_around(Raises)))
    assert levels(found)["FORWARD-RAISED"] == "error"
    assert found.failure is not None
    assert found.failure.kind == "Unspeakable"


def test_a_function_of_float32_alone_is_looked_at_in_float32() -> None:
    class OnlySingle(Square):
        @staticmethod
        def forward(ctx, x):
            assert x.dtype == torch.float32, "single precision only"
            ctx.save_for_backward(x)
            return x * x

    found = contract_xray(section(op_around(OnlySingle)))
    assert found.failure is None
    assert not {"error", "warning"} & set(levels(found).values())


def test_sparse_and_complex_gradients_are_borne() -> None:
    class ToComplex(F):
        @staticmethod
        def forward(ctx, x):
            return torch.complex(x, 2 * x)

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output.real + 2 * grad_output.imag

    for function in (SparseGradient, ToComplex):
        assert not {"error", "warning"} & set(levels(contract_xray(section(op_around(function)))).values())


def for_ever() -> None:
    while True:
        pass


def test_the_bound_on_time_interrupts_and_leaves_an_earlier_alarm_alone() -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(60)
    try:
        with pytest.raises(TookTooLong), time_limit(0.05):
            for_ever()
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
        assert 55 < signal.getitimer(signal.ITIMER_REAL)[0] <= 60
    finally:
        signal.alarm(0)


def test_a_cycle_is_found_without_a_collector_and_a_right_function_has_none() -> None:
    enabled = gc.isenabled()
    assert levels(contract_xray(section(op_around(KeepsItsOutput))))["CTX-CYCLE"] == "warning"
    assert "CTX-CYCLE" not in levels(contract_xray(section(op_around(Square))))
    assert gc.isenabled() == enabled


def test_a_forward_that_never_returns_is_a_row_and_a_failure_in_bounded_time() -> None:
    class NeverBack(Square):
        stuck = False

        @staticmethod
        def forward(ctx, x):
            while NeverBack.stuck:
                pass
            return Square.forward(ctx, x)

    cut = section(op_around(NeverBack))
    NeverBack.stuck = True
    found = contract_xray(cut)
    assert levels(found)["FORWARD-RAISED"] == "error"
    assert "it did not return within" in seen(found, "FORWARD-RAISED")
    assert found.failure is not None
    assert "did not return" in found.failure.sentence
    assert len(found.badges) == 7


def test_a_slow_check_is_told_from_a_call_that_does_not_come_back() -> None:
    class Slow(Square):
        @staticmethod
        def forward(ctx, x):
            time.sleep(0.02)
            return Square.forward(ctx, x)

    def asks_too_much(at):
        while True:
            at.call.run()

    cut = section(op_around(Slow, ROW))
    at = CheckSession(cut, Call.plain(cut), (-3.0, 3.0))
    assert _findings(at, ContractCheck("SLOW", "", "", "", asks_too_much), timing.now() + 9).why == SLOW


def test_what_torch_loads_late_is_loaded_before_a_clock_runs() -> None:
    told = (
        "import sys, torch; from gradloupe.ops import OPS; from gradloupe.server.contract.xray import _load as load;"
        "load(OPS['exp'].function); before = set(sys.modules); "
        "x = torch.ones(2, dtype=torch.float64, requires_grad=True);"
        "torch.autograd.gradgradcheck(OPS['exp'].function.apply, x);"
        "print([name for name in set(sys.modules) - before if name.startswith(('torch', 'sympy'))])"
    )
    assert subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_what_is_written_past_print_is_dropped_as_well(capfd: pytest.CaptureFixture[str]) -> None:
    class Writes(Square):
        @staticmethod
        def forward(ctx, x):
            sys.stdout.buffer.write(b"bytes")
            print("an error", file=sys.stderr)
            return Square.forward(ctx, x)

    cut = section(op_around(Writes))
    sys.stdout.flush()
    capfd.readouterr()
    assert contract_xray(cut).failure is None
    assert capfd.readouterr() == ("", "")


def test_an_import_is_never_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = "import time\nuntil = time.monotonic() + 0.2\nwhile time.monotonic() < until: pass\nwhole = True\n"
    (tmp_path / "slow_to_import.py").write_text(slow)
    monkeypatch.syspath_prepend(tmp_path)

    def imports_and_hangs() -> None:
        import_module("slow_to_import")
        for_ever()

    with pytest.raises(TookTooLong), time_limit(0.05):
        imports_and_hangs()
    assert sys.modules.pop("slow_to_import").whole


def test_any_generator_of_numpy_is_watched_and_left_where_it_was() -> None:
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
            assert not {"error", "warning"} & set(levels(contract_xray(section(op_around(Square)))).values())
    finally:
        np.random.set_bit_generator(ours)


def test_a_surrogate_excuses_only_what_it_calls_for() -> None:
    class NoneForTheSecond(F):
        @staticmethod
        def forward(ctx, u, v):
            ctx.save_for_backward(v)
            return u * v

        @staticmethod
        def backward(ctx, grad_output):
            return ctx.saved_tensors[0] * grad_output, None

    two = (Input("u", value=2.0), Input("v", value=1.5))
    for surrogate, level in ((lambda u, v: u * v, "error"), (lambda u, v: u * v.detach(), "note")):
        op = op_around(NoneForTheSecond, *two, surrogate=surrogate, surrogate_formula="uv")
        assert levels(contract_xray(section(op)))["GRAD-NONE"] == level


def test_what_gradcheck_says_is_one_line_that_ends_cleanly() -> None:
    found = contract_xray(section(next(each.op for each in BREACHES if each.name == "DiagonalOfSoftmax")))
    said = next(each.seen for each in found.checks if each.id == "GRADCHECK")
    assert said.startswith("gradcheck fails: ")
    assert said.endswith(".")
    assert "tensor(" not in said
    assert len(said) < 140


def test_one_check_is_not_told_as_many() -> None:
    row = CheckRow("X", "", "fine", "", "")
    assert _sentence([row]) == "1 check passed."
    assert _sentence([row, row]) == "2 checks passed."


def test_the_numbers_that_were_tried_are_told_where_the_function_is_one_of_numbers() -> None:
    assert contract_xray(section(op_around(Square))).tried == "Tried on 8 numbers at once, spread over the range."
    assert contract_xray(section(op_around(Square, ROW))).tried == ""


class Nearly(torch.autograd.Function):
    """A straight line, with a slope that is right to nine digits."""

    @staticmethod
    def forward(ctx, x, y):
        return 2 * x + y

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * (1 + 8e-10) * grad_output, grad_output


def test_a_difference_below_a_billionth_of_the_slope_is_a_warning_that_accuses_nobody() -> None:
    rows = {each.id: each for each in contract_xray(section(op_around(Nearly, Input("x"), Input("y")))).checks}
    assert rows["GRADIENT"].level == "warning"
    assert ", 8e−10 of the slope there." in rows["GRADIENT"].seen
    assert rows["GRADIENT"].advice.startswith("It is only a remark")
