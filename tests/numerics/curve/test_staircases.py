"""Steps closer together than the points: never a confident wrong slope, and a sentence that says what to do."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from support.sections import look, written

from gradloupe.server.inference.construction.op import op_of
from gradloupe.server.inference.recipe import parse_recipe
from gradloupe.server.numerics.differentiation.finite_differences import EVIDENCE_BOUNDS, PointKind, differentiate
from gradloupe.server.numerics.sentences.places import Names
from gradloupe.server.numerics.sentences.verdict_sentence import verdict_sentence

NAMES = Names("x", "y", "exact")
FAR = 192.0
STEP = 0.5


def quantised(x):
    return torch.clamp(torch.round(x / STEP), -128, 127) * STEP


def passed_on(x):
    return ((x / STEP >= -128.5) & (x / STEP <= 127.5)).to(x)


@pytest.mark.parametrize("step", [0.3, 0.5, 0.75, 1.3, 2.1])
@pytest.mark.parametrize("count", [201, 401, 801])
def test_between_steps_no_slope_is_sure_to_be_another_than_0(step, count):
    def forward(t):
        return np.round(t / step) * step

    x = np.linspace(-FAR, FAR, count)
    found = differentiate(forward, x, forward(x), 2 * FAR)
    smooth = found.kind == PointKind.SMOOTH
    assert smooth.any()
    assert (np.abs(found.value) <= EVIDENCE_BOUNDS * found.error + 1e-9)[smooth].all()


@pytest.mark.parametrize("step", [0.3, 0.5, 0.75])
def test_steps_on_a_slope_leave_the_slope_between_them(step):
    def forward(t):
        return 0.3 * t + np.round(t / step) * step

    x = np.linspace(-FAR, FAR, 401)
    found = differentiate(forward, x, forward(x), 2 * FAR)
    smooth = found.kind == PointKind.SMOOTH
    assert (np.abs(found.value - 0.3) <= EVIDENCE_BOUNDS * found.error + 1e-9)[smooth].all()


@pytest.mark.parametrize("count", [201, 401, 801])
def test_the_numerical_gradient_of_a_fine_staircase_has_no_spikes(count):
    seen, verdict = look(written(quantised, passed_on), -FAR, FAR, count)
    slopes = seen.numerical.slopes
    assert np.abs(slopes.value[slopes.kind == PointKind.SMOOTH]).max() <= 1e-9
    assert verdict.word == "differs"
    assert "slope 0" in verdict_sentence(seen, verdict, NAMES)


def test_a_difference_between_many_jumps_is_one_stretch():
    ((low, high),) = look(written(quantised, passed_on), -FAR, FAR)[1].against.intervals
    assert (low, high) == pytest.approx((-64.25, 63.75), abs=1)


def test_where_the_steps_are_too_fine_a_smaller_range_is_recommended():
    seen, verdict = look(written(lambda x: torch.round(x / STEP) * STEP, torch.ones_like), -20 * FAR, 20 * FAR)
    assert seen.numerical.unseen
    said = verdict_sentence(seen, replace(verdict, word="undecided"), NAMES)
    assert "steps that lie closer together than the points" in said
    assert "Choose a smaller range" in said


def test_steps_are_described_in_a_range_in_which_they_are_seen():
    seen, verdict = look(written(quantised, passed_on), -6.0, 6.0)
    assert not seen.numerical.unseen
    assert verdict.word == "differs"
    assert "slope 0" in verdict_sentence(seen, verdict, NAMES)


class FakeQuant(torch.autograd.Function):
    """Fake quantisation, straight through."""

    @staticmethod
    def forward(ctx, x, scale, qmin=-128, qmax=127):
        return torch.clamp(torch.round(x / scale), qmin, qmax) * scale

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None, None, None


@pytest.mark.parametrize(("scale", "most"), [(0.1, 3.0), (0.5, 12.0), (20.0, 192.0)])
def test_a_range_is_as_wide_as_a_clamp_calls_for_unless_its_steps_would_be_unseen(scale, most):
    recipe = parse_recipe(f"x: float64[7]; scale = {scale}; qmin = -128; qmax = 127")
    low, high = op_of(FakeQuant, recipe, "FakeQuant", "FakeQuant", "here").inputs[0].domain
    assert 3.0 <= -low == high <= most
    assert (high - low) / scale >= 5
