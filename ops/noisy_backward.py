import torch

from .op import Input, Op


class NoisyBackward(torch.autograd.Function):
    """Every run gives another result, and nobody knows why. A specimen: noise is added to the gradient,
    and nothing declares it.

    A little noise in the gradient can help a deep network out of poor places. Hidden in the `backward` of
    a layer, though, it makes every check fail, and whoever uses the layer looks for the mistake elsewhere.

    Ask twice and the answers differ; that is how the page finds it. Noise belongs in the optimiser, with a
    name and a number that fades as training goes on.
    """

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output + 0.1 * torch.randn_like(grad_output)


op = Op(
    function=NoisyBackward,
    title="Noisy backward",
    group="Specimens",
    forward=r"y = x",
    backward=r"\mathrm{grad\_x} = \mathrm{grad\_output} + 0.1 \, \varepsilon, \quad "
    r"\varepsilon \, \sim \, \mathcal{N}(0, 1)",
    inputs=(Input("x", "any number"),),
    broken="backward adds random noise: the same call has a different gradient each time.",
    check="RANDOM-BACKWARD",
    reference="After Neelakantan et al., Adding Gradient Noise Improves Learning for Very Deep Networks, 2015",
)
