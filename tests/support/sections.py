"""How the tests look at a Function: a section of it, evaluated and judged."""

from collections.abc import Callable
from typing import Any

import torch

from gradloupe.ops import OPS, Input, Op, Parameter
from gradloupe.server.catalogue.op_description import default_elements, measured_shapes, parse_element
from gradloupe.server.numerics.curve.evaluate import Evaluation, Grid, evaluate
from gradloupe.server.numerics.verdict.verdict import Verdict, judge
from gradloupe.server.runtime.section import Section

# What is measured of an op that claims this.
WORD = {"exact": "matches", "surrogate": "matches its surrogate", "broken": "differs"}


class Plain(torch.autograd.Function):
    """Stands where the gradient is autograd's own."""


class Written(torch.autograd.Function):
    """A Function of one input, from a forward and a derivative."""

    @staticmethod
    def forward(ctx, x, value, derivative):
        ctx.save_for_backward(x)
        ctx.derivative = derivative
        return value(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ctx.derivative(x), None, None


class Counted:
    """A function of a tensor that counts how often it is called."""

    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        self.function = function
        self.calls = 0

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return self.function(x)


def op_of(function: Callable[..., Any], *inputs: Input, parameters: tuple[Parameter, ...] = (), **words: Any) -> Op:
    """An op around any function of tensors, differentiated by autograd."""
    return Op(Plain, "a test", "tests", "", "", inputs or (Input("x"),), parameters, call=function, **words)


def written(value: Callable[..., Any], derivative: Callable[..., Any], **words: Any) -> Op:
    """An op with a backward of its own."""
    return op_of(lambda x: Written.apply(x, value, derivative), **words)


def section(op: Op | str, wrt: str = "", of: str = "", dtype: torch.dtype = torch.float64, **given: Any) -> Section:
    """The section of an op, everything else held where the op declares it or at what is given."""
    op = OPS[op] if isinstance(op, str) else op
    first_wrt, first_of = default_elements(op, measured_shapes(op))
    by, out = parse_element(wrt) if wrt else first_wrt, parse_element(of) if of else first_of
    return Section(
        op=op,
        call=op,
        wrt=by.name,
        wrt_index=by.index,
        of=out.name,
        of_index=out.index,
        inputs=tuple((each.name, given.get(each.name, each.values)) for each in op.inputs),
        parameters=tuple((each.name, given.get(each.name, each.default)) for each in op.parameters),
        dtype=dtype,
    )


def look(
    op: Op | str, start: float = -3.0, stop: float = 3.0, count: int = 401, grad_output: float = 1.0, **asked: Any
) -> tuple[Evaluation, Verdict]:
    """An evaluation and its verdict."""
    cut = section(op, **asked)
    evaluation = evaluate(cut, Grid(start, stop, count), grad_output)
    return evaluation, judge(evaluation)
