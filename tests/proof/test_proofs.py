"""What is proved of Functions, and what is refuted."""

import math

import torch
from support.sections import op_of, section, written

from gradloupe.ops import OPS, Op
from gradloupe.server.proof import AT_FIRST, Proof, prove

WIDTH = 1e-11  # bound: of what encloses a kink or a jump


def proved(
    op: Op | str, start: float = -3.0, stop: float = 3.0, grad_output: float = 1.0, boxes: int = AT_FIRST
) -> Proof:
    op = OPS[op] if isinstance(op, str) else op
    cut = section(op)
    found = prove(cut, op.surrogate_for(cut.wrt, grad_output), start, stop, grad_output, AT_FIRST)
    assert found is not None
    return found


def test_an_exponential_is_proved_for_every_number_and_every_grad_output() -> None:
    found = proved("exp")
    assert (found.word, found.proved, found.grad_output) == ("proved", ((-3.0, 3.0),), "every")
    assert found.epsilon == 1e-12
    assert (found.points, found.refuted, found.undecided) == ((), (), ())


def test_a_kink_is_enclosed_narrowly_and_all_else_is_proved() -> None:
    found = proved("clipped_relu", -1.0, 3.0)
    assert found.word == "proved"
    assert [round(start, 10) for start, _ in found.points] == [0, 2]
    assert all(start <= kink <= stop <= start + WIDTH for (start, stop), kink in zip(found.points, (0, 2), strict=True))


def test_a_wrong_bump_that_is_a_billionth_wide_is_found() -> None:
    def derivative(x: torch.Tensor) -> torch.Tensor:
        inside = (x > 0.123456789) & (x < 0.123456790)
        return torch.where(inside, 0.0, 1 - torch.tanh(x) ** 2)

    found = proved(written(torch.tanh, derivative))
    assert found.word == "refuted"
    assert abs(found.refuted[0][0] - 0.123456789) < WIDTH
    assert abs(found.refuted[-1][1] - 0.123456790) < WIDTH


def test_a_refutation_is_a_box_with_both_numbers_in_it() -> None:
    found = proved(written(torch.exp, lambda x: torch.exp(x) * 1.0009))
    assert found.word == "refuted"
    one = found.witness
    assert one is not None
    assert one.slope_low <= math.exp(one.start) <= one.slope_high < one.backward_low
    assert one.backward_low <= 1.0009 * math.exp(one.stop) <= one.backward_high
    assert one.stop - one.start < 0.02
    assert found.share == 0


def test_a_gradient_that_asks_for_the_sign_of_grad_output_is_proved_for_that_sign_against_its_surrogate() -> None:
    assert [proved("clamp_with_grad", grad_output=each).word for each in (1.0, -1.0, 2.5)] == ["proved"] * 3
    found = [
        proved(name, grad_output=each).grad_output for name in ("clamp_with_grad", "lower_bound") for each in (1, -1)
    ]
    assert found == ["every positive", "every negative"] * 2


def test_a_gradient_that_asks_for_the_size_of_grad_output_is_proved_for_all_between_those_at_which_it_changes() -> None:
    small, large = proved("gradient_clip", grad_output=0.3), proved("gradient_clip", grad_output=-2.5)
    assert (small.word, large.word, small.grad_output) == ("proved", "proved", "range")
    assert small.given is not None
    assert large.given is not None
    assert 0 < small.given[0] < 0.3 < 0.49 < small.given[1] < 0.5  # at its limit, 0.5, it is another
    assert large.given[0] < -100 < -2.5 < -0.51 < large.given[1] < -0.5


def test_what_is_not_proportional_to_grad_output_is_proved_for_this_one_alone() -> None:
    class Squared(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, grad_output):
            return 2 * grad_output**2

    op = Op(Squared, inputs=op_of(torch.sin).inputs)
    assert [proved(op, grad_output=each).word for each in (1.0, 2.0, -1.0)] == ["proved", "refuted", "refuted"]
    assert proved(op).grad_output == "this"
