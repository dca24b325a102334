import pytest
import torch
from functions.correct import INNOCENTS
from functions.random_compositions import random_composition
from functions.random_sums import Differentiated, random_sum
from support.sampling import sampled
from support.sections import look, op_of

# From so far these have a pole or a step at nearly every point, logit and ndtri but a few points of their domain.
UNDECIDED = {"tan", "floor", "ceil", "round", "trunc", "logit", "ndtri"}
FAR_AWAY = 2


assert INNOCENTS.keys() >= UNDECIDED


def word(name, place, dtype):
    """What is said at one of the three ranges."""
    each = INNOCENTS[name]
    return look(each.op, *each.ranges[place], each.count, wrt=each.wrt, of=each.of, dtype=dtype)[1].word


def right(name, place):
    """What may be said there."""
    return {"matches", "undecided"} if name in UNDECIDED and place == FAR_AWAY else {"matches"}


@pytest.mark.parametrize("name", sampled(INNOCENTS, [*INNOCENTS][::8]))
def test_a_right_function_matches_at_first_sight_and_from_near_and_never_differs_from_far(name):
    # In single precision at one of the three ranges, in turn.
    asked = [(place, torch.float64) for place in range(3)] + [(list(INNOCENTS).index(name) % 3, torch.float32)]
    found = {(place, dtype): word(name, place, dtype) for place, dtype in asked}
    assert {where: said for where, said in found.items() if said not in right(name, where[0])} == {}


# Triangle waves below the rounding of a steep cube, and beside steps of float32; a chirp and a staircase of float32.
WAVES_BENEATH_ROUNDING = 10111, 10591, 10747, 11035, 11467, 11527
# Stairs beside what float32 makes of a steep curve, and a fast wave: cells that are off by more than they may round.
STAIRS_IN_FLOAT32 = 210861, 210863, 211423, 212391, 213387
# Stairs at the limit of rounding, a phase that float32 rounds, a wave between two numbers, one on a step of float32;
# two waves, the phase of one of which is large; a wave, stairs and steps of float32 far below it.
FINE_STRUCTURE = 18475, 18844, 14541, 14383, 81887, 81373
# Stairs, and a wave, that average to a line; noise of float32 that is silent by chance, or so near; a wave far away.
MEANS_AND_SILENCE = 213446, 214676, 182408, 213247, 181920
# A little more noise than its bound, in float32 inside, beside a fast chirp; two waves that are faster than the cells,
# of which each returns about half as much again as forward rises by.
NO_FACTOR = 402962, 950366, 503786, 504104, 640730, 501608, 951348


def test_a_forward_that_is_straight_between_two_of_its_own_steps_has_not_that_slope():
    """In the tail of GELU by tanh, where 1 + tanh has few last places left, and x makes each of them a slope."""
    op = op_of(lambda x: torch.nn.functional.gelu(x, approximate="tanh"))
    assert [look(op, -9.0, stop)[1].word for stop in (-5.0, -4.9, -5.1)] == ["matches"] * 3


WAVES = *WAVES_BENEATH_ROUNDING, *FINE_STRUCTURE
KNOWN = *WAVES, *STAIRS_IN_FLOAT32, *MEANS_AND_SILENCE, *NO_FACTOR


@pytest.mark.parametrize("number", sampled((*range(0, 90, 5), *KNOWN), (*range(0, 90, 15), *KNOWN[::2])))
def test_a_random_sum_is_never_accused_and_never_passes_with_a_sign_turned(number):
    """Waves faster than the rows, steps, kinks by the thousand, float32 inside."""
    each = random_sum(number)
    place = each.start, each.stop, each.count
    assert look(each.op(), *place, dtype=each.dtype)[1].word in {"matches", "undecided"}
    if each.shows(turned):
        assert look(each.op(turned), *place, dtype=each.dtype)[1].word in {"differs", "undecided"}


@pytest.mark.parametrize("number", [*range(0, 120, 10), 5147])
def test_a_random_product_or_composition_is_never_accused(number):
    """Kinks, small steps and saturation, far from 0 too, in all dtypes and for all sizes of grad_output."""
    each = random_composition(number)
    asked = {"dtype": each.dtype, "grad_output": each.grad_output}
    assert look(each.op(), each.start, each.stop, each.count, **asked)[1].word in {"matches", "undecided"}


