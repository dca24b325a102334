import torch

from .op import Descent, Input, Op


class GuidedReLU(torch.autograd.Function):
    """Which pixels made the network say “cat”? Guided backpropagation draws them, with a ReLU that hands
    back only what speaks for its input.

    The gradient of one neuron is followed back to the image, but every ReLU on the way keeps a positive
    gradient only. What would weaken the neuron is left out. Gradient passes where the unit is on and where
    `grad_output` is positive.

    The page begins with a negative `grad_output`, for which the gradient vanishes altogether. Flip its
    sign. For a positive one it is that of the ReLU, for a negative one that of a constant, and no single
    function has both. It makes clear pictures,
    but is not for training. `gradcheck` only asks with a `grad_output` of 1 and finds nothing wrong.
    """

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0) * (grad_output > 0)


def relu_or_constant(x, grad_output):
    return x.clamp(min=0) if grad_output > 0 else torch.zeros_like(x)


op = Op(
    function=GuidedReLU,
    title="Guided ReLU",
    group="Gradient shaping",
    forward=r"y = \max(0, x)",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot [x > 0] \cdot [\mathrm{grad\_output} > 0]",
    inputs=(Input("x", "what is rectified"),),
    surrogate=relu_or_constant,
    surrogate_formula=r"\max(0, x) \text{ if } \mathrm{grad\_output} > 0, \text{ else } 0",
    grad_output=-1.0,
    descent=Descent(goal=2.0, lr=0.25, steps=12, at=0.5),
    reference="Springenberg, Dosovitskiy, Brox and Riedmiller, Striving for Simplicity: The All Convolutional Net, "
    "2015",
)
