import torch

from .op import Input, Op


class GradientChangedInPlace(torch.autograd.Function):
    """One layer like this can stop all layers before it from learning, without an error. A specimen: a
    ReLU whose `backward` writes into the gradient that it was given.

    Setting `grad_output` to 0 where the unit is off seems to save a copy. But that tensor belongs to the
    engine, and others may still need it. After `y.sum()` it is even one single number that is shown to every
    element: one zero written into it is a zero for all. As soon as one unit is off, all that lies before
    learns nothing.

    Whether that happens depends on what comes after the Function. After a `sum` it does, with a warning at
    most; after a `mean` or a product with weights it does not. The fix is one word: write into
    `grad_output.clone()`, or return `grad_output.masked_fill(x <= 0, 0)`.
    """

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_output[x <= 0] = 0
        return grad_output


op = Op(
    function=GradientChangedInPlace,
    title="Gradient changed in place",
    group="Specimens",
    forward=r"y = \max(0, x)",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot [x > 0]",
    inputs=(Input("x", "what is rectified"),),
    broken="backward writes into grad_output, which belongs to the engine and may be shared by all elements.",
    check="GRADOUT-INPLACE",
    reference="PyTorch documentation, Extending torch.autograd",
)
