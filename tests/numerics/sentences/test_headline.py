"""The verdict in one line: plain English of at most twenty words, the worse of curves and contract."""

from __future__ import annotations

import pytest
from support.sections import look, section

from gradloupe.ops import OPS
from gradloupe.server.numerics.sentences.headline import MOST_WORDS, Specimen, headline
from gradloupe.server.numerics.sentences.places import section_names


def line(name: str, start: float = -3.0, stop: float = 3.0, grad_output: float = 1.0) -> str:
    op = OPS[name]
    specimen = Specimen(op.broken, op.check)
    return headline(*look(name, start, stop, grad_output=grad_output), section_names(section(name)), specimen)


@pytest.mark.parametrize(
    ("name", "grad_output", "said"),
    [
        ("exp", 1.0, "Matches: backward is the derivative of forward."),
        ("relu", 1.0, "Matches: backward is the derivative of forward; at the kink it returns a subgradient."),
        ("exp", 0.0, "Matches, which says little: for grad_output 0 nothing comes back, as it should."),
        (
            "clamp_with_grad",
            -1.0,
            "Differs by design where input < −1, for a negative grad_output: "
            "backward follows the dotted surrogate, not forward.",
        ),
        (
            "incorrect_clipped_relu",
            1.0,
            "Differs where input < 0 or input > 2: backward returns 1, forward’s slope is 0.",
        ),
        ("incorrect_clipped_relu", 2.0, "Differs where input < 0 or input > 2: backward returns 2, 0 is right."),
        (
            "round_straight_through",
            1.0,
            "Differs by design everywhere: backward returns 1, the slope of the dotted surrogate; "
            "forward’s slope is 0.",
        ),
        (
            "lower_bound",
            1.0,
            "Differs by design for a negative grad_output: for a positive one backward is the derivative of forward.",
        ),
        (
            "gradient_clip",
            0.25,
            "Differs by design, but not for grad_output 0.25: here it is the derivative of forward.",
        ),
        ("gradient_none_added", 1.0, "Fails: backward raised TypeError."),
    ],
)
def test_the_headline_says_what_a_student_needs_to_know_first(name: str, grad_output: float, said: str) -> None:
    assert line(name, grad_output=grad_output) == said
    assert len(said.split()) <= MOST_WORDS


def test_a_specimen_whose_curves_match_says_what_its_contract_finds() -> None:
    assert line("wrong_jvp").startswith("The curves match, but jvp returns half of the directional derivative")


def test_what_is_broken_in_too_many_words_is_named_by_its_check() -> None:
    specimen = Specimen("It " + "goes on and " * 8 + "on.", "CTX-CYCLE")
    said = headline(*look("exp"), section_names(section("exp")), specimen)
    assert said == "The curves match, but the contract finds a fault: CTX-CYCLE."
