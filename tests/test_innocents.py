"""Right Functions, built in or written by people, at three ranges and in two dtypes: none may be accused."""

from functools import cache

import pytest
import torch
from innocents import INNOCENTS
from looks import look

# From so far tan and floor have a pole or a step at nearly every point, logit but a few points of its domain.
UNDECIDED = 12


def test_there_are_enough_of_them():
    assert len(INNOCENTS) >= 150


@cache
def words(name, dtype):
    """What is said at each of the three ranges."""
    each = INNOCENTS[name]
    return [look(each.op, *where, each.count, wrt=each.wrt, of=each.of, dtype=dtype)[1].word for where in each.ranges]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("name", INNOCENTS)
def test_an_innocent_is_never_accused(name, dtype):
    assert set(words(name, dtype)) <= {"matches", "undecided"}, words(name, dtype)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("name", INNOCENTS)
def test_an_innocent_is_acquitted_where_one_first_looks_at_it_and_from_near(name, dtype):
    assert words(name, dtype)[:2] == ["matches", "matches"]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_from_far_few_are_undecided(dtype):
    assert sum(words(name, dtype)[2] == "undecided" for name in INNOCENTS) <= UNDECIDED
