"""The library's whole test of an op: what is measured equals what it claims. All of the gallery is put to it."""

import random

import pytest
import torch
from looks import WORD, look, section
from seeds import SEEDS

from gradloupe.ops import OPS
from gradloupe.server.contract.xray import contract

SPECIMENS = [name for name, op in OPS.items() if op.claim == "broken"]
RIGHT = [name for name in OPS if name not in SPECIMENS]
# Specimens whose curves are as they should be; what is wrong with them only the contract tells.
RIGHT_AS_A_CURVE = (
    *("changes_what_it_saved", "cube_wrong_double_backward", "input_changed_in_place", "late_read"),
    *("output_kept_on_ctx", "sinh_on_ctx", "wrong_jvp"),
)
# Specimens of which more is said than their headline, since it cannot but follow.
FOLLOWS = {
    "changes_what_it_saved": {"CTX-TENSOR"},
    "incorrect_clipped_relu": {"GRADIENT"},
    "output_kept_on_ctx": {"CTX-TENSOR"},
    "sinh_on_ctx": {"CTX-TENSOR"},
}
# Their backward raises, so there is no curve to compare.
RAISING = ("gradient_none_added", "one_gradient_too_few")


def domain(name):
    return next(each.domain for each in OPS[name].inputs if each.name == section(name).wrt)


def found_in(name):
    """The ids of what the contract finds in an op, by level."""
    checks = contract(section(name)).checks
    return {level: {each.id for each in checks if each.level == level} for level in ("error", "warning")}


@pytest.mark.parametrize("grad_output", [1.0, -1.0])
@pytest.mark.parametrize("name", RIGHT)
def test_the_measured_verdict_equals_the_claim(name, grad_output):
    _, verdict = look(name, *domain(name), grad_output=grad_output)
    assert verdict.word == WORD[OPS[name].claim]


@pytest.mark.parametrize("name", SPECIMENS)
def test_the_curves_of_a_specimen_tell_what_is_wrong_unless_it_is_wrong_elsewhere(name):
    _, verdict = look(name, *domain(name))
    assert verdict.word == ("matches" if name in RIGHT_AS_A_CURVE else "failed" if name in RAISING else "differs")


@pytest.mark.parametrize("name", SPECIMENS)
def test_a_specimen_raises_exactly_its_headline_check(name):
    found = found_in(name)
    assert found["error"] | found["warning"] == {OPS[name].check} | FOLLOWS.get(name, set())


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_wrong_with_what_is_right(name):
    assert found_in(name) == {"error": set(), "warning": set()}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", SEEDS)
def test_the_verdict_of_a_seed_is_the_same_in_every_dtype(name, dtype):
    _, verdict = look(name, *domain(name), dtype=dtype)
    assert verdict.word == (WORD["exact"] if name in RIGHT_AS_A_CURVE else WORD[OPS[name].claim])


@pytest.mark.parametrize("name", RIGHT)
def test_the_claim_holds_in_half_precision(name):
    # Where a surrogate differs from forward by less than half precision can tell, they match both.
    _, verdict = look(name, *domain(name), dtype=torch.float16)
    assert verdict.word == WORD[OPS[name].claim]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", [name for name in RIGHT if OPS[name].parameters])
def test_the_claim_holds_for_all_parameters(name, seed):
    op, draw = OPS[name], random.Random(seed)
    given = {
        each.name: draw.choice((True, False))
        if each.kind == "switch"
        else draw.randint(int(each.minimum), int(each.maximum))
        if each.kind == "int"
        else draw.uniform(each.minimum, each.maximum)
        for each in op.parameters
    }
    for grad_output in (1.0, -1.0):
        _, verdict = look(op, grad_output=grad_output, **given)
        assert verdict.word in (WORD[op.claim], "matches"), given
