import torch

from .op import Input, Op


class StateOnTheClass(torch.autograd.Function):
    """Use this layer twice in a network, and both gradients are computed from the second input. A
    specimen: the square, which keeps its input where the next call overwrites it.

    `ctx` is new for every call; a class attribute is one for all. Two calls before the first `backward`,
    and what the first has kept is gone.

    `gradcheck` passes: between a forward and its backward it only ever calls with inputs a millionth away.
    It is the class attribute in the source that gives the mistake away: what `backward` needs belongs in
    `ctx.save_for_backward`.
    """

    x = None

    @staticmethod
    def forward(ctx, x):
        StateOnTheClass.x = x.detach()
        return x**2

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2 * StateOnTheClass.x


op = Op(
    function=StateOnTheClass,
    title="State on the class",
    group="Specimens",
    forward=r"y = x^2",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot 2 \, x_{\text{last}}",
    inputs=(Input("x", "any number"),),
    broken="The input is kept on the class: a second call overwrites what the first backward needs.",
    check="GLOBAL-STATE",
    reference="PyTorch documentation, Extending torch.autograd",
)
