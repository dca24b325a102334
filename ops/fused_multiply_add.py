import torch

from .op import Input, Op


class MultiplyAdd(torch.autograd.Function):
    """A gradient that nobody needs costs time and memory. This Function of three inputs asks which of
    them are learned, and computes no other gradient.

    Of the three inputs often only one is learned. `ctx.needs_input_grad` says which of them want a gradient,
    one answer for each argument of `forward`, in order. Where it says no, `backward` may return `None` and
    save the work.

    The three gradients are b, a and 1, each times `grad_output`. Sweep `a`: a straight line whose slope is `b`.
    Then change `b` and the line turns; change `c` and it only shifts, since a sum passes gradient on as it is.
    """

    @staticmethod
    def forward(ctx, a, b, c):
        ctx.save_for_backward(a, b)
        return a * b + c

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        needs_a, needs_b, needs_c = ctx.needs_input_grad
        grad_a = grad_output * b if needs_a else None
        grad_b = grad_output * a if needs_b else None
        return grad_a, grad_b, grad_output if needs_c else None


op = Op(
    function=MultiplyAdd,
    title="Multiply and add",
    group="Several inputs and outputs",
    forward=r"y = a b + c",
    backward=r"\mathrm{grad\_a} = \mathrm{grad\_output} \cdot b, \quad "
    r"\mathrm{grad\_b} = \mathrm{grad\_output} \cdot a, \quad \mathrm{grad\_c} = \mathrm{grad\_output}",
    inputs=(Input("a", "first factor"), Input("b", "second factor", value=2.0), Input("c", "what is added", value=0.5)),
    wrt="a",
    reference="PyTorch documentation, Extending torch.autograd",
)
