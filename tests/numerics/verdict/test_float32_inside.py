"""What computes in float32 or in half, whatever it is given, is measured as precisely as that, and no more."""

import numpy as np
import pytest
import torch
from functions.float32_inside import FORMULAS, Rounded
from support.sampling import in_turn
from support.sections import look, op_of, section

from gradloupe.ops import Input
from gradloupe.server.numerics.differentiation.arithmetic import arithmetic_precision
from gradloupe.server.numerics.jacobian.jacobian import jacobian
from gradloupe.server.numerics.status import Status
from gradloupe.server.numerics.surface.surface import surface

# Among them a tail, the place where forward cancels, and a range so short that float32 has few numbers in it.
RANGES = (-3.0, 3.0, 401), (-7.0, 1.0, 1001), (-0.9, 0.2, 137), (-2.3023, -2.2615, 1001), (-0.4929, -0.4680, 1001)
DTYPES = torch.float64, torch.float32


def word(formula, place, dtype, factor=1.0):
    """What is said of a formula with so many times its derivative."""
    op = op_of(lambda x: Rounded.apply(x, formula, factor), Input("x", domain=place[:2]))
    return look(op, *place, dtype=dtype)[1].word


@pytest.mark.parametrize(("formula", "place"), in_turn(FORMULAS, *((place,) for place in RANGES)))
def test_a_right_function_that_computes_in_float32_is_never_accused(formula, place):
    assert {word(formula, place, dtype) for dtype in DTYPES} <= {"matches", "undecided"}


@pytest.mark.parametrize(("formula", "dtype"), in_turn(FORMULAS, *((dtype,) for dtype in DTYPES)))
def test_one_that_is_off_by_a_hundredth_is_told_all_the_same(formula, dtype):
    assert word(formula, RANGES[0], dtype, 1.01) == "differs"


def differs_in_views(formula, inside, factor=1.0):
    """Whether a Jacobian and a plane of a formula accuse so many times its derivative."""

    def called(x):
        return Rounded.apply(x, formula, factor, inside)

    vector = op_of(called, Input("x", shape=(3,), value=(0.3, -1.7, 2.42), domain=(-3, 3)))
    plane = op_of(lambda u, v: called(u + v / 2), Input("u", domain=(-3, 3)), Input("v", domain=(-3, 3)))
    ends = np.linspace(-3, 3, 9)
    found = surface(section(plane, "u"), section(plane, "v"), ends, ends, 1.0).status
    statuses = jacobian(section(vector), 6).numerical.status, found
    return tuple(bool((each == Status.DIFFERS).any()) for each in statuses)


@pytest.mark.parametrize("inside", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_no_view_of_several_elements_accuses_what_rounds_inside(inside):
    # In bfloat16 100 and what sin adds to it are but five numbers, as those of a staircase.
    several = [each for each in FORMULAS if each != "sin + 100" or inside != torch.bfloat16]
    assert {each: differs_in_views(each, inside) for each in several} == dict.fromkeys(several, (False, False))


@pytest.mark.parametrize("inside", [torch.float16, torch.bfloat16], ids=str)
def test_in_half_a_jacobian_tells_the_other_sign_wherever_the_slope_stands_out_from_rounding(inside):
    x = tuple(np.linspace(-2.9, 2.9, 16).tolist())

    def told(formula, factor):
        op = op_of(
            lambda given: Rounded.apply(given, formula, factor, inside),
            Input("x", shape=(16,), value=x, domain=(-3, 3)),
        )
        differs = np.diag(jacobian(section(op), 6).numerical.status.reshape(16, 16) == Status.DIFFERS)
        steep = FORMULAS[formula][1](torch.tensor(x)).abs() > 0.15
        return int(differs.sum()), int(differs[steep.numpy()].sum()) - int(steep.sum())

    several = "gelu", "log(1 + x²)", "log(1 + eˣ)", "log cosh"
    assert {each: told(each, -1.0)[1] for each in several} == dict.fromkeys(several, 0)
    assert {each: told(each, 1.0)[0] for each in several} == dict.fromkeys(several, 0)


@pytest.mark.parametrize("inside", [torch.float32, torch.float16], ids=str)
def test_both_tell_the_other_sign(inside):
    bent = "gelu", "log(1 + x²)", "elu", "log cosh"
    assert {each: differs_in_views(each, inside, -1.0) for each in bent} == dict.fromkeys(bent, (True, True))


@pytest.mark.parametrize("inside", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_what_one_input_is_to_another_whatever_their_size_tells_what_it_is_computed_in(inside):
    def cosine(given):
        return (torch.cosine_similarity(*(each.to(inside) for each in given.values()), dim=-1).double(),)

    held = {"x": torch.linspace(-1.1, 2.3, 7).double(), "w": torch.linspace(1.9, -0.7, 7).double() ** 2}
    assert arithmetic_precision(cosine, held) == torch.finfo(inside).eps / 2
