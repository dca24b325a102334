import numpy as np
import pytest
import torch
from support.answers import document
from support.sections import look, written
from support.written_functions import function_of

from gradloupe.server.inference.construction.op import op_of
from gradloupe.server.inference.recipe import parse_recipe
from gradloupe.server.numerics.differentiation.finite_differences import EVIDENCE_BOUNDS, PointKind, differentiate

FAR = 192.0
STEP = 0.5
QUANTISED = written(
    lambda x: torch.clamp(torch.round(x / STEP), -128, 127) * STEP,
    lambda x: ((x / STEP >= -128.5) & (x / STEP <= 127.5)).to(x),
)


@pytest.mark.parametrize("step", [0.3, 0.5, 0.75, 1.3, 2.1])
def test_between_steps_no_slope_is_sure_to_be_another_than_that_between_them(step):
    for count, slope in ((201, 0.0), (401, 0.0), (801, 0.0), (401, 0.3)):

        def forward(t, slope=slope):
            return slope * t + np.round(t / step) * step

        x = np.linspace(-FAR, FAR, count)
        found = differentiate(forward, x, forward(x), 2 * FAR)
        smooth = found.kind == PointKind.SMOOTH
        assert smooth.any()
        assert (np.abs(found.value - slope) <= EVIDENCE_BOUNDS * found.error + 1e-9)[smooth].all()


@pytest.mark.parametrize("count", [201, 401, 801])
def test_the_numerical_gradient_of_a_fine_staircase_has_no_spikes(count):
    header, columns = document(QUANTISED, "curves", -FAR, FAR, count=count)
    assert np.nanmax(np.abs(columns["numerical"])) <= 1e-9
    assert (header["verdict"]["word"], "slope 0" in header["verdict"]["sentence"]) == ("differs", True)


def test_a_difference_between_many_jumps_is_one_stretch():
    ((low, high),) = look(QUANTISED, -FAR, FAR)[1].against.intervals
    assert (low, high) == pytest.approx((-64.25, 63.75), abs=1)


def test_steps_that_lie_too_close_together_are_told_and_those_that_do_not_are_not():
    op = written(lambda x: torch.round(x / STEP) * STEP, torch.ones_like)
    far, near = (document(op, "curves", -reach, reach)[0] for reach in (20 * FAR, 6.0))
    assert any("steps that lie closer together than the points" in note for note in far["notes"])
    assert near["notes"] == []
    half = document(
        written(lambda x: torch.round(x / STEP) * STEP, lambda x: 0.5 + 0 * x), "curves", -20 * FAR, 20 * FAR
    )[0]["verdict"]
    assert (half["word"], "slope 0" in half["sentence"]) == ("differs", True)


FAKE_QUANT = (
    "def forward(ctx, x, scale, qmin=-128, qmax=127): return torch.clamp(torch.round(x / scale), qmin, qmax) * scale"
)


@pytest.mark.parametrize(("scale", "most"), [(0.1, 3.0), (0.5, 12.0), (20.0, 192.0)])
def test_a_range_is_as_wide_as_a_clamp_calls_for_unless_its_steps_would_be_unseen(scale, most):
    recipe = parse_recipe(f"x: float64[7]; scale = {scale}; qmin = -128; qmax = 127")
    low, high = op_of(function_of(FAKE_QUANT), recipe, "own", "Own", "here").inputs[0].domain
    assert 3.0 <= -low == high <= most
    assert (high - low) / scale >= 5
