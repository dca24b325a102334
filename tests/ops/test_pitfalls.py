"""What is believed to be right and is not: built-ins that are inexact, and formulas that autograd gets wrong."""

import pytest
import torch
from support.sections import look, op_of

F = torch.nn.functional
NARROW, FAR = (-3.0, 3.0), (-100.0, 100.0)

AT_ZERO = {
    "softplus by hand has gradient 1 at 0, not ½": lambda x: x.clamp(min=0) + torch.log1p(torch.exp(-x.abs())),
    "cross entropy by hand is off by ½ at 0": lambda x: x.clamp(min=0) - 0.3 * x + torch.log1p(torch.exp(-x.abs())),
    "sigmoid by two formulas has gradient 0 at 0, not ¼": lambda x: torch.where(
        x >= 0, 1 / (1 + torch.exp(-x.abs())), torch.exp(-x.abs()) / (1 + torch.exp(-x.abs()))
    ),
    "the identity from two relus has gradient 0 at 0": lambda x: torch.relu(x) - torch.relu(-x),
    "a sinc by hand has no number at 0": lambda x: torch.where(x == 0, 1.0, torch.sin(x) / x),
    "the root of a square has no number at 0": lambda x: torch.sqrt(x * x),
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("name", AT_ZERO)
def test_a_formula_that_autograd_gets_wrong_at_one_point_is_caught_there(name, dtype):
    for start, stop in (NARROW, FAR):
        evaluation, verdict = look(op_of(AT_ZERO[name]), start, stop, dtype=dtype)
        assert verdict.word == "differs"
        assert evaluation.rows.x[verdict.against.worst] == 0


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_where_keeps_a_value_but_not_its_gradient_from_being_no_number(dtype):
    _, verdict = look(op_of(lambda x: torch.where(x > 0, torch.sqrt(x), 0.0)), dtype=dtype)
    assert verdict.word == "differs"
    assert verdict.forward.intervals == ((-3.0, 0.0),)


@pytest.mark.parametrize(
    ("name", "function", "start", "stop", "dtype"),
    [
        # Its sixth is 0.16666667163, that of single precision.
        ("hardsigmoid", F.hardsigmoid, *NARROW, torch.float64),
        # At −100000000 it returns 193552909, in double precision.
        ("log_ndtr far away", torch.special.log_ndtr, -2e8, -1e8, torch.float64),
    ],
)
def test_a_built_in_with_an_inexact_gradient_is_caught(name, function, start, stop, dtype):
    assert look(op_of(function), start, stop, dtype=dtype)[1].word == "differs", name


def test_a_gradient_that_wavers_from_one_number_to_the_next_is_not_called_right():
    # At −95.5 it returns 95.4498 instead of 95.5105, and beside it other numbers.
    assert look(op_of(torch.special.log_ndtr), *FAR, dtype=torch.float32)[1].word == "matches here"


@pytest.mark.parametrize("function", [F.hardsigmoid, torch.digamma])
def test_what_is_inexact_in_double_precision_is_right_in_single(function):
    assert look(op_of(function), 0.1, 4.0, dtype=torch.float32)[1].word == "matches"


def test_a_gradient_that_is_no_number_out_of_sight_makes_it_match_here_only():
    def fold(x):
        return torch.acos(torch.cos(x))

    # Next to 0 the cosine is rounded to 1 in single precision, and its arc has the gradient 0/0.
    evaluation, verdict = look(op_of(fold), 0.1, 3.0, dtype=torch.float32)
    assert verdict.word == "matches here"
    ((low, high),) = evaluation.whole_range.intervals
    assert -1e-3 < low < 0 < high < 1e-3
