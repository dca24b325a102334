import torch

from .op import Descent, Input, Op, Parameter


class LowerBound(torch.autograd.Function):
    """A scale has to stay positive, but under a plain bound a value that has fallen too low gets gradient
    0 and is stuck. Here it may always climb back.

    The output is never below `bound`. `backward` lets a negative `grad_output` through everywhere. A
    descent step goes against the gradient, so a negative one raises the input, towards the bound and over
    it.

    The page begins with a negative `grad_output`, for which the gradient is that of x itself, the dotted
    curve. Flip its sign: for a positive one it is that of max(x, bound). No single function has both.
    Learned image codecs keep the scales of their distributions positive in this way. "Clamp with grad" is
    the same idea with two bounds.
    """

    @staticmethod
    def forward(ctx, x, bound):
        ctx.bound = bound
        ctx.save_for_backward(x)
        return x.clamp(min=bound)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        passes = (x >= ctx.bound) | (grad_output < 0)
        return grad_output * passes, None


def bound_or_identity(x, bound, grad_output):
    return x if grad_output < 0 else x.clamp(min=bound)


op = Op(
    function=LowerBound,
    title="Lower bound",
    group="Clamps and ReLUs",
    forward=r"y = \max(x, \mathrm{bound})",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot "
    r"[x \ge \mathrm{bound} \text{ or } \mathrm{grad\_output} < 0]",
    inputs=(Input("x", "what is bounded", value=-2.0),),
    parameters=(Parameter("bound", 0.0, -2.0, 2.0, "the least output"),),
    surrogate=bound_or_identity,
    surrogate_formula=r"x \text{ if } \mathrm{grad\_output} < 0, \text{ else } \max(x, \mathrm{bound})",
    grad_output=-1.0,
    descent=Descent(goal=1.0, lr=0.25, steps=12, at=-2.0),
    reference="Ballé et al., Variational Image Compression with a Scale Hyperprior, 2018; as in CompressAI, 2020",
)
