"""The complex lens: torch's gradient for complex numbers, the missing conjugate, and what is refused."""

import pytest
import torch
from functions.basics import with_backward
from support.answers import document
from support.sampling import each_fourth
from support.sections import op_of, written

from gradloupe.ops import Input


def answer(op, start=-2.0, stop=2.0, **asked):
    return document(op, "precision", start, stop, **asked)[0]["complex"]["verdict"]


HOLOMORPHIC = {
    "exp": (torch.exp, torch.exp),
    "square": (lambda z: z * z, lambda z: 2 * z),
    "sin": (torch.sin, torch.cos),
    "tanh": (torch.tanh, lambda z: 1 - torch.tanh(z) ** 2),
    "1/z": (lambda z: 1 / z, lambda z: -1 / z**2),
    "rotation": (lambda z: z * (0.6 + 0.8j) if z.is_complex() else 0.6 * z, lambda z: z * 0 + (0.6 + 0.8j)),
}


@pytest.mark.parametrize("name", HOLOMORPHIC)
def test_a_backward_that_conjugates_matches_and_one_that_does_not_is_told(name):
    value, slope = HOLOMORPHIC[name]

    def real_or_not(z):
        return slope(z) if z.is_complex() else slope(z + 0j).real

    for range_ in ((-2, 2), (0.5, 3), (-1e-3, 1e-3)):
        assert answer(written(value, lambda z: real_or_not(z).conj()), *range_) == "matches"
        assert answer(written(value, real_or_not), *range_) == "conjugate missing"


@pytest.mark.parametrize("function", [torch.exp, torch.sin, torch.log, torch.sqrt, torch.abs, torch.conj, torch.angle])
def test_autograd_itself_matches_holomorphic_or_not(function):
    assert answer(op_of(function), 0.5, 3) == "matches"


def test_the_exponential_of_the_manual_forgets_the_conjugate_and_doubling_needs_none():
    assert [answer(name) for name in ("exp", "square", "double", "cumulative_sum")] == [
        *("conjugate missing", "conjugate missing", "matches", "matches")
    ]
    assert [answer("functional_linear", wrt=wrt) for wrt in ("weight[0,1]", "input[1,0]")] == ["conjugate missing"] * 2
    assert "a conjugate is missing" in document("exp", "precision")[0]["sentence"]


def test_the_convention_of_others_is_told_from_a_forgotten_conjugate():
    jax = with_backward(lambda z: z * z, lambda g, z: (g * (2 * z).conj()).conj())
    assert answer(op_of(jax.apply)) == "conjugated"


def test_a_wrong_slope_is_wrong_in_the_plane_too():
    assert answer(written(torch.exp, lambda z: 1.01 * torch.exp(z).conj())) == "differs"
    assert answer(written(torch.exp, lambda z: torch.exp(z).conj() + 0.1j * z.is_complex())) == "differs"


@pytest.mark.parametrize("function", [torch.relu, lambda z: z.clamp(-1, 1), torch.round, lambda z: z * (z > 0)])
def test_what_has_no_meaning_for_complex_numbers_is_refused_in_torchs_words(function):
    look = document(op_of(function), "precision")[0]["complex"]
    assert (look["verdict"], "omplex" in look["sentence"]) == ("not supported", True)


def test_a_dropped_imaginary_part_raises_nothing():
    assert answer(op_of(lambda z: z.real.sin() if z.is_complex() else z.sin())) == "matches"
    assert answer(op_of(lambda z: z.double().sin())) == "matches"


def test_all_inputs_are_complex_so_a_factors_conjugate_counts():
    product = with_backward(torch.mul, lambda g, a, b: (g * b, g * a.conj()))
    op = op_of(product.apply, Input("a"), Input("b"))
    assert [answer(op, wrt=wrt) for wrt in "ab"] == ["conjugate missing", "matches"]


def test_a_game_of_chance_is_not_judged():
    assert answer(op_of(lambda z: z + torch.randn(z.shape, dtype=z.dtype))) == "undecided"


BUILT_IN = (
    *(torch.sqrt, torch.log, torch.log2, torch.log10, torch.log1p, torch.exp2, torch.expm1, torch.reciprocal),
    *(torch.asin, torch.acos, torch.atan, torch.asinh, torch.acosh, torch.atanh, torch.tan, torch.tanh, torch.cosh),
    *(torch.sigmoid, torch.rsqrt, torch.sinc, torch.angle, torch.abs),
)
INNOCENT = {
    **{each.__name__: each for each in BUILT_IN},
    "cube": lambda z: z**3,
    "z^1.5": lambda z: z**1.5,
    "|z|²": lambda z: z * z.conj(),
    "z² + 1e6": lambda z: z * z + 1e6,
    "exp exp": lambda z: z.exp().exp(),
    "sin 50z": lambda z: (50 * z).sin(),
    "constant": lambda z: 0 * z + 1e6,
}


@pytest.mark.parametrize("name", each_fourth(INNOCENT))
def test_no_innocent_is_accused_in_the_plane(name):
    ranges = ((-3, 3), (0.5, 3), (-1e-3, 1e-3), (-100, 100), (1e6, 1e6 + 1), (-800, 800))
    answers = {range_: answer(op_of(INNOCENT[name]), *range_) for range_ in ranges}
    assert {range_: said for range_, said in answers.items() if said not in ("matches", "undecided")} == {}
