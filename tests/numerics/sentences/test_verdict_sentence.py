"""The verdict in words: the table of what the page says, in a line of at most twenty words and in sentences."""

import re

import pytest
import torch
from support.answers import document
from support.sections import op_of, written

from gradloupe.ops import OPS, Input, Op


def verdict(op, start=-3.0, stop=3.0, **asked):
    return document(op, "curves", start, stop, **asked)[0]["verdict"]


def fails(x):
    raise ValueError("nothing")


def scaled_exp(factor):
    return written(torch.exp, lambda x: torch.exp(x) * factor)


# What is looked at, and what is said of it in this order.
SENTENCES = {
    "a match names its range": (
        ("exp", -2.0, 2.0),
        {},
        "backward returns the derivative of forward on all of −2 ≤ x ≤ 2. "
        "Outside this range backward agrees with forward, wherever forward is finite.",
    ),
    "a match says what happens at a kink": (
        ("abs_product",),
        {"wrt": "u"},
        "At the kink at 0 it returns 0: any gradient from −2 to 2 is right there.",
    ),
    "the kinks of a surrogate are its own, each once": (
        ("sign_straight_through_clipped",),
        {},
        "At the kinks of its surrogate at −1 and 1 it returns a gradient between those of the two sides",
    ),
    "a match up to the largest numbers": (
        (op_of(torch.relu),),
        {},
        "Outside this range backward agrees with forward, up to the largest numbers of the dtype.",
    ),
    "a match as far as can be seen": (
        (op_of(torch.sin),),
        {},
        "agrees with forward wherever differences of forward are precise enough.",
    ),
    "a fault out of sight": (
        (written(torch.exp, lambda x: torch.exp(x.clamp(max=15))),),
        {},
        "Outside this range backward differs for x > 15: at x = 16.3",
    ),
    "rounding out of sight": (
        (written(lambda x: torch.sqrt(x * x + 1), lambda x: ((x + 1) ** 2 - x * x - 1) / 2 / torch.sqrt(x * x + 1)),),
        {},
        "Outside this range rounding takes digits of what backward returns for x < −1",
    ),
    "the forgotten mask, with its places and an example": (
        ("incorrect_clipped_relu", -1.0, 3.0),
        {},
        "backward does not return the derivative of forward for input < 0 and for input > 2: at input = ",
        "it returns 1, where forward has slope 0.",
    ),
    "the number that is right is not called a slope where it is scaled": (
        ("incorrect_clipped_relu", -1.0, 3.0),
        {"grad_output": -2.0},
        "it returns −2, where grad_output times the slope of forward is 0.",
    ),
    "a surrogate for a positive grad_output": (
        ("clamp_with_grad",),
        {},
        "backward is not the derivative of forward for input > 1, by design: ",
        "For negative grad_output it follows a different surrogate: flip the sign to see it.",
    ),
    "a surrogate for a negative grad_output": (
        ("clamp_with_grad",),
        {"grad_output": -1.0},
        "backward is not the derivative of forward for input < −1, by design: ",
        "For positive grad_output it follows a different surrogate",
    ),
    "a surrogate for every size of grad_output": (
        ("gradient_clip",),
        {},
        "anywhere on −3 ≤ x ≤ 3, by design: on all of −3 ≤ x ≤ 3 it is that of its surrogate, the dotted curve. "
        "Its surrogate depends on the size of grad_output: what backward returns is not in proportion to it.",
    ),
    "a surrogate that is forward for one sign": (
        ("guided_relu",),
        {},
        "For this grad_output backward is the derivative of forward, and on all of −3 ≤ x ≤ 3 it is that of its "
        "surrogate, the dotted curve. For negative grad_output it follows a different surrogate",
    ),
    "jumps": (("heaviside_sigmoid",), {}, "forward jumps at 0, where it has no slope to compare with."),
    "a small difference": ((scaled_exp(1 + 3e-9),), {}, ", off by 6e−8, 3e−9 of the slope there."),
    "a difference by its size and by the slope there": (
        (written(torch.square, lambda x: 2.3 * x),),
        {},
        ", off by 0.9, 15 % of the slope there.",
    ),
    "a difference between the points": (
        (written(torch.sin, lambda x: torch.cos(x) + 1e-7 * ((x - 0.1075).abs() < 0.002)),),
        {},
        "between the points: over 0.105 ≤ x ≤ 0.12 forward changes by 0.01490503846",
        ", and the integral of what backward returns is 0.01490503884",
        ", off by 3.8e−10, 2.6e−8 of that change.",
    ),
    "differences between the points in two places": (
        (
            written(
                torch.sin, lambda x: torch.cos(x) + 1e-7 * (((x - 0.1075).abs() < 0.002) | ((x + 0.4125).abs() < 0.002))
            ),
        ),
        {},
        "between the points: over ",
    ),
    "a difference far away": (
        (written(torch.exp, lambda x: torch.exp(x.clamp(max=4))),),
        {},
        ", where 60.86 is right, off by 6.3, 10 % of the slope there.",
    ),
    "a remark, up to what it matches and where": (
        (scaled_exp(1 + 3e-12),),
        {},
        "on all of −3 ≤ x ≤ 3. It matches up to 6e−11, 3e−12 of the slope there, at x = 2.9",
        "more than float64 rounding, but within the accuracy of torch's own functions.",
    ),
    "a swept parameter gets no gradient": (
        ("clamp_with_grad",),
        {"wrt": "min", "input": (-2.0,)},
        "No gradient is returned for min: autograd sees a plain number there.",
        "with slope 0 to 1",
    ),
    "an output that is cut off from autograd": (
        (op_of(lambda x: x.detach() * 2),),
        {},
        "No gradient is returned for x: y is cut off from it. Yet y moves with it",
    ),
    "what has no effect": (
        ("functional_linear",),
        {"wrt": "bias[0]", "with_bias": False},
        " does not move with it",
    ),
    "where forward is nowhere finite": ((op_of(torch.acosh), -0.5, 0.5), {}, "no finite value"),
    "a grad_output of zero is no proof": (
        ("exp",),
        {"grad_output": 0.0},
        "For grad_output 0 backward returns 0 on all of −3",
    ),
    "nor beside a surrogate": (
        ("clamp_with_grad",),
        {"grad_output": 0.0},
        "For grad_output 0 backward returns 0 on all of −3",
    ),
    "what failed": ((written(torch.exp, fails),), {}, "backward raised ValueError: nothing"),
    "a narrow range": (("exp", 0.99999, 1.00001), {}, "0.99999 ≤ x ≤ 1.00001"),
    "how many points could be judged": (
        (written(lambda x: torch.sin(x) + 1e14 * (x > 1), torch.cos),),
        {},
        " points could be checked.",
    ),
    "a specimen whose curves agree": (
        ("wrong_jvp",),
        {},
        "The bug in this specimen shows in no curve, but in its contract.",
    ),
    "a grad_output that is changed in place": (
        ("gradient_changed_in_place",),
        {},
        "For grad_output 1 backward is right. But backward writes to grad_output, which belongs to",
    ),
    "steps that are described where they are seen": (
        (written(lambda x: torch.round(2 * x) / 2, torch.ones_like), -6.0, 6.0),
        {},
        "slope 0",
    ),
}


