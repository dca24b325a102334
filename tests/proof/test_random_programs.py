"""What is enclosed of programs drawn at random contains what torch computes, and its slope."""

from random import Random

import numpy as np
import pytest
import torch
from flint import arb, arb_series
from proof.random_programs import random_program
from support.sections import op_of, section

from gradloupe.ops import Input
from gradloupe.server.proof.call import enclose, lanes_of, precision
from gradloupe.server.proof.column import Parted, Undecided
from gradloupe.server.proof.enclosure import head
from gradloupe.server.runtime.section import Section

HELD = (0.3071, -0.7103, 1.2039, 0.5077, -1.1011, 0.9029)  # at no place where rounding decides
SHAPES = ((1,), (3,), (2, 3))
WIDTHS = (0.0, 1e-9, 1e-4, 1e-2, 0.1, 0.5, 2.0)
SAMPLE, ALL, BOXES, POINTS = 60, 1000, 4, 3
ROUNDING = 1e-9  # of a program in float64, relative to its value
STEP, OF_DIFFERENCE = 1e-6, 1e-4


class Forward(torch.autograd.Function):
    """A program whose backward is not looked at."""

    @staticmethod
    def forward(ctx, x, program):
        return program(x)

    @staticmethod
    def backward(ctx, grad_output):
        return None, None


def section_of(seed: int) -> Section:
    shape, program = SHAPES[seed % len(SHAPES)], random_program(seed)
    held = HELD[: torch.Size(shape).numel()]
    return section(op_of(lambda x: Forward.apply(x, program), Input("x", shape=shape, value=held)))


def check(seeds: range) -> float:
    """The share of the boxes in which something is known."""
    known = 0
    for seed in seeds:
        cut, random = section_of(seed), Random(seed)
        for _ in range(BOXES):
            start = random.uniform(-3, 3)
            stop = start + random.choice(WIDTHS)
            try:
                with precision(128):
                    found = enclose(cut, None, lanes_of([(start, stop)], tight=random.random() < 0.5), 1.0)
            except (Undecided, Parted):
                continue
            ball = head(found.curve.values[0])
            t = np.array([*(random.uniform(start, stop) for _ in range(POINTS)), start / 2 + stop / 2])
            y = cut.alone().forward(t)
            if not ball.is_finite():
                continue
            known += 1
            assert all(off_by(ball, each) <= ROUNDING * (1 + abs(each)) for each in y), (seed, start, stop)
            check_slope(cut, found.curve.values[0], t[-1], stop - start, seed)
    return known / (len(seeds) * BOXES)


def check_slope(cut: Section, value: arb | arb_series, t: float, width: float, seed: int) -> None:
    if not isinstance(value, arb_series) or width < 100 * STEP or not value[1].is_finite():
        return
    above, below = cut.alone().forward(np.array([t + STEP, t - STEP]))
    slope = (above - below) / (2 * STEP)
    assert off_by(value[1], slope) <= OF_DIFFERENCE * (1 + abs(slope) + abs(above)), (seed, t)


def off_by(ball: arb, number: float) -> float:
    return max(float(ball.lower()) - number, number - float(ball.upper()), 0.0)


def check_ends(seeds: range) -> float:
    """The share of boxes of u in which something is known of the program at end / u, u down to 0."""
    known = 0
    for seed in seeds:
        cut, random = section_of(seed), Random(seed)
        for end in (1, -1):
            stop = 10 ** random.uniform(-3, -0.5)
            start = random.choice((0.0, stop / 10))
            try:
                with precision(128):
                    found = enclose(cut, None, lanes_of([(start, stop)], end=end)).curve
            except (Undecided, Parted):
                continue
            ball = head(found.values[0])
            if not ball.is_finite():
                continue
            known += 1
            u = np.array([random.uniform(stop / 20 if start == 0 else start, stop) for _ in range(POINTS)])
            for at, y in zip(u, cut.alone().forward(end / u), strict=True):
                assert off_by(ball, y / at**found.order) <= ROUNDING * (1 + abs(y / at**found.order)), (seed, end, at)
    return known / (2 * len(seeds))


def test_random_programs_are_enclosed_to_the_ends_of_the_line() -> None:
    assert check_ends(range(SAMPLE)) > 0.05


@pytest.mark.nightly
def test_thousands_of_random_programs_are_enclosed_to_the_ends_of_the_line() -> None:
    assert check_ends(range(SAMPLE, ALL)) > 0.05


def test_random_programs_are_enclosed() -> None:
    assert check(range(SAMPLE)) > 0.6


@pytest.mark.nightly
def test_thousands_of_random_programs_are_enclosed() -> None:
    assert check(range(SAMPLE, ALL)) > 0.6
