"""The planted bugs of the measurement: each is caught, in every dtype and whatever the grad_output."""

import math
from functools import cache

import pytest
import torch
from bench.planted_bug_table import CONTROLS, PLANTED
from support.answers import document
from support.sections import look, section

from gradloupe.server.contract import contract_xray

pytestmark = pytest.mark.nightly

SEEN = [each for each in PLANTED if each.seen == "section"]
CAUGHT = {"differs", "matches here", "failed"}


def named(rows):
    return pytest.mark.parametrize("planted", rows, ids=lambda each: each.name)


def words(planted, **asked):
    """What is said of one section after another that the page offers; of many, each is seen by fewer points."""
    sections = planted.sections()
    for each in sections:
        yield look(planted.op, count=401 if len(sections) < 3 else 61, **asked, **each)[1].word


def is_caught(planted, **asked):
    return any(word in CAUGHT for word in words(planted, **asked))


@cache
def accused(planted):
    """The checks that the contract does not pass."""
    checks = contract_xray(section(planted.op, **planted.sections()[0])).checks
    return {check.id for check in checks if check.level in ("error", "warning")}


def the(name):
    return next(each for each in PLANTED if each.name == name)


@named(SEEN)
def test_a_planted_bug_is_caught_on_some_section_that_the_page_offers(planted):
    assert is_caught(planted)


@named([each for each in SEEN if each.name != "gradient rounded to float32"])
def test_a_planted_bug_is_caught_in_single_precision_too(planted):
    assert is_caught(planted, dtype=torch.float32)


@named([each for each in SEEN if len(each.sections()) == 1])
def test_a_planted_bug_is_caught_whatever_the_grad_output(planted):
    grad_output = (-1.0, 0.5, 3.0)[len(planted.name) % 3]
    assert look(planted.op, grad_output=grad_output)[1].word in CAUGHT


@named([each for each in PLANTED if each.seen == "contract"])
def test_what_no_section_shows_is_found_by_a_check_of_the_contract(planted):
    assert not is_caught(planted)
    assert planted.check in accused(planted)


def test_what_is_wrong_for_complex_numbers_alone_is_seen_beside_the_other_dtypes():
    (planted,) = (each for each in PLANTED if each.seen == "precision")
    assert not is_caught(planted)
    assert document(planted.op, "precision", count=61)[0]["complex"]["verdict"] == "conjugate missing"


def test_a_bug_beyond_the_range_is_at_its_place_within_a_wider_one():
    _, verdict = look(the("wrong beyond x = 3").op, -5.0, 5.0)
    assert verdict.word == "differs"
    assert [end for each in verdict.forward.intervals for end in each] == pytest.approx(
        [3.0, 1.5 * math.pi, 1.5 * math.pi, 5.0]  # the slope is 0 at 3π/2, and so is a share of it
    )


def test_the_diagonal_of_the_softmax_is_right_and_nothing_else_is():
    planted = the("softmax, diagonal only")
    for cut, word in zip(planted.sections(), words(planted), strict=True):
        assert word == ("matches" if cut["wrt"][1:] == cut["of"][1:] else "differs"), cut


def test_swapped_gradients_are_seen_on_both_inputs():
    assert list(words(the("gradients swapped"))) == ["differs", "differs"]


@named(CONTROLS)
def test_what_only_looks_like_a_bug_is_judged_as_it_claims_and_breaks_no_contract(planted):
    word = "matches its surrogate" if planted.op.surrogate else "matches"
    assert {*words(planted), *words(planted, dtype=torch.float32)} == {word}
    assert accused(planted) == set()
