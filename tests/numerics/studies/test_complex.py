"""The complex lens: torch's gradient for complex numbers, the missing conjugate, and what is refused."""

import pytest
import torch
from support.sampling import each_fourth
from support.sections import op_of, section, written

from gradloupe.ops import Input
from gradloupe.server.numerics.sampling.grid import Grid
from gradloupe.server.numerics.studies.complex import study_complex
from gradloupe.server.runtime.batching import batched_section


def complex_study(op, start=-2.0, stop=2.0, **asked):
    cut, grid = section(op, **asked), Grid(start, stop, 401)
    return study_complex(batched_section(cut, grid.points()), grid)


HOLOMORPHIC = {
    "exp": (torch.exp, torch.exp),
    "square": (lambda z: z * z, lambda z: 2 * z),
    "sin": (torch.sin, torch.cos),
    "tanh": (torch.tanh, lambda z: 1 - torch.tanh(z) ** 2),
    "1/z": (lambda z: 1 / z, lambda z: -1 / z**2),
    "rotation": (lambda z: z * (0.6 + 0.8j) if z.is_complex() else 0.6 * z, lambda z: z * 0 + (0.6 + 0.8j)),
}


@pytest.mark.parametrize("name", HOLOMORPHIC)
@pytest.mark.parametrize("range_", [(-2, 2), (0.5, 3), (-1e-3, 1e-3)])
def test_a_backward_that_conjugates_matches_and_one_that_does_not_is_told(name, range_):
    value, slope = HOLOMORPHIC[name]

    def real_or_not(z):
        return slope(z) if z.is_complex() else slope(z + 0j).real

    assert complex_study(written(value, lambda z: real_or_not(z).conj()), *range_).answer == "matches"
    assert complex_study(written(value, real_or_not), *range_).answer == "conjugate missing"


@pytest.mark.parametrize("function", [torch.exp, torch.sin, torch.log, torch.sqrt, torch.abs, torch.conj, torch.angle])
def test_autograd_itself_matches_holomorphic_or_not(function):
    assert complex_study(op_of(function), 0.5, 3).answer == "matches"


@pytest.mark.parametrize(
    ("op", "answer"),
    [
        ("exp", "conjugate missing"),
        ("square", "conjugate missing"),
        ("double", "matches"),
        ("cumulative_sum", "matches"),
    ],
)
def test_the_exponential_of_the_manual_forgets_the_conjugate_and_doubling_needs_none(op, answer):
    assert complex_study(op).answer == answer


def test_the_convention_of_others_is_told_from_a_forgotten_conjugate():
    class Jax(torch.autograd.Function):
        @staticmethod
        def forward(ctx, z):
            ctx.save_for_backward(z)
            return z * z

        @staticmethod
        def backward(ctx, grad_output):
            (z,) = ctx.saved_tensors
            return (grad_output * (2 * z).conj()).conj()

    assert complex_study(op_of(Jax.apply)).answer == "conjugated"


def test_a_wrong_slope_is_wrong_in_the_plane_too():
    assert complex_study(written(torch.exp, lambda z: 1.01 * torch.exp(z).conj())).answer == "differs"
    assert complex_study(written(torch.exp, lambda z: torch.exp(z).conj() + 0.1j * z.is_complex())).answer == "differs"


@pytest.mark.parametrize("function", [torch.relu, lambda z: z.clamp(-1, 1), torch.round, lambda z: z * (z > 0)])
def test_what_has_no_meaning_for_complex_numbers_is_refused_in_torchs_words(function):
    look = complex_study(op_of(function))
    assert look.answer == "not supported"
    assert look.failure is not None
    assert "omplex" in look.failure.message


def test_a_dropped_imaginary_part_raises_nothing():
    assert complex_study(op_of(lambda z: z.real.sin() if z.is_complex() else z.sin())).answer == "matches"
    assert complex_study(op_of(lambda z: z.double().sin())).answer == "matches"


def test_all_inputs_are_complex_so_a_factors_conjugate_counts():
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, grad_output):
            a, b = ctx.saved_tensors
            return grad_output * b, grad_output * a.conj()

    op = op_of(Product.apply, Input("a"), Input("b"))
    assert complex_study(op, wrt="a").answer == "conjugate missing"
    assert complex_study(op, wrt="b").answer == "matches"


@pytest.mark.parametrize("wrt", ["weight[0,1]", "input[1,0]"])
def test_one_element_of_a_matrix_can_be_followed(wrt):
    assert complex_study("functional_linear", wrt=wrt).answer == "conjugate missing"


def test_a_game_of_chance_is_not_judged():
    assert complex_study(op_of(lambda z: z + torch.randn(z.shape, dtype=z.dtype))).answer == "undecided"


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
    answers = {range_: complex_study(op_of(INNOCENT[name]), *range_).answer for range_ in ranges}
    assert {range_: said for range_, said in answers.items() if said not in ("matches", "undecided")} == {}
