"""A Function that fails is a result: what it raised, in which half, at which line of the source shown."""

import pytest
import torch
from functions.basics import SparseGradient
from support.answers import answer
from support.sections import look, op_of
from support.written_functions import function_of

from gradloupe.ops import OPS, Input
from gradloupe.server.protocol.question import Element, Question
from gradloupe.server.runtime.failure import FunctionFailed


class RaisesInBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.abs()

    @staticmethod
    def backward(ctx, grad_output):
        raise ValueError("no gradient today")


class RaisesInForward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        raise ValueError("x < 0 is not allowed")

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


def returning(forward="x * 2", backward="grad_output"):
    return function_of(f"def forward(ctx, x): return {forward}\ndef backward(ctx, grad_output): return {backward}")


def named(function, *inputs):
    op = op_of(function.apply, *inputs)
    object.__setattr__(op, "function", function)
    return op


def test_a_backward_that_raises_leaves_forward_and_numerical_to_see():
    evaluation, verdict = look(named(RaisesInBackward))
    assert verdict.word == "failed"
    assert evaluation.failure.phase == "backward"
    assert (evaluation.failure.kind, evaluation.failure.message) == ("ValueError", "no gradient today")
    assert "raise ValueError" in named(RaisesInBackward).source.splitlines()[evaluation.failure.line - 1]
    assert evaluation.analytical is None
    assert evaluation.numerical.slopes.value[0] == -1


def test_gradients_of_a_wrong_shape_or_number_are_torchs_words_to_show():
    assert "shape" in look(named(returning(backward="torch.ones(2)"), Input("x", shape=(3,))))[0].failure.message
    assert "number of gradients" in look(named(returning(backward="(grad_output, grad_output)")))[0].failure.message


def test_a_forward_that_raises_is_answered_with_the_reason(monkeypatch):
    op = named(RaisesInForward)
    monkeypatch.setitem(OPS, "raising", op)
    header, columns = answer(Question("raising", Element("x"), Element("y"), -3.0, 3.0))
    assert columns == {}
    assert header["verdict"]["word"] == "failed"
    assert header["verdict"]["sentence"].endswith("ValueError: x < 0 is not allowed")
    assert header["failure"]["line"] == 4


def test_what_gradloupe_refuses_is_not_said_to_have_been_raised(monkeypatch):
    monkeypatch.setitem(OPS, "listing", named(returning("[x * 2]")))
    for view in ("curves", "jacobian", "node"):
        header, _ = answer(Question("listing", Element("x"), Element("y"), -3.0, 3.0, view=view))
        said = header["verdict"]["sentence"] if view == "curves" else header["sentence"]
        assert said == header["failure"]["sentence"]
        assert "returned a list" in said


def halved(x):
    raise ArithmeticError("not by two")


class CallsWhatRaises(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return halved(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


def test_the_place_in_what_the_function_calls_is_told_too():
    with pytest.raises(FunctionFailed) as failed:
        look(named(CallsWhatRaises))
    failure = failed.value.failure
    line = halved.__code__.co_firstlineno + 1
    assert f"ArithmeticError: not by two (test_failure.py, line {line})" in failure.sentence
    assert failure.line == 4


def test_what_torch_itself_raises_is_placed_in_the_function_alone():
    class Mismatched(CallsWhatRaises):
        @staticmethod
        def forward(ctx, x):
            return torch.einsum("ij,jk", x, x)

    with pytest.raises(FunctionFailed) as failed:
        look(named(Mismatched))
    failure = failed.value.failure
    assert "line" not in failure.sentence
    assert failure.line == 4


def test_a_sparse_gradient_is_a_gradient():
    evaluation, verdict = look(named(SparseGradient))
    assert evaluation.failure is None
    assert verdict.word == "matches"
