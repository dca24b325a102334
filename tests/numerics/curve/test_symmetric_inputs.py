"""Functions that read one triangle of a symmetric matrix, and share the gradient between both."""

import pytest
import torch
from support.sections import look, op_of, section

from gradloupe.ops import Input, Op
from gradloupe.server.contract.xray import contract_xray
from gradloupe.server.numerics.curve.evaluate import evaluate
from gradloupe.server.numerics.jacobian.jacobian import jacobian
from gradloupe.server.numerics.sampling.grid import Grid
from gradloupe.server.numerics.second_order.grad_input import grad_input_section
from gradloupe.server.numerics.sentences.places import Names
from gradloupe.server.numerics.sentences.verdict_sentence import verdict_sentence
from gradloupe.server.numerics.status import Status
from gradloupe.server.numerics.verdict.verdict import judge

SPD = (2.0, 0.3, -0.4, 0.3, 1.7, 0.2, -0.4, 0.2, 2.4)


class Cholesky(torch.autograd.Function):
    """The factor of a symmetric matrix."""

    @staticmethod
    def forward(ctx, a):
        low = torch.linalg.cholesky(a)
        ctx.save_for_backward(low)
        return low

    @staticmethod
    def backward(ctx, grad_output):
        return shared(ctx, grad_output, 0.5)


class Doubled(Cholesky):
    """The same, with a factor too many."""

    @staticmethod
    def backward(ctx, grad_output):
        return shared(ctx, grad_output, 1.0)