# A softplus in float32, a Gauss and a sine rounded to float32 inside, a cube beside two of these; triangle waves
# that are faster than the rows; a wave in float32 beside a far more precise line, and one in a cell it is as long as.
HALF_CELLS = 10175, 10310, 11005, 10235, 130150, 130460, 171191, 171514, 301980, 301160


@pytest.mark.parametrize("number", HALF_CELLS)
def test_what_is_wrong_in_half_a_cell_is_seen_between_the_rows(number):
    each = random_sum(number)
    verdict = look(each.op(each.half_a_cell()), each.start, each.stop, each.count, dtype=each.dtype)[1]
    cell = (each.stop - each.start) / (each.count - 1)
    (low, high), *others = verdict.against.intervals
    assert (verdict.word, others) == ("differs", [])
    assert high - low <= 1.01 * cell
    assert low - cell <= each.start + (each.count // 2 + 0.5) * cell <= high + cell


@pytest.mark.parametrize(("start", "stop"), [(-282, 1166), (-0.1, 0.117)])
def test_a_phase_that_float32_rounds_is_not_held_against_backward_and_a_factor_is(start, stop):
    """Beside a parabola that is steeper than the wave."""
    speed = 6.4 / (stop - start)

    def wave(x):
        return torch.cos(2 * torch.sin(speed * x + 74336.14)) + 0.2 * (speed * x) ** 2

    right = op_of(lambda x: Differentiated.apply(x, wave, torch.ones_like))
    wrong = op_of(lambda x: Differentiated.apply(x, wave, lambda t: 1.05 + 0 * t))
    assert look(right, start, stop, 401, dtype=torch.float32)[1].word == "matches"
    assert look(wrong, start, stop, 401, dtype=torch.float32)[1].word == "differs"


def test_a_factor_is_seen_where_forward_moves_in_steps_of_float32():
    def curve(x):
        return torch.sin(50 * (x - 70).float()).to(x.dtype) + 3 * torch.exp(-((x - 130) ** 2))

    wrong = op_of(lambda x: Differentiated.apply(x, curve, lambda t: 1.01 + 0 * t))
    right = op_of(lambda x: Differentiated.apply(x, curve, torch.ones_like))
    assert look(wrong, -148, 148, 1001)[1].word == "differs"
    assert look(right, -148, 148, 1001)[1].word in {"matches", "undecided"}


# Of a cube and a staircase, all jumps of which are known in float32 on one side or the other.
def test_a_factor_is_seen_between_jumps_however_float32_rounds_what_is_on_them():
    each = random_sum(130000)
    wrong = each.op(lambda x: torch.full_like(x, 1.01))
    verdict = look(wrong, each.start, each.stop, each.count, dtype=each.dtype)[1]
    width = sum(high - low for low, high in verdict.against.intervals)
    assert (verdict.word, width > 0.8 * (each.stop - each.start)) == ("differs", True)


# Each cell is known to some millionths, with what float32 inside leaves of it.
@pytest.mark.parametrize("number", [130140, 130345, 130525])
def test_a_factor_too_small_for_any_cell_is_told_by_all_cells(number):
    each = random_sum(number)
    wrong = each.op(lambda x: torch.full_like(x, 1.00001))
    assert look(wrong, each.start, each.stop, each.count, dtype=each.dtype)[1].word == "differs"
    assert look(each.op(), each.start, each.stop, each.count, dtype=each.dtype)[1].word == "matches"


@pytest.mark.parametrize("seed", range(4))
def test_a_staircase_of_a_step_a_cell_beside_a_line_is_not_accused(seed):
    width, count = 10.0 ** (seed - 1), 401
    steps = (count - 1) / width * (1, 1.02, 2, 0.5)[seed]
    op = op_of(lambda x: Differentiated.apply(x, lambda t: t + torch.floor(steps * t + 0.3) / steps, torch.ones_like))
    for dtype in (torch.float64, torch.float32):
        assert look(op, 0.7 * width, 1.7 * width, count, dtype=dtype)[1].word in {"matches", "undecided"}


def test_a_slightly_wrong_slope_of_a_wave_faster_than_the_rows_is_seen():
    op = op_of(lambda x: Differentiated.apply(x, lambda t: torch.sin(68.7 * t), lambda t: 1.00001 + 0 * t))
    assert look(op, -466.7, 466.7, 1001)[1].word == "differs"


def turned(x):
    return -torch.ones_like(x)
