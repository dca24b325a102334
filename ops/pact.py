import torch

from .op import Input, Op


class PACT(torch.autograd.Function):
    """An activation can be stored in few bits only if it is bounded. How high the bound should be is
    learned here, like a weight.

    The bound of this clipped ReLU, `alpha`, is a tensor, and `backward` returns a gradient for it. Below
    the bound the output does not depend on it at all; above, the output is the bound itself, with slope
    1.

    Sweep `x` and then `alpha`: each gradient is 1 where the other is 0, and both are 0 for negative x. All
    elements that are clipped speak to the one `alpha`, so their gradients are summed to its shape before
    they are returned.
    """

    @staticmethod
    def forward(ctx, x, alpha):
        ctx.save_for_backward(x, alpha)
        return torch.minimum(x.relu(), alpha)

    @staticmethod
    def backward(ctx, grad_output):
        x, alpha = ctx.saved_tensors
        clipped = x.relu() >= alpha
        grad_x = grad_output * ((x > 0) & ~clipped)
        return grad_x, (grad_output * clipped).sum_to_size(alpha.shape)


op = Op(
    function=PACT,
    title="PACT, a clip that is learned",
    group="Quantisers",
    forward=r"y = \min(\max(0, x), \alpha)",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} \cdot [0 < x < \alpha], \quad "
    r"\mathrm{grad\_}\alpha = \mathrm{grad\_output} \cdot [\max(0, x) \ge \alpha]",
    inputs=(
        Input("x", "what is clipped", domain=(-1.0, 4.0), value=3.0),
        Input("alpha", "the bound, learned", domain=(0.1, 4.0), value=2.0),
    ),
    wrt="x",
    reference="Choi et al., PACT: Parameterized Clipping Activation for Quantized Neural Networks, 2018",
)
