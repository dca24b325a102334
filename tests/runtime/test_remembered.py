from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
import torch
from support.sections import Counted, Written, look, op_of, section

from gradloupe.ops import OPS, Input
from gradloupe.server.runtime import remembered as memory
from gradloupe.server.runtime.remembered import forget, remembered

RANGES = ((-3.0, 3.0, 401), (-2.5, 2.5, 401), (-3.0, 3.0, 150), (0.5, 2.0, 300), (-20.0, 40.0, 401))


def bytes_of(value):
    """All that an evaluation or a verdict holds, in bytes; functions by their names."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if is_dataclass(value):
        return tuple(bytes_of(getattr(value, each.name)) for each in fields(value))
    if isinstance(value, tuple):
        return tuple(map(bytes_of, value))
    return getattr(value, "__qualname__", None) or repr(value)


ASKED = [
    (name, dtype)
    for name in ("clipped_relu", "clamp_with_grad", "exp", "output_ignored", "fake_quantize", "heaviside_sigmoid")
    for dtype in (torch.float64, torch.float32)
]


@pytest.mark.parametrize(
    ("name", "dtype"),
    [pytest.param(*each, marks=() if at in (2, 7) else pytest.mark.nightly) for at, each in enumerate(ASKED)],
)
def test_an_answer_is_the_same_whatever_was_asked_before(name, dtype):
    def answers(ranges, fresh):
        found = {}
        for start, stop, count in ranges:
            for grad_output in (1.0, -0.5, 3.7):
                if fresh:
                    forget()
                found[start, count, grad_output] = bytes_of(look(name, start, stop, count, grad_output, dtype=dtype))
        return found

    alone = answers(RANGES, fresh=True)
    forget()
    assert answers(RANGES, fresh=False) == alone
    assert answers(RANGES[::-1], fresh=False) == alone


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_zoom_asks_for_less_than_a_third_of_the_calls_of_a_first_look(dtype):
    forward, backward = Counted(torch.exp), Counted(torch.exp)
    op, calls = op_of(lambda x: Written.apply(x, forward, backward)), []
    for stop in (3.0, 2.9):
        forward.calls = backward.calls = 0
        look(op, -3.0, stop, dtype=dtype)
        calls.append(forward.calls + backward.calls)
    assert calls[1] <= calls[0] / 3


def test_what_stands_for_a_surrogate_is_the_same_object_each_time():
    op = OPS["clamp_with_grad"]
    assert op.surrogate_for("input", -1.0) is op.surrogate_for("input", -1.0)


def test_while_grad_output_is_dragged_half_of_the_calls_of_a_first_look_are_asked_for():
    forward, backward = Counted(torch.exp), Counted(torch.exp)
    op, calls = op_of(lambda x: Written.apply(x, forward, backward)), []
    for grad_output in (1.0, 1.7, -0.3):
        forward.calls = backward.calls = 0
        look(op, -3.0, 3.0, grad_output=grad_output)
        calls.append(forward.calls + backward.calls)
    assert calls[1] <= calls[0] / 2
    assert calls[2] <= calls[0]


def test_no_more_than_some_results_are_kept():
    squares = []

    @remembered()
    def square(number):
        squares.append(number)
        return number * number

    for number in range(1000):
        assert square(float(number)) == number * number
    assert max(map(len, memory._KEPT)) <= 64
    square(999.0)
    assert len(squares) == 1000


def test_zeros_of_either_sign_are_told_apart():
    @remembered()
    def sign_of_zero(cut):
        return str(cut.inputs), str(cut.parameters)

    cut = section(op_of(lambda x, y: x * y, Input("x"), Input("y")))
    for zero in (0.0, -0.0, 0.0):
        at = replace(cut, inputs=(("x", (1.0,)), ("y", (zero,))))
        assert sign_of_zero(at) == (str(at.inputs), "()")


def test_what_is_not_worth_it_is_computed_each_time():
    calls = []

    @remembered(lambda result: result > 0)
    def measured(number):
        calls.append(number)
        return number

    for number in (1.0, 1.0, -1.0, -1.0):
        assert measured(number) == number
    assert calls == [1.0, -1.0, -1.0]
