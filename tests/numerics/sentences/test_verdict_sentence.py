"""The verdict in words: what the seeds' stories say on the page."""

import re

import pytest
import torch
from support.sections import explanation, look, op_of, written

from gradloupe.server.numerics.formatting.numbers import format_number
from gradloupe.server.numerics.sentences.places import Names
from gradloupe.server.numerics.sentences.verdict_sentence import verdict_sentence


def sentence(op, *range_, claim="exact", wrt="x", **asked):
    evaluation, verdict = look(op, *range_, **asked)
    return verdict_sentence(evaluation, verdict, Names(wrt, "y", claim))


def test_a_match_names_its_range():
    assert sentence("exp", -2.0, 2.0) == (
        "backward returns the derivative of forward on all of −2 ≤ x ≤ 2. "
        "Outside this range backward agrees with forward, wherever forward is finite."
    )


def test_a_match_says_what_happens_at_a_kink():
    assert sentence("abs_product", wrt="u") == (
        "backward returns the derivative of forward on all of −3 ≤ u ≤ 3. "
        "At the kink at 0 it returns 0: any gradient from −2 to 2 is right there. "
        "Outside this range backward agrees with forward, wherever forward is finite."
    )


def test_the_forgotten_mask_is_told_with_its_places_and_an_example():
    text = sentence("incorrect_clipped_relu", -1.0, 3.0, claim="broken")
    assert text.startswith("backward does not return the derivative of forward for x < 0 and for x > 2: at x = ")
    assert "it returns 1, where forward has slope 0." in text


def test_clamp_with_grad_says_that_its_surrogate_depends_on_the_sign():
    ahead = sentence("clamp_with_grad", claim="surrogate")
    back = sentence("clamp_with_grad", claim="surrogate", grad_output=-1.0)
    assert "backward is not the derivative of forward for x > 1, by design: " in ahead
    assert "For negative grad_output it follows a different surrogate: flip the sign to see it." in ahead
    assert "backward is not the derivative of forward for x < −1, by design: " in back
    assert "For positive grad_output it follows a different surrogate: flip the sign to see it." in back


def test_jumps_are_named():
    text = sentence("heaviside_sigmoid", claim="surrogate")
    assert "forward jumps at 0, where it has no slope to compare with." in text


def test_two_numbers_that_differ_are_never_printed_alike():
    text = sentence(written(torch.exp, lambda x: torch.exp(x) * (1 + 3e-9)))
    returned, _, expected = text.partition("it returns ")[2].partition(", where forward has slope ")
    assert float(returned) != float(expected.partition(",")[0])
    assert text.endswith(", off by 6e−8, 3e−9 of the slope there.")


def test_a_difference_is_told_by_size_and_by_the_slope_at_its_place():
    assert sentence(written(torch.square, lambda x: 2.3 * x)).endswith(", off by 0.9, 15 % of the slope there.")
    dent = sentence(written(torch.sin, lambda x: torch.cos(x) + 3.0 * ((x - 0.1075).abs() < 0.002)))
    assert dent.endswith(
        "between the points: over 0.105 ≤ x ≤ 0.12 forward changes by 0.01491, and the integral of what "
        "backward returns is 0.02643, off by 0.012, 77 % of that change."
    )
    beyond = sentence(written(torch.exp, lambda x: torch.exp(x.clamp(max=4))))
    assert ", where 60.86 is right, off by 6.3, 10 % of the slope there." in beyond


def test_a_remark_says_up_to_what_it_matches_and_where():
    text = sentence(written(torch.exp, lambda x: torch.exp(x) * (1 + 3e-12)))
    assert "on all of −3 ≤ x ≤ 3. It matches up to 6e−11, 3e−12 of the slope there, at x = 2.9" in text
    assert "more than float64 rounding, but within the accuracy of torch's own functions." in text


