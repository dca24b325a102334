"""Functions that read one triangle of a symmetric matrix, and share the gradient between both."""

import pytest
import torch
from looks import look, op_of, section

from gradloupe.ops import Input, Op
from gradloupe.server.numerics.contract.contract import contract
from gradloupe.server.numerics.evaluate import evaluate
from gradloupe.server.numerics.grid import Grid
from gradloupe.server.numerics.jacobian.jacobian import jacobian
from gradloupe.server.numerics.judge import judge
from gradloupe.server.numerics.place import Names
from gradloupe.server.numerics.second.grad_input import derived
from gradloupe.server.numerics.sentence import sentence
from gradloupe.server.numerics.status import Status

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


def shared(ctx, grad_output, factor):
    (low,) = ctx.saved_tensors
    phi = torch.tril(low.mT @ grad_output)
    phi = phi - torch.diag_embed(phi.diagonal(dim1=-2, dim2=-1)) / 2
    inverse = torch.linalg.inv(low)
    s = inverse.mT @ phi @ inverse
    return factor * (s + s.mT)


def of(function) -> Op:
    return Op(function, "a factor", "tests", "", "", (Input("a", shape=(3, 3), value=SPD),), wrt="a[0,0]", of="y[1,0]")


def test_the_second_derivative_of_a_shared_gradient_is_no_error():
    found = {each.id: each for each in contract(section(of(Cholesky))).checks}
    assert found["GRADIENT"].level == "fine"
    assert found["SECOND-ORDER"].level == "fine"


def test_a_factor_too_many_is_still_one():
    found = {each.id: each for each in contract(section(of(Doubled))).checks}
    assert found["GRADIENT"].level == "error"


@pytest.mark.parametrize(("wrt", "out"), [("a[1,0]", "y[1,0]"), ("a[0,1]", "y[1,1]"), ("a[2,1]", "y[2,2]")])
def test_a_pair_across_the_diagonal_is_moved_as_one(wrt, out):
    seen, verdict = look(of(Cholesky), -1, 1, wrt=wrt, of=out)
    assert verdict.word == "matches"
    row, column = wrt[2:-1].split(",")
    said = sentence(seen, verdict, Names(wrt, out, "exact"))
    assert f"forward reads one triangle of a only: a[{column},{row}] is moved too" in said
    assert look(of(Doubled), -1, 1, wrt=wrt, of=out)[1].word == "differs"


def test_so_is_it_of_second_order():
    evaluation = evaluate(derived(section(of(Cholesky), wrt="a[1,0]", of="y[1,1]"), 1.0), Grid(-1, 1, 101))
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
