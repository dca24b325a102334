"""The library's whole test of an op: what is measured equals what it claims. All of the gallery is put to it."""

import random
from functools import cache

import pytest
import torch
from functions.seeds import SEEDS
from support.answers import document
from support.sampling import sampled
from support.sections import WORD, look, section

from gradloupe.ops import OPS
from gradloupe.server.contract import contract_xray

SPECIMENS = [name for name, op in OPS.items() if op.claim == "broken"]
RIGHT = [name for name in OPS if name not in SPECIMENS]
# Specimens whose curves are as they should be; what is wrong with them only the contract tells.
RIGHT_AS_A_CURVE = (
    *("changes_what_it_saved", "cube_wrong_double_backward", "input_changed_in_place", "late_read"),
    *("output_kept_on_ctx", "sinh_on_ctx", "wrong_jvp"),
)
# Specimens of which more is said than their headline, since it cannot but follow.
FOLLOWS = {
    "changes_what_it_saved": {"CTX-TENSOR", "SECOND-ORDER"},
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
    checks = contract_xray(section(name)).checks
    return {level: {each.id for each in checks if each.level == level} for level in ("error", "warning")}


@cache
def seen(name, **asked):
    """The evaluation over the domain of what is swept, and its verdict."""
    return look(name, *domain(name), **asked)


def said(name, **asked):
    """The word of that verdict."""
    return seen(name, **asked)[1].word


def turn(name):
    return list(OPS).index(name) % 2


@pytest.mark.nightly
@pytest.mark.parametrize("name", RIGHT)
def test_the_claim_holds_for_either_sign_and_in_half_precision(name):
    for asked in ({"grad_output": -1.0}, {"dtype": torch.float16}):
        assert said(name, **asked) == WORD[OPS[name].claim]


@pytest.mark.parametrize("name", OPS)
def test_the_measured_verdict_and_the_contract_are_as_the_op_claims(name):
    op, found, verdict = OPS[name], found_in(name), document(name, "curves", *domain(name))[0]["verdict"]
    if op.claim == "broken":
        curves = "matches" if name in RIGHT_AS_A_CURVE else "failed" if name in RAISING else "differs"
        named = {op.check} | FOLLOWS.get(name, set())
        assert (verdict["word"], found["error"] | found["warning"]) == (curves, named)
    else:
        # And for the other sign or in half precision, in turn; nightly in both.
        other = {"grad_output": -1.0} if op.follows_sign or turn(name) else {"dtype": torch.float16}
        assert (verdict["word"], said(name, **other)) == (WORD[op.claim],) * 2
        assert found == {"error": set(), "warning": set()}
    headline = verdict["headline"]
    assert len(headline.split()) <= 20
    assert headline.startswith("Matches: ") == (op.claim == "exact")


@pytest.mark.parametrize("name", SEEDS)
def test_the_verdict_of_a_seed_is_the_same_in_every_dtype(name):
    word = WORD["exact"] if name in RIGHT_AS_A_CURVE else WORD[OPS[name].claim]
    words = {dtype: said(name, dtype=dtype) for dtype in (torch.float32, torch.bfloat16, torch.float16)}
    assert words == dict.fromkeys(words, word)


def drawn(op, seed):
    """A value for every parameter of the op."""
    draw = random.Random(seed)
    return {
        each.name: draw.choice((True, False))
        if each.kind == "switch"
        else draw.randint(int(each.minimum), int(each.maximum))
        if each.kind == "int"
        else draw.uniform(each.minimum, each.maximum)
        for each in op.parameters
    }


@pytest.mark.parametrize("name", sampled(name for name in RIGHT if OPS[name].parameters))
def test_the_claim_holds_for_all_parameters(name):
    op, words = OPS[name], {}
    for seed, grad_output in enumerate((1.0, -1.0, 1.0, -1.0)):
        given = drawn(op, seed)
        words[(*given.items(), grad_output)] = look(op, grad_output=grad_output, **given)[1].word
    assert {asked: word for asked, word in words.items() if word not in (WORD[op.claim], "matches")} == {}


@pytest.mark.parametrize("name", [name for name in RIGHT if OPS[name].follows_sign])
def test_what_depends_on_grad_output_opens_with_one_for_which_it_differs(name):
    domain = next(each.domain for each in OPS[name].inputs if each.name == section(name).wrt)
    assert look(name, *domain, grad_output=OPS[name].grad_output)[1].forward.intervals


def test_kill_head_opens_with_an_element_that_it_kills():
    evaluation, _ = look("kill_head")
    assert not evaluation.forward.any()
    assert not evaluation.analytical.any()
