import itertools

import numpy as np
import pytest
import torch
from support.answers import document
from support.sections import look, op_of, written
from support.written_functions import function_of

from gradloupe.ops import Input


def curves(op):
    """The header and the columns of the curves."""
    return document(op, "curves")


GUMBEL_SOFTMAX = """
    def forward(ctx, logits):
        noise = -torch.log(-torch.log(torch.rand_like(logits)))
        y = torch.softmax(logits + noise, -1)
        ctx.save_for_backward(y)
        return y
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return y * (grad_output - (grad_output * y).sum(-1, keepdim=True))
"""
LOGITS = Input("x", shape=(7,), value=(0.1, -0.4, 0.7, 1.2, -1.5, 0.3, 0.9))
GUMBEL = op_of(function_of(GUMBEL_SOFTMAX).apply, LOGITS, wrt="x[0]", of="y[0]")


def test_one_draw_is_a_smooth_curve_with_the_gradient_that_backward_returns():
    seen, verdict = look(GUMBEL)
    assert seen.section.one_draw
    assert verdict.word == "matches"
    header, drawn = curves(GUMBEL)
    assert np.ptp(np.diff(drawn["forward"])) < 0.02
    np.testing.assert_allclose(drawn["numerical"], drawn["analytical"], rtol=0, atol=1e-8)
    assert header["marks"] == []


def test_a_forward_that_draws_is_said_to_draw_and_judged_for_one_draw():
    coin = written(lambda x: (torch.rand_like(x) < torch.sigmoid(x)).to(x), torch.ones_like)
    for op, word in ((GUMBEL, "matches"), (coin, "undecided")):
        verdict = curves(op)[0]["verdict"]
        assert verdict["word"] == word
        assert "random numbers; this verdict is for one draw" in verdict["sentence"]


def dropout(share, mask):
    """Drops a share of the numbers; backward has this mask."""
    return op_of(
        function_of(f"""
            def forward(ctx, x):
                mask = (torch.rand_like(x) > {share}) / {1 - share}
                ctx.save_for_backward(mask)
                return x * mask
            def backward(ctx, g):
                return g * {mask}
        """).apply
    )


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5, 0.8, 0.95])
def test_of_several_draws_one_that_tells_is_looked_at(share):
    """With one seed all is dropped, forward and back, or the mask that backward draws happens to be that of forward."""
    kept, again = "ctx.saved_tensors[0]", f"((torch.rand_like(g) > {share}) / {1 - share})"
    seen, verdict = look(dropout(share, kept))
    assert verdict.word == "matches"
    assert np.ptp(seen.forward) > 0
    assert look(dropout(share, again))[1].word == "undecided"


@pytest.mark.parametrize("draw", ["torch", "numpy"])
def test_whose_random_numbers_they_are_makes_no_difference(draw):
    def noise(x):
        return torch.randn_like(x) if draw == "torch" else torch.from_numpy(np.random.normal(size=tuple(x.shape)))

    op = written(lambda x: torch.sin(x) + noise(x), torch.cos)
    seen, verdict = look(op)
    assert seen.section.one_draw
    assert verdict.word == "matches"
    _, columns = curves(op)
    np.testing.assert_allclose(columns["numerical"], np.cos(columns["x"]), rtol=0, atol=1e-7)


def test_what_no_seed_repeats_is_drawn_without_a_numerical_gradient():
    count = itertools.count()
    header, columns = curves(written(lambda x: torch.sin(x) + (0.618 * next(count)) % 1, torch.cos))
    assert header["verdict"]["word"] == "undecided"
    assert np.isnan(columns["numerical"]).all()
    assert header["marks"] == []
    assert "is random" in header["verdict"]["sentence"]
