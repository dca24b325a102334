"""Right Functions where little is left of them: nobody may be accused for what rounding did to their values."""

from itertools import product

import pytest
import torch
from functions.tails import FAINT
from support.sections import look, op_of, written

from gradloupe.server.numerics.status import Status


@pytest.mark.parametrize("name", FAINT)
def test_a_right_gradient_is_not_accused_for_what_rounding_did_to_the_values(name):
    function, ranges = FAINT[name]
    asked = product(ranges, (torch.float64, torch.float32))
    words = {(range_, dtype): look(op_of(function), *range_, dtype=dtype)[1].word for range_, dtype in asked}
    assert {where: word for where, word in words.items() if word not in ("matches", "undecided")} == {}


@pytest.mark.parametrize(
    ("value", "derivative", "start", "stop"),
    [
        (torch.tanh, lambda x: 1 / torch.cosh(x) ** 2, 5.0, 12.0),
        (torch.sigmoid, lambda x: torch.exp(-x.abs()) / (1 + torch.exp(-x.abs())) ** 2, -40.0, -20.0),
        (torch.erf, lambda x: 2 / torch.pi**0.5 * torch.exp(-x * x), 2.0, 4.5),
    ],
)
def test_a_wrong_gradient_is_caught_where_values_are_faint_too(value, derivative, start, stop):
    assert look(written(value, derivative), start, stop)[1].word == "matches"
    evaluation, verdict = look(written(value, lambda x: 1.5 * derivative(x)), start, stop)
    assert verdict.word == "differs"
    assert verdict.against.count(Status.DIFFERS) > evaluation.rows.x.size / 2
