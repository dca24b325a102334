"""Right Functions, built in or written by people, at three ranges and in two dtypes: none may be accused."""

from functools import cache

import pytest
import torch
from functions.correct import INNOCENTS
from support.sections import look

DTYPES = (torch.float64, torch.float32)
# From so far tan and floor have a pole or a step at nearly every point, logit but a few points of its domain.
UNDECIDED = 12


def test_there_are_enough_right_functions():
    assert len(INNOCENTS) >= 150


@cache
def words(name, dtype):
    """What is said at each of the three ranges."""
    each = INNOCENTS[name]
    return [look(each.op, *where, each.count, wrt=each.wrt, of=each.of, dtype=dtype)[1].word for where in each.ranges]


@pytest.mark.parametrize("name", INNOCENTS)
def test_a_right_function_matches_at_first_sight_and_from_near_and_never_differs_from_far(name):
    found = {dtype: words(name, dtype) for dtype in DTYPES}
    right = [["matches", "matches", far] for far in ("matches", "undecided")]
    assert {dtype: said for dtype, said in found.items() if said not in right} == {}


def test_from_far_few_are_undecided():
    undecided = {dtype: [name for name in INNOCENTS if words(name, dtype)[2] == "undecided"] for dtype in DTYPES}
    assert {dtype: names for dtype, names in undecided.items() if len(names) > UNDECIDED} == {}
