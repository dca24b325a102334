"""Right Functions, built in or written by people, at three ranges and in two dtypes: none may be accused."""

import pytest
import torch
from functions.correct import INNOCENTS
from support.sections import look

DTYPES = (torch.float64, torch.float32)
# From so far these have a pole or a step at nearly every point, logit and ndtri but a few points of their domain.
UNDECIDED = {"tan", "floor", "ceil", "round", "trunc", "logit", "ndtri"}


def test_there_are_enough_right_functions():
    assert len(INNOCENTS) >= 150
    assert INNOCENTS.keys() >= UNDECIDED


def words(name, dtype):
    """What is said at each of the three ranges."""
    each = INNOCENTS[name]
    return [look(each.op, *where, each.count, wrt=each.wrt, of=each.of, dtype=dtype)[1].word for where in each.ranges]


@pytest.mark.parametrize("name", INNOCENTS)
def test_a_right_function_matches_at_first_sight_and_from_near_and_never_differs_from_far(name):
    found = {dtype: words(name, dtype) for dtype in DTYPES}
    right = [["matches", "matches", far] for far in ("matches", "undecided")[: 1 + (name in UNDECIDED)]]
    assert {dtype: said for dtype, said in found.items() if said not in right} == {}
