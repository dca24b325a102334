"""Functions that read one triangle of a symmetric matrix, and share the gradient between both."""

import pytest
import torch
from functions.basics import altered, keeping, with_backward
from functions.basics import of as pulled
from support.answers import document
from support.sections import look, op_of, section

from gradloupe.ops import Input, Op
from gradloupe.server.contract import contract_xray

F = torch.autograd.Function
MATRIX = Input("a", shape=(3, 3), value=(2.0, 0.3, -0.4, 0.3, 1.7, 0.2, -0.4, 0.2, 2.4))


def cholesky(factor):
    """The factor of a symmetric matrix, with a shared gradient that is right with the factor 1/2."""

    def backward(g, low):
        phi = torch.tril(low.mT @ g)
        phi = phi - torch.diag_embed(phi.diagonal(dim1=-2, dim2=-1)) / 2
        inverse = torch.linalg.inv(low)
        s = inverse.mT @ phi @ inverse
        return factor * (s + s.mT)

    return of(altered(F, "Cholesky", forward=keeping(torch.linalg.cholesky), backward=pulled(backward)))


def solved(factor):
    """The solution of a symmetric system, whose gradient is no symmetric matrix; right with the factor 1."""

    def forward(ctx, a, b):
        low = torch.linalg.cholesky(a)
        x = torch.cholesky_solve(b, low)
        ctx.save_for_backward(low, x)
        return x

    def backward(g, low, x):
        back = torch.cholesky_solve(g, low)
        return -factor * x @ back.mT, back

    inputs = (MATRIX, Input("b", shape=(3, 2), value=tuple(0.3 * k - 0.7 for k in range(6))))
    return of(altered(F, "Solved", forward=forward, backward=pulled(backward)), *inputs, wrt="a[1,0]")


def of(function, *inputs, wrt="a[0,0]") -> Op:
    return Op(function, "a factor", "tests", "", "", inputs or (MATRIX,), wrt=wrt, of="y[1,0]")


# What stands in the lower triangle, squared, and nothing else; and the same, forgetting that the upper is not read.
LOWER = of(with_backward(lambda a: a.tril() ** 2, lambda g, a: 2 * a.tril() * g))
LEAKING = of(with_backward(lambda a: a.tril() ** 2, lambda g, a: 2 * a * (g + g.mT)))
# Lays the gradient into the other triangle.
Misplaced = with_backward(lambda a: 3 * a.tril(-1), lambda g, a: 3 * g.tril(-1).mT)


def differing_cells(op):
    return document(op, "jacobian", -1.0, 1.0)[0]["differs"]


def levels(op):
    return {each.id: each.level for each in contract_xray(section(op)).checks}


def words(right, wrong, *range_, **asked):
    return [look(op, *range_, **asked)[1].word for op in (right, wrong)]


@pytest.mark.parametrize(("wrt", "out"), [("a[1,0]", "y[1,0]"), ("a[0,1]", "y[1,1]"), ("a[2,1]", "y[2,2]")])
def test_a_pair_across_the_diagonal_is_moved_as_one(wrt, out):
    assert words(cholesky(0.5), cholesky(1.0), -1, 1, wrt=wrt, of=out) == ["matches", "differs"]
    row, column = wrt[2:-1].split(",")
    said = document(cholesky(0.5), "curves", -1.0, 1.0, wrt, out)[0]["verdict"]["sentence"]
    assert f"a[{column},{row}] is moved too" in said


@pytest.mark.parametrize("wrt", ["a[1,0]", "a[0,1]"])
def test_of_a_gradient_that_is_not_symmetric_the_sum_is_what_counts(wrt):
    found = words(solved(1.0), solved(2.0), -0.5, 0.5, 31, wrt=wrt, of="y[1,0]")
    assert found == ["matches", "differs"]


@pytest.mark.parametrize(("right", "wrong"), [(cholesky(0.5), cholesky(1.0)), (solved(1.0), solved(2.0))])
def test_a_shared_gradient_is_right_in_the_jacobian_and_in_the_contract_too(right, wrong):
    assert (differing_cells(right), differing_cells(wrong) > 0) == (0, True)
    found = levels(right)
    assert (found["GRADIENT"], levels(wrong)["GRADIENT"]) == ("fine", "error")
    assert found["SECOND-ORDER"] == "fine" or right.inputs != (MATRIX,)


@pytest.mark.parametrize("value", [(0.0,) * 9, (1.0,) * 9, (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)])
def test_a_gradient_that_is_laid_across_the_diagonal_differs_though_the_matrix_is_symmetric(value):
    op = Op(Misplaced, "", "tests", "", "", (Input("a", shape=(3, 3), value=value),), wrt="a[1,0]", of="y[1,0]")
    assert {look(op, -1, 1, 31, wrt=wrt)[1].word for wrt in ("a[1,0]", "a[0,1]")} == {"differs"}
    assert differing_cells(op) == 6


def test_what_is_right_by_each_element_is_swept_by_each_element():
    seen, verdict = look(LOWER, 0.1, 1, 31, wrt="a[1,0]", of="y[1,0]")
    assert (seen.section.also, verdict.word) == (None, "matches")
    assert look(LEAKING, 0.1, 1, 31, wrt="a[1,0]", of="y[1,0]")[1].word == "differs"
    inverse = op_of(torch.linalg.inv, MATRIX)
    seen, verdict = look(inverse, -1, 1, wrt="a[1,0]", of="y[1,1]")
    assert (seen.section.also, verdict.word) == (None, "matches")


def test_a_second_derivative_is_swept_by_each_element_too():
    header, _ = document(cholesky(0.5), "curves", -1.0, 1.0, "a[1,0]", "y[1,1]", order=2, count=101)
    assert header["verdict"]["word"] == "matches"
