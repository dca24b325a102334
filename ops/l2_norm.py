import torch

from .op import Input, Op


class L2Norm(torch.autograd.Function):
    """Lengths are everywhere: in distances, penalties, normalised weights. At a length of 0 the usual
    formula gives nan; this gradient has an answer there, too.

    The gradient of a length is the unit vector in its direction: every element divided by the length. At the
    origin there is no direction and the quotient is 0/0. So `backward` asks first, and returns 0 there, as
    `torch.linalg.vector_norm` does. Any vector no longer than 1 would be a subgradient.

    The page moves `x[0,0]` with the others held at 1, 0 and −0.5, and the curve is a rounded V. Set the others
    to 0: the corner becomes sharp, and it is the absolute value. The specimen "Norm with a hole at zero" is the
    same code without the question.
    """

    @staticmethod
    def forward(ctx, x):
        norm = (x * x).sum(dim=-1, keepdim=True).sqrt()
        ctx.save_for_backward(x, norm)
        return norm

    @staticmethod
    def backward(ctx, grad_output):
        x, norm = ctx.saved_tensors
        direction = torch.where(norm == 0, 0.0, x / torch.where(norm == 0, 1.0, norm))
        return grad_output * direction


op = Op(
    function=L2Norm,
    title="Euclidean norm",
    group="Vectors and matrices",
    forward=r"y_b = \sqrt{\sum_j x_{bj}^2}",
    backward=r"\mathrm{grad\_x}_{bi} = \mathrm{grad\_output}_b \cdot \frac{x_{bi}}{y_b}, "
    r"\quad 0 \text{ where } y_b = 0",
    inputs=(Input("x", "a row vector", shape=(1, 4), value=(2.0, 1.0, 0.0, -0.5)),),
    wrt="x[0,0]",
    reference="PyTorch documentation, torch.linalg.vector_norm",
)
