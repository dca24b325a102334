import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
import torch
from support.sampling import sampled
from support.sections import Counted, Written, look, op_of, section, written

from gradloupe.ops import OPS
from gradloupe.server.numerics.verdict.verdict import judge

Ends = list[tuple[float, float]]
Where = Callable[[float], Ends]


def domain(name: str) -> tuple[float, float]:
    wrt = section(name).wrt
    return next(each.domain for each in OPS[name].inputs if each.name == wrt)


def everywhere(name: str) -> Where:
    return lambda _: [domain(name)]


def everywhere_but(name: str, points: Callable[[float], Sequence[float]]) -> Where:
    start, stop = domain(name)
    return lambda value: list(zip((start, *points(value)), (*points(value), stop), strict=True))


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that changes its sign between two numbers is zero."""
    rising = function(high) > 0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if (function(middle) > 0) is rising else (middle, high)
    return (low + high) / 2


def gelu_by_tanh_is_off(x: float) -> float:
    """The derivative of GELU minus that of its approximation by tanh."""
    density, scale = math.exp(-x * x / 2) / math.sqrt(2 * math.pi), math.sqrt(2 / math.pi)
    tanh = math.tanh(scale * (x + 0.044715 * x**3))
    approximate = (1 + tanh) / 2 + x / 2 * (1 - tanh**2) * scale * (1 + 3 * 0.044715 * x**2)
    return math.erfc(-x / math.sqrt(2)) / 2 + x * density - approximate


GELUS = [root(gelu_by_tanh_is_off, *between) for between in ((1, 2), (2.2, 3))]
SWISH = root(lambda u: u * math.tanh(u / 2) - 2, 2, 3)  # where the slope of swish(z) − swish(−z), halved, is 0

# The op, grad_output, what is moved and to where, and in which intervals backward is not the slope of forward.
REGIONS: list[tuple[str, float, str, tuple[float, ...], Where]] = [
    ("truncated_exp", 1.0, "cap", (1.0, 2.37, 3.0), lambda cap: [(-6.0, -cap), (cap, 6.0)]),
    ("truncated_exp", -2.0, "cap", (1.0, 2.5, 4.75), lambda cap: [(-6.0, -cap), (cap, 6.0)]),
    ("heaviside_triangle", 1.0, "reach", (0.5, 1.0, 2.0), lambda reach: [(-reach, reach)]),
    ("heaviside_triangle", -3.0, "reach", (0.2, 0.7371, 2.99), lambda reach: [(-reach, reach)]),
    ("sign_quadratic", 1.0, "", (0.0,), lambda _: [(-1.0, 1.0)]),
    ("sign_straight_through_clipped", 1.0, "", (0.0,), lambda _: [(-1.0, 1.0)]),
    ("sign_swish", 1.0, "beta", (0.9, 2.0, 5.0), everywhere_but("sign_swish", lambda b: (-SWISH / b, SWISH / b))),
    ("gelu_by_tanh", 1.0, "", (0.0,), everywhere_but("gelu_by_tanh", lambda _: [-GELUS[1], -GELUS[0], 0, *GELUS])),
    ("weight_decay_in_backward", 1.0, "", (0.0,), everywhere_but("weight_decay_in_backward", lambda _: [0.0])),
    ("output_ignored", -2.0, "", (0.0,), everywhere_but("output_ignored", lambda _: [0.0])),
    *(
        ("swapped_gradients", 1.0, "v", (v,), everywhere_but("swapped_gradients", lambda v: [v / 2]))
        for v in (1.5, -0.8, 0.437)
    ),
    ("clamp_with_grad", 1.0, "max", (-0.7, 0.31, 1.0), lambda most: [(most, 3.0)]),
    ("clamp_with_grad", -1.0, "min", (-2.9, -1.0, 0.25), lambda least: [(-3.0, least)]),
    ("lower_bound", -1.0, "bound", (-1.5, 0.0, 1.111), lambda bound: [(-3.0, bound)]),
    ("deconvolution_relu", 1.0, "", (0.0,), lambda _: [(-3.0, 0.0)]),
    ("guided_relu", -1.0, "", (0.0,), lambda _: [(0.0, 3.0)]),
    ("float32_mask", 1.0, "", (0.0,), lambda _: [(-3.0, 0.0)]),
    ("incorrect_clipped_relu", 1.0, "clip", (0.6, 2.0, 2.75), lambda clip: [(-1.0, 0.0), (clip, 3.0)]),
    ("dorefa", 1.0, "bits", (1, 2, 4), lambda _: [(0.0, 1.0)]),
    ("fake_quantize", 1.0, "scale", (0.05, 0.25, 0.31), lambda scale: [(-8.5 * scale, 7.5 * scale)]),
    ("learned_step_size", 1.0, "high", (1, 3, 5), lambda high: [(-2.0, 0.5 * high)]),
    ("sparse_straight_through", 1.0, "threshold", (0.1, 0.5, 1.37), lambda threshold: [(-threshold, threshold)]),
    ("heaviside_atan", 1.0, "alpha", (0.5, 2.0, 9.0), everywhere("heaviside_atan")),
    ("round_straight_through", 1.0, "", (0.0,), everywhere("round_straight_through")),
    ("ternary", 1.0, "threshold", (0.1, 0.7, 1.9), everywhere("ternary")),
    ("gradient_clip", 1.0, "limit", (0.01, 0.5, 0.99), everywhere("gradient_clip")),
    ("gradient_scale", 1.0, "scale", (0.0, 0.1, 3.0), everywhere("gradient_scale")),
    ("top_k_mask", 1.0, "k", (1, 3, 5), everywhere("top_k_mask")),
]


def positions() -> list[object]:
    """Each region with what is moved in the middle of its positions; with the others nightly."""
    return [
        pytest.param(name, g, moved, value, where, marks=() if at == len(values) // 2 else pytest.mark.nightly)
        for name, g, moved, values, where in REGIONS
        for at, value in enumerate(values)
    ]


@pytest.mark.parametrize(("name", "grad_output", "moved", "value", "where"), positions())
def test_the_intervals_are_those_of_the_closed_form(name, grad_output, moved, value, where):
    given = {moved: (value,) if moved == "v" else value} if moved else {}
    _, verdict = look(name, *domain(name), grad_output=grad_output, **given)
    found = [end for interval in verdict.forward.intervals for end in interval]
    expected = [end for interval in where(value) for end in interval]
    assert found == pytest.approx(expected, rel=1e-7, abs=1e-9)
    short = {float(f"{end:.10g}") for end in expected if len(f"{end:.10g}") < 8}
    assert not short - set(found)  # 3, and not 3.0000000001


@pytest.mark.parametrize("start", [-3.0, -1.0, -2.9])
def test_an_edge_at_a_kink_is_the_kink_however_steep_the_jump_of_backward_beside_it(start):
    for slope in (-1.0, 1.5):
        _, verdict = look(written(torch.relu, lambda x, slope=slope: slope * (x > 0).double()), start)
        assert verdict.forward.intervals == ((0.0, 3.0),)


@pytest.mark.parametrize("count", [37, 101, 401, 1000])
def test_an_edge_does_not_depend_on_the_points(count):
    dtype = torch.float32 if count in (37, 401) else torch.float64
    _, verdict = look("truncated_exp", -5.875, 6.0, count, cap=2.5, dtype=dtype)
    assert verdict.forward.intervals == ((-5.875, -2.5), (2.5, 6.0))


@pytest.mark.parametrize("start", [-3.0, -2.9375])
def test_a_single_point_of_agreement_is_found_on_a_row_and_between_two(start):
    for dtype in (torch.float64, torch.float32, torch.float16):
        _, verdict = look("swapped_gradients", start, dtype=dtype)
        assert verdict.forward.intervals == ((start, 0.75), (0.75, 3.0)), dtype


@pytest.mark.parametrize("power", [1, 2, 3])
def test_an_edge_is_where_the_difference_begins_however_softly(power):
    wrong = written(lambda x: x, lambda x: 1 + (x - 0.7).clamp(min=0) ** power)
    assert look(wrong)[1].forward.intervals == ((0.7, 3.0),)


SLOPES = {torch.sin: torch.cos, torch.exp: torch.exp, torch.round: torch.zeros_like, torch.square: lambda x: 2 * x}


@pytest.mark.parametrize("seed", sampled(range(24), range(12)))
def test_an_edge_anywhere_is_found_in_every_dtype_as_far_as_that_tells(seed):
    draw = random.Random(seed)
    edge, power, grad_output = round(draw.uniform(-2.4, 2.4), 3), seed % 2, draw.choice((1.0, -2.0, 0.01))
    value, slope = draw.choice(list(SLOPES.items()))
    dtype, reach = (torch.float32, 1e-3) if seed % 3 == 0 else (torch.float64, 1e-9)
    wrong = written(value, lambda x: slope(x) + (x > edge) * 2 * (x - edge) ** power)
    start, stop = edge - draw.uniform(0.1, 5), edge + draw.uniform(0.1, 5)
    found = look(wrong, start, stop, draw.choice((101, 401)), grad_output, dtype=dtype)[1].forward.intervals[0][0]
    assert found == pytest.approx(edge, abs=reach * (stop - start))


def test_a_difference_that_leaps_over_zero_agrees_nowhere():
    wrong = written(lambda x: x, lambda x: 1 + torch.where(x < 0.123, -0.5, 0.5))
    assert look(wrong)[1].forward.intervals == ((-3.0, 3.0),)


def test_a_wave_meets_the_slope_at_each_of_its_extremes():
    _, verdict = look(written(torch.sin, torch.zeros_like), -10.0, 10.0)
    meets = [end for _, end in verdict.forward.intervals[:-1]]
    assert meets == pytest.approx([(each + 0.5) * math.pi for each in range(-3, 3)], abs=1e-7)


def test_all_edges_together_cost_a_few_calls_and_none_where_they_are_kinks():
    counted = Counted(lambda x: Written.apply(x, torch.sin, lambda x: x.cos() + (x.abs() - 1.23).clamp(min=0)))
    evaluation, verdict = look(op_of(counted))
    before = counted.calls
    assert judge(evaluation).forward.intervals == verdict.forward.intervals == ((-3.0, -1.23), (1.23, 3.0))
    assert counted.calls - before <= 10
    evaluation, _ = look("clamp_with_grad")
    called = Counted(evaluation.section.call)
    cut, reference = (replace(each, call=called) for each in (evaluation.section, evaluation.reference))
    judge(replace(evaluation, section=cut, reference=reference))
    assert called.calls == 0
