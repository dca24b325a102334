import torch

from .op import Input, Op, Parameter

STEPS = 10


class FixedPointTanh(torch.autograd.Function):
    """What would an endless stack of equal layers end in? Equilibrium networks solve for that answer, and
    take the gradient from it alone, without the steps of the search.

    The output is the y for which y = tanh(x + ay): what such a stack of layers settles at. `forward` finds
    it by Newton's method. Differentiating through all of its steps would cost their memory. The implicit
    function theorem gives the slope from the answer alone, whatever way led to it.

    Drag `coupling`, the a of the equation. Above 0 the layer supports itself, and the curve rises more and more
    steeply at 0: with 0.9 the slope there is 10. Below 0 it holds itself back. At 0 it is the plain tanh.
    """

    @staticmethod
    def forward(ctx, x, coupling):
        y = torch.tanh(x)
        for _ in range(STEPS):
            guess = torch.tanh(x + coupling * y)
            y = y - (y - guess) / (1 - coupling * (1 - guess**2))
        ctx.coupling = coupling
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        slope = 1 - y**2
        return grad_output * slope / (1 - ctx.coupling * slope), None


op = Op(
    function=FixedPointTanh,
    title="Fixed point of a tanh layer",
    group="NumPy and other code autograd cannot see",
    forward=r"y = \tanh(x + a y), \quad a = \mathrm{coupling}",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot \frac{1 - y^2}{1 - a \, (1 - y^2)}",
    inputs=(Input("x", "what the layer is given"),),
    parameters=(Parameter("coupling", 0.5, -0.9, 0.9, "how much the layer listens to itself"),),
    reference="Bai, Kolter and Koltun, Deep Equilibrium Models, 2019",
)