@pytest.mark.parametrize("case", SENTENCES)
def test_the_sentences_say_what_was_found(case):
    place, asked, *phrases = SENTENCES[case]
    said = verdict(*place, **asked)["sentence"]
    for phrase in phrases:
        before, found, said = said.partition(phrase)
        assert found, before


LINES = [
    ("exp", 1.0, "Matches: backward is the derivative of forward."),
    ("relu", 1.0, "Matches: backward is the derivative of forward; at the kink it returns a subgradient."),
    ("state_on_the_class", 1.0, "Differs: backward does not return the same twice."),
    ("exp", 0.0, "Matches, which says little: for grad_output 0 nothing comes back, as it should."),
    (
        "clamp_with_grad",
        -1.0,
        "Differs by design where input < −1, for a negative grad_output: "
        "backward follows the dotted surrogate, not forward.",
    ),
    ("incorrect_clipped_relu", 1.0, "Differs where input < 0 or input > 2: backward returns 1, forward’s slope is 0."),
    ("incorrect_clipped_relu", 2.0, "Differs where input < 0 or input > 2: backward returns 2, 0 is right."),
    (
        "round_straight_through",
        1.0,
        "Differs by design everywhere: backward returns 1, the slope of the dotted surrogate; forward’s slope is 0.",
    ),
    (
        "lower_bound",
        1.0,
        "Differs by design for a negative grad_output: for a positive one backward is the derivative of forward.",
    ),
    ("gradient_clip", 0.25, "Differs by design, but not for grad_output 0.25: here it is the derivative of forward."),
    ("gradient_none_added", 1.0, "Fails: backward raised TypeError."),
    ("wrong_jvp", 1.0, "The curves match, but jvp returns half of the directional derivative"),
]


