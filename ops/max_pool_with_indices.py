import torch

from .op import Input, Op


class MaxPoolWithIndices(torch.autograd.Function):
    """Pooling makes an image smaller and keeps its strongest signals; to undo it one has to know where
    they stood. So there are two outputs, and only one has a gradient.

    The first output is the maximum of each pair, the second its position. Gradient goes back to the winner
    and the other gets 0. A position is an integer and cannot move a little. So `mark_non_differentiable`
    tells autograd not to ask for its gradient, and `backward` ignores what it is given for it.

    The page moves `x[0,0]`, whose neighbour is held at 0.5. Below, the neighbour wins and nothing depends on
    `x[0,0]`; above, the output follows. At the kink both are equal, and the code gives all of the
    gradient to one of them.
    """

    @staticmethod
    def forward(ctx, x):
        y, index = x.unflatten(-1, (-1, 2)).max(dim=-1)
        ctx.save_for_backward(index)
        ctx.mark_non_differentiable(index)
        return y, index

    @staticmethod
    def backward(ctx, grad_y, grad_index):
        (index,) = ctx.saved_tensors
        pairs = grad_y.new_zeros(*grad_y.shape, 2)
        return pairs.scatter(-1, index.unsqueeze(-1), grad_y.unsqueeze(-1)).flatten(-2)


op = Op(
    function=MaxPoolWithIndices,
    title="Max pooling with indices",
    group="Vectors and matrices",
    forward=r"y_{bi} = \max(x_{b,2i}, x_{b,2i+1}), \quad \mathrm{index}_{bi} = [x_{b,2i+1} > x_{b,2i}]",
    backward=r"\mathrm{grad\_x}_{b,2i+k} = \mathrm{grad\_y}_{bi} \cdot [k = \mathrm{index}_{bi}]",
    inputs=(Input("x", "a row of numbers", shape=(1, 4), value=(1.0, 0.5, -1.0, 2.0)),),
    outputs=("y", "index"),
    wrt="x[0,0]",
    of="y[0,0]",
    reference="Ranzato, Huang, Boureau and LeCun, Unsupervised Learning of Invariant Feature Hierarchies with "
    "Applications to Object Recognition, 2007",
)
