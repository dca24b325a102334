import torch

from .op import Input, Op


class Square(torch.autograd.Function):
    """Gradient penalties and Newton's method differentiate twice. This square is ready for it, and
    nothing special is needed.

    `forward` saves its input, and `backward` uses it in ordinary tensor operations. That is all a second
    derivative needs. When `create_graph=True` asks for one, autograd records what `backward` does. The
    saved tensor is the input itself, with its place in the graph. So the gradient 2x is known to depend on
    x, and its own derivative, 2, follows without a further line.

    The gradient is a straight line through 0. Set `grad_output` to −1 and it is mirrored. Set it to 0.5
    and the gradient is x itself, which is why a squared error is so often written with a half in front.
    """

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 2 * x


op = Op(
    function=Square,
    title="Square",
    group="Second derivatives",
    forward=r"y = x^2",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot 2 x",
    inputs=(Input("x", "any number", domain=(-2.0, 2.0)),),
    reference="PyTorch tutorials, Double Backward with Custom Functions, 2021",
)
