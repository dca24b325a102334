"""The wide look on trial: faults out of sight must be found, and no correct Function accused, in bounded time."""

import numpy as np
import pytest
import torch
from functions.basics import with_backward
from functions.correct import NOT_IN_16_BITS, RIGHT
from support.answers import document
from support.sampling import each_fourth
from support.sections import Counted, look, op_of, section, written

from gradloupe.ops import Input
from gradloupe.server.numerics.curve.evaluate import Grid
from gradloupe.server.numerics.status import Status
from gradloupe.server.numerics.whole_range.check import check_whole_range, outside_view
from gradloupe.server.runtime.batching import batched_section
from gradloupe.server.runtime.reference import reference_of

F, S = torch.nn.functional, torch.special


def wide(op, dtype=torch.float64, grad_output=1.0, start=-3.0, stop=3.0, surrogate=None):
    """The wide look at an op, after the range in sight has told its largest gradient."""
    cut = section(op, dtype=dtype)
    t = np.unique(cut.snap(np.linspace(start, stop, 101)))
    cut = batched_section(cut, t, grad_output)
    reference = reference_of(cut, t, grad_output)
    gradient = cut.backward(t, grad_output).grad_input
    gradient = np.zeros(1) if gradient is None else np.abs(gradient[np.isfinite(gradient)])
    largest_gradient = float(np.quantile(gradient, 0.99)) if gradient.size else 0.0
    meant = surrogate and batched_section(section(op_of(surrogate)), t)
    return check_whole_range(cut, reference, grad_output, largest_gradient, meant)


def stacked(*others):
    """x among other numbers, as the last dimension."""
    return lambda x: torch.stack((x, *(0 * x + each for each in others)), -1)


# And what is seen from far away alone.
INNOCENT = RIGHT | {
    "1 / x³": lambda x: 1 / x**3,
    "a root": lambda x: x**0.5,
    "a cube root": lambda x: x.sign() * x.abs() ** (1 / 3),
    "the root of |x|": lambda x: x.abs().sqrt(),
    "a bell far out": lambda x: torch.exp(-((x - 1e4) ** 2)),
    "Cauchy's bell": lambda x: 1 / (1 + x * x),
    "log(x² + 1)": lambda x: torch.log(x**2 + 1),
    "log(x + 1)": lambda x: torch.log(x + 1),
    "xˣ": lambda x: x**x,
    "exp(x²)": lambda x: torch.exp(x * x),
    "exp(exp(x))": lambda x: torch.exp(torch.exp(x)),
    "atan2 the other way": lambda x: torch.atan2(torch.ones_like(x), x),
    "atan(1 / x)": lambda x: torch.atan(1 / x),
    "x rsqrt(1 + x²)": lambda x: x * torch.rsqrt(1 + x * x),
    "(1 - cos x) / x": lambda x: (1 - torch.cos(x)) / x,
    "sin x / x": lambda x: torch.sin(x) / x,
    "(eˣ - 1) / x": lambda x: torch.expm1(x) / x,
    "sin(1 / x)": lambda x: torch.sin(1 / x),
    "sin(x²)": lambda x: torch.sin(x * x),
    "cos(πx)": lambda x: torch.cos(torch.pi * x),
    "a wave packet": lambda x: torch.sin(20 * x) * torch.exp(-x * x / 50),
    "a half wave": lambda x: torch.relu(torch.sin(x)),
    "a sawtooth": lambda x: torch.remainder(x, 1.0),
    "x modulo 3": lambda x: x % 3,
    "a fine staircase": lambda x: torch.round(x * 2**30) / 2**30,
    "a wide staircase": lambda x: torch.floor(x / 1000),
    "a power of a sigmoid": lambda x: torch.sigmoid(x**4),
    "tanh of the cube": lambda x: torch.tanh(x**3),
    "two scales": lambda x: 1e8 * torch.tanh(1e-6 * x) + torch.sin(x),
    "an offset taken off": lambda x: (x + 1e8) - 1e8,
    "a difference of squares": lambda x: (x + 1) ** 2 - x * x,
    "a pole": lambda x: 1 / (x - 1.5),
    "a logarithmic pole": lambda x: torch.log((x - 2).abs()),
    "float32 inside": lambda x: torch.tanh(x.float()).to(x.dtype),
    "float16 inside": lambda x: x.half().to(x.dtype),
    "bfloat16 inside": lambda x: torch.sin(x.bfloat16()).to(x.dtype),
    "softmax": lambda x: torch.softmax(stacked(0.0, 1.0)(x), -1)[..., 0],
    "log softmax": lambda x: torch.log_softmax(stacked(0.0)(x), -1)[..., 1],
    "layer norm": lambda x: F.layer_norm(stacked(0.0, 1.0)(x), (3,))[..., 0],
    "normalize": lambda x: F.normalize(stacked(1.0)(x), dim=-1)[..., 0],
    "a norm": lambda x: stacked(1.0)(x).norm(dim=-1),
    "a deviation": lambda x: stacked(1.0, -1.0)(x).std(-1),
    "logsumexp": lambda x: torch.logsumexp(stacked(1.0)(x), -1),
    "a product": lambda x: stacked(2.0)(x).prod(-1),
    "noise": lambda x: x + torch.rand_like(x),
}


