"""A solver stops at its tolerance, so that forward jumps a little: its slope is known no better than that."""

from itertools import product

import pytest
import torch
from support.answers import document
from support.examined import examined, levels, said
from support.sampling import sampled
from support.sections import look, op_of, written

from gradloupe.ops import Input

KEPLER = Input("x", value=0.7, domain=(-3, 3))


def fixed_point(start, step, slope, tolerance, factor=1.0):
    """A Function that solves y = step(x, y) by iteration; its gradient is that of the solution, times a factor."""

    class FixedPoint(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = start(x)
            for _ in range(100):
                y, before = step(x, y), y
                if (y - before).abs().max() <= tolerance:
                    break
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, grad_output):
            (y,) = ctx.saved_tensors
            return factor * grad_output * slope(y)

    return FixedPoint


def kepler(tolerance, factor=1.0):
    """A Function that solves y = x + 0.2 sin y."""
    return fixed_point(
        lambda x: x, lambda x, y: x + 0.2 * torch.sin(y), lambda y: 1 / (1 - 0.2 * torch.cos(y)), tolerance, factor
    )


def half_a_cosine(tolerance, factor=1.0):
    """A Function that solves y = (cos y + x) / 2, in about 12 steps."""
    return fixed_point(
        torch.zeros_like, lambda x, y: (torch.cos(y) + x) / 2, lambda y: 1 / (2 + torch.sin(y)), tolerance, factor
    )


def several(tolerance, factor=1.0):
    """A Function that solves y = cos(a y) / 2 + b for several numbers until the slowest of them stands still."""

    class Picard(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            y = b
            for _ in range(100):
                y, before = torch.cos(a * y) / 2 + b, y
                if (y - before).abs().max() <= tolerance:
                    break
            else:
                raise ValueError("there is no fixed point")
            ctx.save_for_backward(a, y)
            return y

        @staticmethod
        def backward(ctx, grad_output):
            a, y = ctx.saved_tensors
            bend = torch.sin(a * y) / 2
            over = factor * grad_output / (1 + a * bend)
            return -over * y * bend, over

    held = {"a": (0.3, 0.9, 0.4, 1.2), "b": (0.4, -0.9, 1.1, 0.2)}
    return op_of(Picard.apply, *(Input(name, shape=(4,), value=each, domain=(-1, 1)) for name, each in held.items()))


def halved(halvings, factor=1.0):
    """A Function that solves y³ + y = x by so few halvings that forward moves in stairs; x, too, is in what it returns.

    Its gradient is that of the solution, times a factor.
    """

    class Bisection(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            low, width = torch.full_like(x, -2.0), 4.0
            for _ in range(halvings):
                width = width / 2
                low = torch.where((low + width) ** 3 + low + width <= x, low + width, low)
            ctx.save_for_backward(low)
            return low + x / 4

        @staticmethod
        def backward(ctx, grad_output):
            (y,) = ctx.saved_tensors
            return factor * grad_output * (1 / (3 * y**2 + 1) + 1 / 4)

    return Bisection


def word(function):
    return look(op_of(function.apply, KEPLER), count=21)[1].word


def test_the_gradient_of_the_solution_is_right():
    assert word(kepler(1e-10)) == "matches"
    assert "GRADIENT" not in levels(examined(kepler(1e-10), KEPLER))


@pytest.mark.parametrize("tolerance", sampled((1e-5, 1e-6, 1e-7, 1e-8), (1e-6,)))
def test_where_a_solver_of_several_numbers_stops_accuses_neither_rows_nor_the_cells_between_them(tolerance):
    right, wrong = (look(several(tolerance, each), -1.0, 1.0, count=51)[1].word for each in (1.0, 1.01))
    assert (right, wrong) == ("matches", "differs")


@pytest.mark.parametrize("solved", sampled(product((1e-4, 3e-6), (1.0, 1.01)), [(3e-6, 1.0)]))
def test_each_piece_between_two_steps_of_a_solver_is_an_approximation_of_its_own(solved):
    tolerance, factor = solved
    verdict = look(op_of(half_a_cosine(tolerance, factor).apply, Input("x")), -1.0, 1.0, count=201)[1]
    assert verdict.word == ("matches" if factor == 1.0 else "differs")


@pytest.mark.parametrize(("factor", "word"), [(1.0, {"matches", "undecided"}), (1.01, {"differs"})])
def test_nor_where_it_takes_so_long_that_there_are_few_points(factor, word, clock):
    def called(x):
        clock.goes_on(0.5)
        return kepler(1e-6, factor).apply(x)

    evaluation, verdict = look(op_of(called, KEPLER), count=401)
    assert verdict.word in word
    assert evaluation.rows.x.size < 401


@pytest.mark.parametrize("halvings", sampled((20, 24, 50), (20, 50)))
def test_the_stairs_of_a_bisection_are_named_and_accuse_nobody(halvings):
    rows = examined(halved(halvings), KEPLER)
    assert "error" not in levels(rows).values()
    assert ("stairs" in said(rows, "GRADIENT")) == (halvings < 50)
    assert levels(examined(halved(halvings, 1.01), KEPLER))["GRADIENT"] == "error"


def test_what_a_proof_refutes_on_a_stair_is_not_what_forward_rises_by_over_many():
    over_many = "what it rises by over many is not refuted"
    stair = document(op_of(halved(20).apply, KEPLER), "proof", 0.5, 0.5001)[0]
    assert stair["word"] == "refuted"
    assert over_many in stair["sentence"]
    leaky = document(written(torch.relu, torch.ones_like), "proof")[0]
    assert leaky["word"] == "refuted"
    assert over_many not in leaky["sentence"]


def test_one_that_is_off_by_more_than_forward_jumps_is_told():
    assert levels(examined(kepler(1e-10, 1 + 1e-6), KEPLER))["GRADIENT"] == "error"
    assert word(kepler(1e-8, 1.01)) == "differs"
