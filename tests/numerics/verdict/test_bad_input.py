"""Functions that make it hard to judge them: never a false "matches", never a false "differs", never for long."""

from dataclasses import dataclass
from time import process_time

import pytest
import torch
from support.sampling import in_turn
from support.sections import look, written

SOON = 3.0  # seconds of this process for one look


class Counting:
    """Adds to the sine how often it was asked."""

    def __init__(self, by):
        self.by, self.calls = by, 0

    def __call__(self, x):
        self.calls += 1
        return torch.sin(x) + self.by * self.calls


def now_and_then(x):
    return torch.sin(x) + (torch.rand_like(x) < 0.02)


def weierstrass(x):
    return sum(0.5**n * torch.cos(3**n * torch.pi * x) for n in range(16))


def weierstrass_slope(x):
    return sum(-(1.5**n) * torch.pi * torch.sin(3**n * torch.pi * x) for n in range(16))


@dataclass(frozen=True)
class Bad:
    """What makes a fresh forward, and the derivative of what it means to be."""

    make: object
    derivative: object
    start: float = -3.0
    stop: float = 3.0

    def look(self, factor=1.0, **asked):
        torch.manual_seed(0)
        op = written(self.make(), lambda x: factor * self.derivative(x))
        return look(op, self.start, self.stop, **asked)


def plain(function):
    return lambda: function


def noisy(size):
    return plain(lambda x: torch.sin(x) + size * torch.randn_like(x))


def jagged(size):
    """Noise that is the same every time: the last digits of a hash of x."""
    return plain(lambda x: torch.sin(x) + size * torch.frac(1e4 * torch.sin(1e5 * x)))


def of_each_side(left, right):
    return lambda x: torch.where(x < 0, left(x), right(x))


BAD = {
    "noisy by 0.1": Bad(noisy(0.1), torch.cos),
    "noisy by 1e-6": Bad(noisy(1e-6), torch.cos),
    "noisy by 1e-12": Bad(noisy(1e-12), torch.cos),
    "noisy now and then": Bad(plain(now_and_then), torch.cos),
    "jagged by 0.1": Bad(jagged(0.1), torch.cos),
    "jagged by 1e-6": Bad(jagged(1e-6), torch.cos),
    "jagged by 1e-10": Bad(jagged(1e-10), torch.cos),
    "nothing but chance": Bad(plain(torch.rand_like), torch.ones_like),
    "counting by 1": Bad(lambda: Counting(1.0), torch.cos),
    "counting by 1e-3": Bad(lambda: Counting(1e-3), torch.cos),
    "counting by 1e-7": Bad(lambda: Counting(1e-7), torch.cos),
    "no number on the left": Bad(plain(lambda x: torch.where(x < 0, torch.nan, x * x)), lambda x: 2 * x),
    "no number but at one place": Bad(
        plain(lambda x: torch.where((x - 1).abs() < 0.1, torch.sin(x), torch.nan)), torch.cos
    ),
    "no number at every other point": Bad(
        plain(lambda x: torch.where(torch.remainder(x * 200, 2) < 1, torch.nan, torch.sin(x))), torch.cos
    ),
    "infinite on the right": Bad(plain(lambda x: torch.where(x > 1, torch.inf, torch.sin(x))), torch.cos),
    "a pole in the middle": Bad(plain(lambda x: 1 / x), lambda x: -1 / x**2),
    "a pole on no point": Bad(plain(lambda x: 1 / (x - 0.3217)), lambda x: -1 / (x - 0.3217) ** 2),
    "a pole with a sign": Bad(plain(lambda x: (x - 0.3217) ** -2), lambda x: -2 * (x - 0.3217) ** -3),
    "twenty poles": Bad(plain(lambda x: torch.tan(10 * x)), lambda x: 10 / torch.cos(10 * x) ** 2),
    "100 million times as large on the left": Bad(
        plain(of_each_side(lambda x: 1e8 * torch.sin(x), torch.sin)),
        of_each_side(lambda x: 1e8 * torch.cos(x), torch.cos),
    ),
    "from 1e-8 to 1": Bad(plain(lambda x: torch.exp(6 * x)), lambda x: 6 * torch.exp(6 * x)),
    "values 100 million times the slopes": Bad(plain(lambda x: 1e8 + torch.sin(x)), torch.cos),
    "faster than any grid": Bad(plain(lambda x: torch.sin(1e7 * x)), lambda x: 1e7 * torch.cos(1e7 * x)),
    "nowhere smooth": Bad(plain(weierstrass), weierstrass_slope),
    "a million steps": Bad(plain(lambda x: torch.floor(1e6 * x) / 1e6 + torch.sin(x)), torch.cos),
    "rounded to float16": Bad(plain(lambda x: torch.sin(x).half().to(x.dtype)), torch.cos),
    "rounded to bfloat16": Bad(plain(lambda x: torch.sin(x).bfloat16().to(x.dtype)), torch.cos),
    "a range of nothing": Bad(plain(torch.sin), torch.cos, 1.0, 1.0 + 1e-15),
    "a range of everything": Bad(plain(torch.atan), lambda x: 1 / (1 + x * x), -1e300, 1e300),
    "subnormal": Bad(plain(lambda x: 3 * x), lambda x: torch.full_like(x, 3.0), 0.0, 1e-310),
}
# Their steps and teeth are real, or finer than any difference here, and a smooth line through them is not their slope.
ROUGH = {"a million steps", "nowhere smooth", "rounded to float16", "rounded to bfloat16"}
ROUGH |= {name for name in BAD if "jagged" in name}
# In single precision x has not the places to say what these do there.
LONG = {"faster than any grid"}