@pytest.mark.parametrize("name", each_fourth(INNOCENT))
def test_a_right_gradient_is_accused_nowhere(name):
    """In double precision and, in turn, in one that is shorter."""
    op, turn = op_of(INNOCENT[name]), list(INNOCENT).index(name) // 4 % 3
    shorter = [(torch.float32, -2.5, 0.5), (torch.bfloat16, 1.0, 3.0), (torch.float16, -2.5, 0.5)]
    for dtype, grad_output, reach in ((torch.float64, 1.0, 3.0), shorter[turn]):
        if dtype.itemsize > 2 or name not in NOT_IN_16_BITS:
            torch.manual_seed(0)
            assert wide(op, dtype, grad_output, -reach, reach).intervals == (), (dtype, reach)


def otherwise(value, right, wrong, where):
    """A Function whose derivative is wrong somewhere."""
    return written(value, lambda x: torch.where(where(x), wrong(x), right(x)))


ALL = 1.79e308
WRONG = {
    "x > 3": (otherwise(torch.sin, torch.cos, lambda x: -torch.cos(x), lambda x: x > 3), [(3, 2000)]),
    "6 is forgotten": (written(lambda x: x.clamp(0, 6), lambda x: (x > 0) * 1.0), [(6, ALL)]),
    "x < -50": (otherwise(torch.exp, torch.exp, torch.ones_like, lambda x: x < -50), [(-ALL, -50)]),
    "half of it": (otherwise(torch.square, lambda x: 2 * x, lambda x: x, lambda x: x < -50), [(-1e154, -50)]),
    "TruncExp": (written(torch.exp, lambda x: torch.exp(x.clamp(max=15))), [(15, 709.78)]),
    "NaN by overflow": (op_of(lambda x: x / (1 + torch.exp(-x))), [(-ALL, -709.78)]),
    "tanh near 0": (
        otherwise(torch.tanh, lambda x: 1 - torch.tanh(x) ** 2, lambda x: 2 + 0 * x, lambda x: x.abs() < 1e-4),
        [(-1e-4, 1e-4)],
    ),
    "exp near 0": (
        otherwise(torch.exp, torch.exp, torch.zeros_like, lambda x: x.abs() < 1e-4),
        [(-1e-4, -1e-8), (1e-8, 1e-4)],
    ),
    "20 to 30": (otherwise(torch.square, lambda x: 2 * x, lambda x: 3 * x, lambda x: (x > 20) & (x < 30)), [(20, 30)]),
    "1 % too much": (
        otherwise(lambda x: x, torch.ones_like, lambda x: 1.01 + 0 * x, lambda x: x.abs() > 3),
        [(-ALL, -3), (3, ALL)],
    ),
    "softplus cut off": (otherwise(F.softplus, torch.sigmoid, torch.zeros_like, lambda x: x > 20), [(20, ALL)]),
    "far out": (otherwise(lambda x: x, torch.ones_like, lambda x: -1 + 0 * x, lambda x: x > 1e20), [(1e20, ALL)]),
    "NaN": (otherwise(torch.square, lambda x: 2 * x, lambda x: torch.nan * x, lambda x: x > 100), [(100, 1e154)]),
    "∞": (otherwise(torch.square, lambda x: 2 * x, lambda x: torch.inf * x, lambda x: x > 100), [(100, 1e154)]),
    "log_ndtr of torch": (op_of(S.log_ndtr), [(-1e132, -222348)]),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_fault_out_of_sight_is_found_where_it_begins(name):
    op, expected = WRONG[name]
    for grad_output in (1.0, -0.37):
        found = wide(op, grad_output=grad_output).intervals
        assert len(found) == len(expected), grad_output
        for value, true in zip(np.ravel(found), np.ravel(expected), strict=True):
            power = abs(true) > 1e100 or abs(true) in (1e-8, 2000)
            assert np.sign(value) == np.sign(true)
            assert abs(value) == pytest.approx(abs(true), rel=0.5 if power else 5e-3) or abs(true) > 1e100


@pytest.mark.parametrize("name", ["x > 3", "half of it", "TruncExp", "20 to 30", "1 % too much", "NaN"])
def test_an_edge_out_of_sight_is_the_number_it_is(name):
    op, expected = WRONG[name]
    edges = {end for interval in expected for end in interval if 1 < abs(end) <= 100}
    assert edges <= {end for interval in wide(op).intervals for end in interval}


def test_an_edge_beside_the_largest_number_is_the_number_it_is():
    op = otherwise(lambda x: x / 2, lambda x: 0.5 + 0 * x, lambda x: 0.25 + 0 * x, lambda x: x > 1.3e308)
    assert [low for low, _ in wide(op).intervals] == [1.3e308]


@pytest.mark.parametrize("clip", [1.31, 2.0])
def test_an_edge_out_of_sight_at_a_kink_is_not_moved_by_the_step_of_the_differences(clip):
    seen = wide(written(lambda x: x.clamp(max=clip), torch.ones_like))
    assert [low for low, _ in seen.intervals] == [clip]


@pytest.mark.parametrize("name", ["x > 3", "6 is forgotten", "softplus cut off", "20 to 30"])
def test_a_fault_out_of_sight_is_found_in_every_dtype(name):
    op, ((begins, _),) = WRONG[name]
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        ((low, _),) = wide(op, dtype).intervals
        assert low == pytest.approx(begins, rel=2 * torch.finfo(dtype).eps + 2e-3), dtype


def test_a_gradient_that_overflows_to_nan_in_float16_is_reported_where_it_does():
    right, left = wide(op_of(lambda x: torch.tanh(x**9)), torch.float16).intervals[::-1]
    assert right[0] == pytest.approx(3.04, abs=0.01)
    assert left[1] == -right[0]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_wave_is_undecided_where_its_period_is_finer_than_the_numbers(dtype):
    seen = wide(op_of(torch.sin), dtype)
    far, near = np.abs(seen.x) > 1e17, (np.abs(seen.x) > 1e-5) & (np.abs(seen.x) < 1e4)
    assert (seen.status[far] == Status.UNDECIDED).all()
    assert np.isnan(seen.numerical[far]).all()
    assert (seen.status[near] == Status.AGREES).all()


@pytest.mark.parametrize("name", ["sin", "exp", "gelu", "a root", "reciprocal", "x cubed", "asinh", "a pole", "lgamma"])
def test_the_error_bound_holds_wherever_there_is_a_slope(name):
    seen = wide(op_of(INNOCENT[name]))
    known = (np.abs(seen.x) < 1e15) & np.isfinite(seen.numerical) & np.isfinite(seen.analytical)
    off = np.abs(seen.analytical - seen.numerical)[known]
    places = 1e-14 * (np.abs(seen.analytical) + 1)[known]
    assert (off <= 10 * seen.error[known] + places).all()
    assert known.sum() > 60


@pytest.mark.parametrize("grad_output", [1.0, -1.0])
def test_a_gradient_may_follow_the_surrogate_instead(grad_output):
    op = written(torch.round, torch.ones_like)
    assert wide(op, grad_output=grad_output).intervals
    assert wide(op, grad_output=grad_output, surrogate=lambda x: 1.0 * x).intervals == ()


def test_neither_forward_nor_surrogate_is_a_fault():
    op = written(torch.round, lambda x: torch.where(x > 10, 5.0, 1.0))
    ((low, high),) = wide(op, surrogate=lambda x: 1.0 * x).intervals
    assert low == pytest.approx(10, rel=1e-3)
    assert high > 500


def far(x):
    return float(x.detach().abs().max())


def loops(x):
    for _ in range(int(far(x))):
        pass
    return 2 * x


LOOPS_BACKWARDS = with_backward(lambda x: 2 * x, lambda g, x: loops(x) * 0 + 2 * g)


def test_a_function_that_takes_ever_longer_is_left_in_time():
    for function in (loops, LOOPS_BACKWARDS.apply):
        seen = wide(op_of(function))
        assert seen.ends == ("slow", "slow")
        assert (1e3 < -seen.reach[0] < 1e7, 1e3 < seen.reach[1] < 1e7) == (True, True)
        assert seen.intervals == ()


@pytest.mark.parametrize(
    ("seconds", "least", "most"),
    [
        (lambda r: 1e-8 * r, 1e3, 1e7),
        (lambda r: 1e-8 * r**2, 10, 1e4),
        (lambda r: 1e-8 * r**0.5, 1e6, 1e14),
        (lambda r: 1e-4 * r, 0, 1e3),
    ],
)
def test_how_far_is_looked_depends_on_how_fast_the_calls_become_slow(seconds, least, most, clock):
    def slow(x):
        for _ in range(min(int(far(x)), 20_000)):  # so many lines in a call for all magnitudes at once are given up
            pass
        clock.goes_on(1e-4 + seconds(far(x)))
        return 2 * x

    seen = wide(op_of(slow))
    assert seen.ends == ("slow", "slow")
    assert (least < -seen.reach[0] < most, least < seen.reach[1] < most) == (True, True)


def refuses(x):
    if far(x) > 100:
        raise ValueError("too far out")
    return torch.where(x > 50, x, 2 * x)


def only_positive(x):
    if (x < 0).any():
        raise ValueError("only positive, please")
    return x.sqrt()


def exits(x):
    if far(x) > 100:
        raise SystemExit(3)
    return 2 * x


@pytest.mark.parametrize(("function", "kind"), [(refuses, "ValueError"), (exits, "SystemExit")])
def test_a_function_that_raises_far_out_is_looked_at_up_to_there(function, kind):
    seen = wide(op_of(function))
    assert seen.ends == (kind, kind)
    assert seen.reach == pytest.approx((-100, 100), rel=0.01)
    assert np.abs(seen.x).max() <= 100
    assert seen.intervals == ()
    assert f"below −100 and above 100, it raises {kind}." in document(op_of(function), "wide")[0]["sentence"]


def test_how_far_a_function_can_be_called_is_found_once_for_all_ranges():
    square = Counted(torch.square)
    op, calls = op_of(square), []
    for stop in (3.0, 5.0):
        before = square.calls
        wide(op, stop=stop)
        calls.append(square.calls - before)
    assert calls[0] - calls[1] >= 4


def test_an_op_made_with_a_list_is_examined_as_one_made_with_a_tuple():
    assert wide(op_of(torch.square, Input("x", shape=[]))).reach == wide(op_of(torch.square)).reach


def test_a_function_of_positive_numbers_is_looked_at_there():
    seen = wide(op_of(only_positive), start=0.5, stop=3.0)
    assert seen.ends == ("ValueError", "")
    assert seen.reach[0] == 0
    assert seen.reach[1] > 1e308
    assert (seen.status == Status.AGREES).any()


def test_a_function_that_can_be_called_nowhere_near_0_leaves_nothing_to_say():
    def strict(x):
        if not ((x > 2) & (x < 4)).all():
            raise ValueError("only from 2 to 4")
        return x * x

    seen = wide(op_of(strict), start=2.5, stop=3.5)
    assert seen.x.size == 0
    assert seen.reach == (0, 0)


def test_points_that_need_a_call_each_are_few():
    one_by_one = op_of(lambda x: (x * x).sum() + 0 * x)
    seen = wide(one_by_one)
    assert 20 < seen.x.size <= 60
    assert seen.intervals == ()
    wrong = op_of(lambda x: WRONG["x > 3"][0](x).sum() + 0 * x)
    ((low, _),) = wide(wrong).intervals
    assert low == pytest.approx(3, rel=1e-3)


def test_a_gradient_by_chance_is_not_accused():
    torch.manual_seed(0)
    assert wide(written(torch.sin, lambda x: torch.cos(x) + torch.randn_like(x))).intervals == ()


def test_what_backward_returns_nothing_for_leaves_nothing_to_see():
    seen = check_whole_range(section("clamp_with_grad", wrt="min"), section("clamp_with_grad", wrt="min"), 1.0, 1.0)
    assert seen.x.size == 0


def test_what_differs_within_the_visible_range_is_not_out_of_sight():
    seen = wide(WRONG["TruncExp"][0])
    assert outside_view(seen, Grid(-3, 3, 401)) == seen.intervals
    assert outside_view(seen, Grid(0, 800, 401)) == ()


def bump(x):
    """(1 - cos x) / x², whose forward is 0 where the cosine rounds to 1."""
    return (1 - torch.cos(x)) / x**2


def slope_of_bump(x):
    return torch.sin(x) / x**2 - 2 * (1 - torch.cos(x)) / x**3


def turned_near_0(x):
    return torch.where(x.abs() < 0.5, x / 12, slope_of_bump(x))


# The steps of the rows see no slope at 1e-8, and float32 moves forward near 0 by more than the range of the fault.
@pytest.mark.parametrize(
    ("derivative", "dtype", "low", "high"),
    [
        (slope_of_bump, torch.float64, 1e-8, 1.1e-8),
        (slope_of_bump, torch.float32, 1e-8, 1.1e-8),
        (turned_near_0, torch.float64, 0.1, 0.5),
        (turned_near_0, torch.float32, 0.1, 0.5),
    ],
)
def test_what_the_look_at_all_numbers_accuses_in_sight_differs_in_sight(derivative, dtype, low, high):
    evaluation, verdict = look(written(bump, derivative), -300.0, 500.0, dtype=dtype)
    worst = verdict.against.worst
    assert verdict.word == "differs"
    assert low < abs(evaluation.rows.x[worst]) < high
    assert np.isfinite(evaluation.numerical.slopes.value[worst])
    assert any(begin < evaluation.rows.x[worst] < end for begin, end in verdict.against.intervals)


def test_an_interval_is_cut_where_the_visible_range_ends():
    ((low, high),) = outside_view(wide(WRONG["6 is forgotten"][0]), Grid(-3, 10, 401))
    assert (low, high) == (10, pytest.approx(ALL, rel=1e-2))


def test_a_look_costs_few_calls():
    tanh = Counted(torch.tanh)
    cut = batched_section(section(op_of(tanh)), np.linspace(-3, 3, 101))
    tanh.calls = 0
    check_whole_range(cut, cut, 1.0, 1.0)
    assert tanh.calls <= 24
