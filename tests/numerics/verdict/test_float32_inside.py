"""What computes in float32, whatever it is given, is measured as precisely as that, and no more."""

import pytest
import torch
from functions.float32_inside import FORMULAS, Rounded
from support.sections import look, op_of

from gradloupe.ops import Input

# Among them a tail, the place where forward cancels, and a range so short that float32 has few numbers in it.
RANGES = (-3.0, 3.0, 401), (-7.0, 1.0, 1001), (-0.9, 0.2, 137), (-2.3023, -2.2615, 1001), (-0.4929, -0.4680, 1001)
DTYPES = torch.float64, torch.float32


def word(formula, place, dtype, factor=1.0):
    """What is said of a formula with so many times its derivative."""
    op = op_of(lambda x: Rounded.apply(x, formula, factor), Input("x", domain=place[:2]))
    return look(op, *place, dtype=dtype)[1].word


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_right_function_that_computes_in_float32_is_never_accused(formula):
    found = {(place, dtype): word(formula, place, dtype) for place in RANGES for dtype in DTYPES}
    assert {asked: said for asked, said in found.items() if said not in {"matches", "undecided"}} == {}


@pytest.mark.parametrize("formula", FORMULAS)
def test_one_that_is_off_by_a_hundredth_is_told_all_the_same(formula):
    assert {dtype: word(formula, RANGES[0], dtype, 1.01) for dtype in DTYPES} == dict.fromkeys(DTYPES, "differs")