def test_a_swept_parameter_is_said_to_get_no_gradient():
    evaluation, verdict = look("clamp_with_grad", wrt="min", input=(-2.0,))
    text = verdict_sentence(evaluation, verdict, Names("min", "y", "surrogate", parameter=True))
    assert text.startswith("No gradient is returned for min: autograd sees a plain number there.")
    assert "with slope 0 to 1" in text


def test_an_output_cut_off_from_autograd_is_said_to_be():
    text = sentence(op_of(lambda x: x.detach() * 2))
    assert text.startswith("No gradient is returned for x: y is cut off from it. Yet y moves with it")


def test_what_has_no_effect_is_said_to_have_none():
    evaluation, verdict = look("functional_linear", wrt="bias[0]", with_bias=False)
    assert "y does not move with it" in verdict_sentence(evaluation, verdict, Names("bias[0]", "y", "exact"))


def test_an_undecided_verdict_says_why():
    assert "no finite value" in sentence(op_of(torch.acosh), -0.5, 0.5)


def test_a_zero_grad_output_is_no_proof():
    for name, claim in (("exp", "exact"), ("clamp_with_grad", "surrogate")):
        said = sentence(name, claim=claim, grad_output=0.0)
        assert said.startswith("For grad_output 0 backward returns 0 on all of −3")


def test_what_failed_is_quoted():
    def fails(t):
        raise ValueError("nothing")

    assert sentence(written(torch.exp, fails)) == "backward raised ValueError: nothing"


def test_a_narrow_range_is_told_with_digits_enough():
    assert "0.99999 ≤ x ≤ 1.00001" in sentence("exp", 0.99999, 1.00001)


def test_how_many_points_could_be_judged_is_said_where_many_could_not():
    far_up = written(lambda x: torch.sin(x) + 1e14 * (x > 1), torch.cos)
    assert " points could be checked." in sentence(far_up, -3.0, 3.0)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (-0.0, "0"), (-1.5, "−1.5"), (1e-7, "1e−7"), (1e30, "1e30"), (float("nan"), "NaN"), (-1e400, "−∞")],
)
def test_numbers_are_written_as_one_writes_them(value, text):
    assert format_number(value) == text


def test_a_surrogate_for_every_size_of_grad_output_is_told_from_one_for_either_sign():
    assert sentence("gradient_clip", claim="surrogate").startswith(
        "backward is not the derivative of forward anywhere on −3 ≤ x ≤ 3, by design: on all of −3 ≤ x ≤ 3 it is that "
        "of its surrogate, the dotted curve. "
        "Its surrogate depends on the size of grad_output: what backward returns is not in proportion to it."
    )
    assert sentence("guided_relu", claim="surrogate").startswith(
        "For this grad_output backward is the derivative of forward, and on all of −3 ≤ x ≤ 3 it is that of its "
        "surrogate, the dotted curve. For negative grad_output it follows a different surrogate: "
        "flip the sign to see it."
    )


def test_a_specimen_whose_curves_agree_is_not_said_to_be_right():
    assert "The bug in this specimen shows in no curve, but in its contract." in sentence("wrong_jvp", claim="broken")


def test_a_grad_output_changed_in_place_is_told_once():
    said = sentence("gradient_changed_in_place", claim="broken")
    assert said.startswith(
        "For grad_output 1 backward is right. But backward changes grad_output, which it was only lent."
    )
    assert "belongs to autograd" not in said


def test_the_number_that_is_right_is_not_called_a_slope_where_it_is_scaled():
    said = sentence("incorrect_clipped_relu", -1.0, 3.0, claim="broken", grad_output=-2.0)
    assert "it returns −2, where grad_output times the slope of forward is 0." in said


@pytest.mark.parametrize("name", ["gradient_viewed", "state_on_the_class", "noisy_backward"])
def test_what_the_explanation_says_the_verdict_does_not_say_first(name):
    said, story = sentence(name, claim="broken"), explanation(name)
    assert story.sentence not in said
    assert not [number for number in re.findall(r"\d+\.\d+", said) if number in story.sentence]
