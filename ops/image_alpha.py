import torch

from .op import Input, Op


class ImageAlpha(torch.autograd.Function):
    """Where one picture is laid over another, a loss may ask for the result and for the opacity. Two
    outputs, then, and one `backward` that adds up what each contributes.

    Here the picture is one pixel. The opacity is the sigmoid of `b`, so that it stays between 0 and 1,
    and the image mixes `a` and `c` in that proportion. The Function returns both image and opacity, so
    its `backward` is given two gradients, one for each output, in the same order. If the loss uses only
    one output, the gradient of the other arrives as zeros and its terms drop out by themselves.

    `b` reaches the loss by two ways, through the image and through the opacity, and the two contributions
    are added. The share of the image is proportional to the contrast a − c. Change `a`: as it passes `c`
    the gradient changes sign, and where the pixels are equal it is 0, since mixing them changes nothing.

    Then look at `alpha` instead of `img`: its derivative depends on `b` alone, and those with respect to
    `a` and `c` are 0.
    """

    @staticmethod
    def forward(ctx, a, b, c):
        alpha = b.sigmoid()
        img = a * alpha + c * (1 - alpha)
        ctx.save_for_backward(a, alpha, c)
        return img, alpha

    @staticmethod
    def backward(ctx, grad_img, grad_alpha):
        a, alpha, c = ctx.saved_tensors
        grad_b = (grad_img * (a - c) + grad_alpha) * alpha * (1 - alpha)
        return grad_img * alpha, grad_b, grad_img * (1 - alpha)


op = Op(
    function=ImageAlpha,
    title="Image and alpha",
    group="Several inputs and outputs",
    forward=r"\alpha = \sigma(b), \quad \mathrm{img} = \alpha a + (1 - \alpha) c",
    backward=r"\mathrm{grad\_a} = \mathrm{grad\_img} \cdot \alpha, \quad "
    r"\mathrm{grad\_b} = (\mathrm{grad\_img} \cdot (a - c) + \mathrm{grad\_alpha}) \cdot \alpha (1 - \alpha), \quad "
    r"\mathrm{grad\_c} = \mathrm{grad\_img} \cdot (1 - \alpha)",
    inputs=(
        Input("a", "the pixel in front, 0 is black", domain=(0.0, 1.0), value=0.2),
        Input("b", "its opacity, before the sigmoid", domain=(-6.0, 6.0), value=0.0),
        Input("c", "the pixel behind, 1 is white", domain=(0.0, 1.0), value=1.0),
    ),
    outputs=("img", "alpha"),
    wrt="b",
    of="img",
    reference="“Custom Autograd Functions in PyTorch”, a tutorial, 2024; compositing after Porter and Duff, 1984",
)