@pytest.mark.parametrize(("name", "grad_output", "line"), LINES)
def test_the_headline_says_what_a_student_needs_to_know_first(name, grad_output, line):
    said = verdict(name, grad_output=grad_output)["headline"]
    assert said == line or (name == "wrong_jvp" and said.startswith(line))
    assert len(said.split()) <= 20


def test_a_second_derivative_that_matches_is_not_announced_by_a_fault_of_the_first():
    assert verdict("incorrect_clipped_relu", order=2)["headline"].startswith("Matches: double backward is")


def test_what_is_broken_in_too_many_words_is_named_by_its_check():
    wordy = Op(OPS["exp"].function, "", "", "", "", (Input("x"),), broken="It " + "goes on " * 12, check="CTX-CYCLE")
    assert verdict(wordy)["headline"].endswith(": CTX-CYCLE.")


def test_two_numbers_that_differ_are_never_printed_alike():
    said = verdict(scaled_exp(1 + 3e-9))["sentence"]
    returned, _, expected = said.partition("it returns ")[2].partition(", where forward has slope ")
    assert float(returned) != float(expected.partition(",")[0])


@pytest.mark.parametrize(
    ("slope", "text"), [(0.0, "0"), (-0.0, "0"), (-1.5, "−1.5"), (1e-7, "1e−7"), (1e30, "1e30"), (2 / 3, "0.6667")]
)
def test_numbers_are_written_as_one_writes_them(slope, text):
    assert f"slope {text}." in document(op_of(lambda x: slope * x), "step", at=1.0)[0]["sentence"]


@pytest.mark.parametrize("name", ["gradient_viewed", "state_on_the_class", "noisy_backward"])
def test_what_the_explanation_says_the_verdict_does_not_say_first(name):
    found = verdict(name)
    said, story = found["sentence"], found["explanation"]["sentence"]
    assert story not in said
    assert not [number for number in re.findall(r"\d+\.\d+", said) if number in story]


def test_headline_sentence_and_explanation_name_the_same_edges():
    found = verdict("truncated_exp", -6.0, 6.0, cap=2.371)
    for said in (found["headline"], found["sentence"], found["explanation"]["sentence"]):
        assert "−2.371" in said
        assert " 2.371" in said


@pytest.mark.parametrize(
    ("name", "phrase"), [("weight_decay_in_backward", "but at x = 0"), ("gelu_by_tanh", "but at 5 points")]
)
def test_only_what_is_not_everywhere_has_an_edge_in_words(name, phrase):
    found = verdict(name, *OPS[name].inputs[0].domain)
    assert f"everywhere {phrase}" in found["headline"]
    assert phrase in found["sentence"]
