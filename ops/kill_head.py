import torch

from .op import Descent, Input, Op, Parameter


class KillHead(torch.autograd.Function):
    """To find out what a part of a network is good for, switch it off. This Function sets the first
    columns of a matrix, its head, to zero, and sends no gradient back to them.

    The output is a copy of `x` in which the first `n` columns are 0. An element that is kept has slope 1;
    one that is killed leaves no trace in the output and has slope 0. So `backward` does to `grad_output`
    what `forward` did to `x`. This is no accident: the map is linear, its matrix is diagonal with zeros and
    ones, and a diagonal matrix is its own transpose.

    Both methods write into a clone. The tensor `grad_output` belongs to the engine, which may use it
    elsewhere: a `backward` that changes it in place spoils gradients it never sees.

    The page moves one element, `x[0,1]` in the second column, and watches one element. With `n` = 2 that
    column is killed: forward and gradient are both 0. Lower `n` to 1, and it passes with slope 1. Then
    watch any other element of y: no output depends on any input but its own.
    """

    @staticmethod
    def forward(ctx, x, n):
        ctx.n = n
        y = x.clone()
        y[:, :n] = 0
        return y

    @staticmethod
    def backward(ctx, grad_output):
        grad_x = grad_output.clone()
        grad_x[:, : ctx.n] = 0
        return grad_x, None


# The loop that ends the section of the course, with numbers that anybody can write down.
START = (
    *(1.0, 0.75, 0.5, 0.25, 0.0, -0.25, -0.5, -0.75),
    *(0.5, -0.5, 0.5, -0.5, 0.5, -0.5, 0.5, -0.5),
    *(0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875),
)
GOAL = (
    *(-0.7, -0.6, -0.5, -0.4, -0.3, -0.2, -0.1, 0.0),
    *(-0.5, -0.3, -0.1, 0.1, 0.3, 0.5, 0.7, 0.9),
    *(0.3, 0.2, 0.1, 0.0, -0.1, -0.2, -0.3, -0.4),
)

op = Op(
    function=KillHead,
    title="Kill head",
    group="Vectors and matrices",
    forward=r"y_{ij} = x_{ij} \cdot [j \ge n]",
    backward=r"\mathrm{grad\_x}_{ij} = \mathrm{grad\_output}_{ij} \cdot [j \ge n]",
    inputs=(Input("x", "a matrix", shape=(3, 8), value=START),),
    parameters=(Parameter("n", 2, 0, 8, "number of columns set to zero", kind="int"),),
    wrt="x[0,1]",
    of="y[0,1]",
    descent=Descent(goal=GOAL, lr=1.0, steps=40),
    reference="François Fleuret, EE-559 Deep Learning, 5.7 Writing an autograd function, 2019",
)
