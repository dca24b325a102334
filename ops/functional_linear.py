import torch
from torch.autograd.function import once_differentiable

from .op import Input, Op, Parameter


class FunctionalLinear(torch.autograd.Function):
    """A linear layer by hand: three tensors in, three gradients out. Who adds up the gradient of a bias
    that all rows of a batch share? Here it can be seen.

    Each output is the dot product of a row of `input` and a row of `weight`, plus a `bias`. The bias may
    be missing: `None` goes in, `None` comes back. Every row of the batch uses the same `weight` and
    `bias`, so their gradients have to be summed over the batch. This `backward` leaves that to the engine.
    It returns them with the batch dimension still in front, and the engine silently sums them down to the
    right shape.

    The decorator `once_differentiable` declares that `backward` itself must not be differentiated. It makes
    a second `.backward()` through it raise an error, but not every way of asking for a second derivative.

    The page moves `weight[0,0]` and watches `y[1,0]`: a straight line. Its slope is the number that this
    weight multiplies, `input[1,0]` = 2. Watch `y[1,1]` and the slope is 0, because it reads the other row
    of `weight`. Then sweep `bias[0]` and switch `with_bias` off: the gradient is gone.
    """

    @staticmethod
    def forward(ctx, input, weight, bias):
        ctx.save_for_backward(input, weight, bias)
        y = (weight.unsqueeze(0) * input.unsqueeze(1)).sum(dim=-1)
        return y if bias is None else y + bias

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_input = (grad_output.unsqueeze(-1) * weight).sum(dim=1)
        grad_weight = grad_output.unsqueeze(-1) * input.unsqueeze(1)
        grad_bias = None if bias is None else grad_output.clone()
        return grad_input, grad_weight, grad_bias


def linear(input, weight, bias, with_bias):
    return FunctionalLinear.apply(input, weight, bias if with_bias else None)


op = Op(
    function=FunctionalLinear,
    title="Functional linear layer",
    group="Several inputs and outputs",
    forward=r"y_{bo} = \sum_i \mathrm{weight}_{oi} \, \mathrm{input}_{bi} + \mathrm{bias}_o",
    backward=r"\mathrm{grad\_input}_{bi} = \sum_o \mathrm{grad\_output}_{bo} \, \mathrm{weight}_{oi}, \quad "
    r"\mathrm{grad\_weight}_{oi} = \sum_b \mathrm{grad\_output}_{bo} \, \mathrm{input}_{bi}, \quad "
    r"\mathrm{grad\_bias}_o = \sum_b \mathrm{grad\_output}_{bo}",
    inputs=(
        Input("input", "a batch of rows", shape=(2, 3), value=(1.0, 0.0, -1.0, 2.0, 1.0, 0.5)),
        Input("weight", "one row for each output", shape=(2, 3), value=(1.0, 2.0, 3.0, -1.0, 0.5, 2.0)),
        Input("bias", "added to each output", shape=(2,), value=(0.1, -0.2)),
    ),
    parameters=(Parameter("with_bias", True, description="add the bias", kind="switch"),),
    call=linear,
    wrt="weight[0,0]",
    of="y[1,0]",
    reference="David Rotermund, PyTorch tutorial, “Replace autograd”, University of Bremen, 2023",
)
