import numpy as np
import torch
from torch.autograd.function import once_differentiable

from .op import Input, Op


def numbers(x):
    return x.detach().cpu().double().numpy()


class NumpyCube(torch.autograd.Function):
    """Much good code is not written in torch, and autograd cannot see into it. This cube is computed by
    NumPy, and `backward` states its derivative by hand.

    Autograd sees what torch does and nothing else. To use code of another library one takes the numbers
    out, lets it compute, and puts the result back into a tensor. `backward` then states by hand what
    autograd cannot know. In `forward` the input still belongs to the graph and has to be detached before
    it can be handed over.

    `backward` runs in NumPy too, so it cannot be differentiated in turn, and `once_differentiable` says
    so. NumPy knows neither GPUs nor every dtype of torch. So the numbers are brought to the CPU, in double
    precision, and the result goes back to where they came from.
    """

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.as_tensor(numbers(x) ** 3).to(x)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.as_tensor(3 * np.square(numbers(x))).to(x)


op = Op(
    function=NumpyCube,
    title="Cube in NumPy",
    group="NumPy and other code autograd cannot see",
    forward=r"y = x^3",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot 3 x^2",
    inputs=(Input("x", "any number", domain=(-2.0, 2.0)),),
    reference="PyTorch tutorials, Creating Extensions Using numpy and scipy, 2017",
)