class Solved(torch.autograd.Function):
    """The solution of a symmetric system, whose gradient is no symmetric matrix."""

    @staticmethod
    def forward(ctx, a, b):
        low = torch.linalg.cholesky(a)
        x = torch.cholesky_solve(b, low)
        ctx.save_for_backward(low, x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        low, x = ctx.saved_tensors
        back = torch.cholesky_solve(grad_output, low)
        return -x @ back.mT, back


class SolvedTwice(Solved):
    """The same, with a factor too many."""

    @staticmethod
    def backward(ctx, grad_output):
        of_a, of_b = Solved.backward(ctx, grad_output)
        return 2 * of_a, of_b


class Lower(torch.autograd.Function):
    """What stands in the lower triangle, squared, and nothing else."""

    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a.tril() ** 2

    @staticmethod
    def backward(ctx, grad_output):
        (a,) = ctx.saved_tensors
        return 2 * a.tril() * grad_output


class Leaking(Lower):
    """The same, whose backward forgets that the upper triangle is not read."""

    @staticmethod
    def backward(ctx, grad_output):
        (a,) = ctx.saved_tensors
        return 2 * a * (grad_output + grad_output.mT)


def shared(ctx, grad_output, factor):
    (low,) = ctx.saved_tensors
    phi = torch.tril(low.mT @ grad_output)
    phi = phi - torch.diag_embed(phi.diagonal(dim1=-2, dim2=-1)) / 2
    inverse = torch.linalg.inv(low)
    s = inverse.mT @ phi @ inverse
    return factor * (s + s.mT)


def of(function) -> Op:
    return Op(function, "a factor", "tests", "", "", (Input("a", shape=(3, 3), value=SPD),), wrt="a[0,0]", of="y[1,0]")


class Misplaced(Lower):
    """The same, whose backward lays the gradient into the other triangle."""

    @staticmethod
    def forward(ctx, a):
        return 3 * a.tril(-1)

    @staticmethod
    def backward(ctx, grad_output):
        return 3 * grad_output.tril(-1).mT


def system(function) -> Op:
    b = tuple(0.3 * k - 0.7 for k in range(6))
    inputs = (Input("a", shape=(3, 3), value=SPD), Input("b", shape=(3, 2), value=b))
    return Op(function, "a solution", "tests", "", "", inputs, wrt="a[1,0]", of="y[1,0]")


def test_the_second_derivative_of_a_shared_gradient_is_no_error():
    found = {each.id: each for each in contract_xray(section(of(Cholesky))).checks}
    assert found["GRADIENT"].level == "fine"
    assert found["SECOND-ORDER"].level == "fine"


def test_a_factor_too_many_in_a_shared_gradient_is_an_error():
    found = {each.id: each for each in contract_xray(section(of(Doubled))).checks}
    assert found["GRADIENT"].level == "error"


@pytest.mark.parametrize(("wrt", "out"), [("a[1,0]", "y[1,0]"), ("a[0,1]", "y[1,1]"), ("a[2,1]", "y[2,2]")])
def test_a_pair_across_the_diagonal_is_moved_as_one(wrt, out):
    seen, verdict = look(of(Cholesky), -1, 1, wrt=wrt, of=out)
    assert verdict.word == "matches"
    row, column = wrt[2:-1].split(",")
    said = verdict_sentence(seen, verdict, Names(wrt, out, "exact"))
    assert f"forward reads one triangle of a only: a[{column},{row}] is moved too" in said
    assert look(of(Doubled), -1, 1, wrt=wrt, of=out)[1].word == "differs"


@pytest.mark.parametrize("wrt", ["a[1,0]", "a[0,1]"])
def test_of_a_gradient_that_is_not_symmetric_the_sum_is_what_counts(wrt):
    assert look(system(Solved), -0.5, 0.5, 31, wrt=wrt, of="y[1,0]")[1].word == "matches"
    assert look(system(SolvedTwice), -0.5, 0.5, 31, wrt=wrt, of="y[1,0]")[1].word == "differs"


def test_a_shared_gradient_is_right_in_the_jacobian_and_in_the_contract_too():
    assert not jacobian(section(system(Solved)), 2.0).numerical.where(Status.DIFFERS).any()
    assert jacobian(section(system(SolvedTwice)), 2.0).numerical.where(Status.DIFFERS).any()
    found = {each.id: each.level for each in contract_xray(section(system(Solved))).checks}
    assert found["GRADIENT"] == "fine"


@pytest.mark.parametrize("value", [(0.0,) * 9, (1.0,) * 9, (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)])
@pytest.mark.parametrize("wrt", ["a[1,0]", "a[0,1]"])
def test_a_gradient_that_is_laid_across_the_diagonal_differs_though_the_matrix_is_symmetric(wrt, value):
    op = Op(Misplaced, "", "tests", "", "", (Input("a", shape=(3, 3), value=value),), wrt=wrt, of="y[1,0]")
    assert look(op, -1, 1, 31, wrt=wrt, of="y[1,0]")[1].word == "differs"
    assert jacobian(section(op), 2.0).numerical.where(Status.DIFFERS).sum() == 6


def test_what_is_right_by_each_element_is_swept_by_each_element():
    seen, verdict = look(of(Lower), 0.1, 1, 31, wrt="a[1,0]", of="y[1,0]")
    assert (seen.mirror, verdict.word) == ((), "matches")
    assert look(of(Leaking), 0.1, 1, 31, wrt="a[1,0]", of="y[1,0]")[1].word == "differs"


def test_a_second_derivative_is_swept_by_each_element_too():
    evaluation = evaluate(grad_input_section(section(of(Cholesky), wrt="a[1,0]", of="y[1,1]"), 1.0), Grid(-1, 1, 101))
    assert judge(evaluation).word == "matches"


def test_where_both_triangles_are_read_each_element_is_moved_alone():
    op = op_of(torch.linalg.inv, Input("a", shape=(3, 3), value=SPD))
    seen, verdict = look(op, -1, 1, wrt="a[1,0]", of="y[1,1]")
    assert seen.mirror == ()
    assert verdict.word == "matches"


def test_no_cell_of_the_jacobian_is_accused_of_a_shared_gradient():
    cut = section(of(Cholesky))
    assert not jacobian(cut, 2.0).numerical.where(Status.DIFFERS).any()
    assert jacobian(section(of(Doubled)), 2.0).numerical.where(Status.DIFFERS).any()
