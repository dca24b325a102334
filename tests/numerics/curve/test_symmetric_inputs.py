"""Functions that read one triangle of a symmetric matrix, and share the gradient between both."""

import pytest
import torch
from support.answers import document
from support.sections import look, op_of, section

from gradloupe.ops import Input, Op
from gradloupe.server.contract.xray import contract_xray

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


def differing_cells(op):
    return document(op, "jacobian", -1.0, 1.0)[0]["differs"]


def levels(op):
    return {each.id: each.level for each in contract_xray(section(op)).checks}


def words(right, wrong, *range_, **asked):
    return [look(op, *range_, **asked)[1].word for op in (right, wrong)]


@pytest.mark.parametrize(("wrt", "out"), [("a[1,0]", "y[1,0]"), ("a[0,1]", "y[1,1]"), ("a[2,1]", "y[2,2]")])
def test_a_pair_across_the_diagonal_is_moved_as_one(wrt, out):
    assert words(of(Cholesky), of(Doubled), -1, 1, wrt=wrt, of=out) == ["matches", "differs"]
    row, column = wrt[2:-1].split(",")
    said = document(of(Cholesky), "curves", -1.0, 1.0, wrt, out)[0]["verdict"]["sentence"]
    assert f"a[{column},{row}] is moved too" in said


@pytest.mark.parametrize("wrt", ["a[1,0]", "a[0,1]"])
def test_of_a_gradient_that_is_not_symmetric_the_sum_is_what_counts(wrt):
    found = words(system(Solved), system(SolvedTwice), -0.5, 0.5, 31, wrt=wrt, of="y[1,0]")
    assert found == ["matches", "differs"]


@pytest.mark.parametrize(("right", "wrong"), [(of(Cholesky), of(Doubled)), (system(Solved), system(SolvedTwice))])
def test_a_shared_gradient_is_right_in_the_jacobian_and_in_the_contract_too(right, wrong):
    assert (differing_cells(right), differing_cells(wrong) > 0) == (0, True)
    found = levels(right)
    assert (found["GRADIENT"], levels(wrong)["GRADIENT"]) == ("fine", "error")
    assert found["SECOND-ORDER"] == "fine" or right.function is Solved


@pytest.mark.parametrize("value", [(0.0,) * 9, (1.0,) * 9, (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)])
def test_a_gradient_that_is_laid_across_the_diagonal_differs_though_the_matrix_is_symmetric(value):
    op = Op(Misplaced, "", "tests", "", "", (Input("a", shape=(3, 3), value=value),), wrt="a[1,0]", of="y[1,0]")
    assert {look(op, -1, 1, 31, wrt=wrt)[1].word for wrt in ("a[1,0]", "a[0,1]")} == {"differs"}
    assert differing_cells(op) == 6


def test_what_is_right_by_each_element_is_swept_by_each_element():
    seen, verdict = look(of(Lower), 0.1, 1, 31, wrt="a[1,0]", of="y[1,0]")
    assert (seen.mirror, verdict.word) == ((), "matches")
    assert look(of(Leaking), 0.1, 1, 31, wrt="a[1,0]", of="y[1,0]")[1].word == "differs"
    inverse = op_of(torch.linalg.inv, Input("a", shape=(3, 3), value=SPD))
    seen, verdict = look(inverse, -1, 1, wrt="a[1,0]", of="y[1,1]")
    assert (seen.mirror, verdict.word) == ((), "matches")


def test_a_second_derivative_is_swept_by_each_element_too():
    header, _ = document(of(Cholesky), "curves", -1.0, 1.0, "a[1,0]", "y[1,1]", order=2, count=101)
    assert header["verdict"]["word"] == "matches"
