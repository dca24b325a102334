"""Functions whose second derivative is a story of its own, for the tests of order 2."""

from typing import Any

import torch
from support.sections import section
from torch.autograd.function import once_differentiable

from functions.basics import Cube
from gradloupe.ops import Input, Op
from gradloupe.server.numerics.curve.evaluate import evaluate
from gradloupe.server.numerics.curve.evaluation import Evaluation
from gradloupe.server.numerics.sampling.grid import Grid
from gradloupe.server.numerics.second_order.grad_input import grad_input_section
from gradloupe.server.numerics.verdict.verdict import Verdict, judge
from gradloupe.server.runtime.section import Section

X = Input("x")


def twice(op: Op | str, grad_output: float = 1.0, **asked: Any) -> Section:
    """The section of what backward returns."""
    return grad_input_section(section(op, **asked), grad_output)


def look_twice(
    op: Op | str, start: float = -3.0, stop: float = 3.0, grad_output: float = 1.0, count: int = 401, **asked: Any
) -> tuple[Evaluation, Verdict]:
    """An evaluation of what backward returns, and its verdict."""
    evaluation = evaluate(twice(op, grad_output, **asked), Grid(start, stop, count))
    return evaluation, judge(evaluation)


def of(function: type[torch.autograd.Function], **words: Any) -> Op:
    """An op around a Function of one tensor."""
    return Op(function, function.__name__, "tests", "", "", words.pop("inputs", (X,)), **words)


class Slope(torch.autograd.Function):
    """A first derivative with a backward of its own."""

    @staticmethod
    def forward(ctx, x, derivative, second):
        ctx.save_for_backward(x)
        ctx.second = second
        return derivative(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ctx.second(x), None, None


class Twice(torch.autograd.Function):
    """A Function from a value, its derivative, and what double backward makes of that."""

    @staticmethod
    def forward(ctx, x, value, derivative, second):
        ctx.save_for_backward(x)
        ctx.derivative, ctx.second = derivative, second
        return value(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * Slope.apply(x, ctx.derivative, ctx.second), None, None, None


def written_twice(value, derivative, second, **words: Any) -> Op:
    """An op whose backward returns ``derivative`` and whose double backward returns ``second``."""
    return of(Twice, call=lambda x: Twice.apply(x, value, derivative, second), **words)


class CubeWrongDoubleBackward(torch.autograd.Function):
    """The cube: what it saves beside x hides half of the second derivative."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, 3 * x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        x, three_x = ctx.saved_tensors
        return grad_output * three_x * x


class Once(Cube):
    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad_output


class OnceByClass(torch.autograd.Function):
    @classmethod
    def forward(cls, ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @classmethod
    @once_differentiable
    def backward(cls, ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad_output


class OnceAsVjp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    @once_differentiable
    def vjp(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad_output


class ThroughNumpy(Cube):
    """The cube, its backward by NumPy, which refuses what requires grad."""

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.from_numpy(3 * x.numpy() ** 2 * grad_output.numpy())


class Detached(Cube):
    """The cube, its backward by NumPy as torch advises: detached."""

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.from_numpy(3 * x.detach().numpy() ** 2 * grad_output.detach().numpy())


class RaisesTwice(Cube):
    """The cube, whose backward can be called, but not be gone back through."""

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        squared = x.exp()
        slope = 3 * x * x + 0 * squared
        squared.mul_(2)
        return slope * grad_output


class InPlace(torch.autograd.Function):
    """The square, which works on its input itself."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.clone())
        ctx.mark_dirty(x)
        return x.mul_(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


class Unrelated(torch.autograd.Function):
    """Integers come out, which carry no gradient."""

    @staticmethod
    def forward(ctx, x):
        y = x.round().long()
        ctx.mark_non_differentiable(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output