# A game of chance, of which nothing can be said: no draw repeats, or its draws are right on average alone.
CHANCE = {"counting by 1", "nothing but chance"}


def word(name, dtype, factor):
    """What is said of a derivative that is off by such a factor, soon enough."""
    began = process_time()
    found = BAD[name].look(factor, dtype=dtype)[1].word
    assert process_time() - began < SOON
    return found


DOUBLE, SINGLE = torch.float64, torch.float32


@pytest.mark.parametrize(
    ("name", "dtype", "factor"), in_turn(BAD, (DOUBLE, 1.5), (DOUBLE, -1.0), (DOUBLE, 0.0), (SINGLE, 1.5))
)
def test_what_is_wrong_never_matches(name, dtype, factor):
    # Of what does not depend on x every draw has the slope 0.
    assert word(name, dtype, factor or 1.5 * (name == "nothing but chance")) != "matches"


@pytest.mark.parametrize(("name", "dtype"), in_turn(sorted(set(BAD) - ROUGH - LONG), (DOUBLE,), (SINGLE,)))
def test_what_is_right_is_never_accused(name, dtype):
    assert word(name, dtype, 1.0) in ("matches", "undecided")


@pytest.mark.parametrize("name", sorted(CHANCE | LONG))
def test_a_game_of_chance_is_undecided(name):
    assert word(name, DOUBLE, 1.0) == "undecided" or name in LONG


@pytest.mark.parametrize("side", ["left", "right"])
def test_what_is_wrong_on_one_side_is_seen_beside_100_million_times_as_much(side):
    wrong = {"left": 1.0, "right": 1.0} | {side: 1.5}
    op = written(
        of_each_side(lambda x: 1e8 * torch.sin(x), torch.sin),
        of_each_side(lambda x: wrong["left"] * 1e8 * torch.cos(x), lambda x: wrong["right"] * torch.cos(x)),
    )
    assert look(op)[1].word == "differs"
    assert look(op, dtype=torch.float32)[1].word != "matches"


@pytest.mark.parametrize("derivative", [torch.zeros_like, torch.ones_like])
def test_a_constant_has_gradient_0_and_no_other(derivative):
    word = look(written(lambda x: torch.full_like(x, 5.0), derivative))[1].word
    assert word == ("matches" if derivative is torch.zeros_like else "differs")


def refuses(x):
    if (x.abs() > 2).any():
        raise ValueError("only from −2 to 2, please")
    return x**3


@pytest.mark.parametrize(("factor", "words"), [(1.0, ("matches", "undecided")), (1.01, ("differs",))])
def test_a_forward_that_raises_beyond_a_bound_is_judged_up_to_it(factor, words):
    op = written(refuses, lambda x: factor * 3 * x**2)
    for stop in (2.0, 1.9999, 0.5):
        assert look(op, -stop, stop)[1].word in words


def as_often_as_x_says(x):
    y = torch.zeros_like(x)
    for _ in range(int(x.detach().abs().max())):
        y = y + 1
    return x * x + 0 * y


def as_long_as_x_says(x):
    return x * x + torch.ones(1 + int(x.detach().abs().max())).mean() - 1


@pytest.mark.parametrize("value", [as_often_as_x_says, as_long_as_x_says])
def test_a_forward_that_takes_longer_the_larger_x_is_does_not_take_for_ever(value):
    began = process_time()
    assert look(written(value, lambda x: 2 * x))[1].word in ("matches", "matches here", "undecided")
    assert process_time() - began < SOON


def test_a_random_backward_is_caught_beside_a_right_forward():
    torch.manual_seed(0)
    op = written(torch.sin, lambda x: torch.cos(x) * (1 + 1e-6 * torch.randn_like(x)))
    assert look(op)[1].word == "differs"
