import torch

from .op import Descent, Input, Op, Parameter


class GradientReversal(torch.autograd.Function):
    """A network that has learned from photographs should also work for drawings. This layer lets what
    comes after it learn to tell the two apart, and what comes before it to make them look alike.

    Nothing happens on the way forward. The two parts of the network want opposite things. One gradient
    descent serves both, because `backward` turns the gradient round and multiplies it by `strength`.

    The dotted line is the function whose derivative that is: −`strength` · x. Drag `strength`; at 0 the
    layer stops all gradient. `forward` returns a view of its input and not the input itself, so that autograd
    sees a result of its own.
    """

    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.strength * grad_output, None


def downhill(x, strength):
    return -strength * x


op = Op(
    function=GradientReversal,
    title="Gradient reversal",
    group="Gradient shaping",
    forward=r"y = x",
    backward=r"\mathrm{grad\_x} = -\mathrm{strength} \cdot \mathrm{grad\_output}",
    inputs=(Input("x", "any number"),),
    parameters=(Parameter("strength", 1.0, 0.0, 5.0, "what the gradient is multiplied by, negated"),),
    surrogate=downhill,
    surrogate_formula=r"-\mathrm{strength} \cdot x",
    descent=Descent(goal=0.0, lr=0.1, steps=12, at=1.0),
    reference="Ganin and Lempitsky, Unsupervised Domain Adaptation by Backpropagation, 2015",
)
