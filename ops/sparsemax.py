import torch

from .op import Input, Op


class Sparsemax(torch.autograd.Function):
    """Softmax never quite rules anything out. Sparsemax gives probabilities of which some are exactly 0,
    so one can read off what was considered at all.

    The output is the point nearest to the scores among all rows of probabilities. A common amount, tau, is
    taken away from every score, and what falls below 0 is cut off. Tau is chosen so that the rest adds up
    to 1. Those that remain are called the support.

    Inside the support the map is linear: `backward` takes the mean of `grad_output` over the support away and
    returns 0 elsewhere. The page moves `x[0,0]`; its probability is 0 at first, then rises in straight
    pieces and stays at 1. Each kink is a score that enters or leaves the support. Compare with "Softmax", where
    nothing ever becomes 0.
    """

    @staticmethod
    def forward(ctx, x):
        ordered = x.sort(dim=-1, descending=True).values
        rank = torch.arange(1, x.shape[-1] + 1, dtype=x.dtype, device=x.device)
        excess = ordered.cumsum(dim=-1) - 1
        size = (rank * ordered > excess).sum(dim=-1, keepdim=True).clamp(min=1)  # 0 if 1 is lost beside a large score
        y = (x - excess.gather(-1, size - 1) / size).clamp(min=0)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        support = (y > 0).to(y.dtype)
        mean = (grad_output * support).sum(dim=-1, keepdim=True) / support.sum(dim=-1, keepdim=True)
        return support * (grad_output - mean)


op = Op(
    function=Sparsemax,
    title="Sparsemax",
    group="Vectors and matrices",
    forward=r"y_{bi} = \max(0, x_{bi} - \tau_b), \quad \tau_b \text{ so that } \sum_j y_{bj} = 1",
    backward=r"\mathrm{grad\_x}_{bi} = [y_{bi} > 0] \, "
    r"\left(\mathrm{grad\_output}_{bi} - \frac{\sum_j [y_{bj} > 0] \, \mathrm{grad\_output}_{bj}}"
    r"{\sum_j [y_{bj} > 0]}\right)",
    inputs=(Input("x", "a row of scores", shape=(1, 4), domain=(-2.0, 2.0), value=(0.0, 0.5, -0.25, 0.25)),),
    wrt="x[0,0]",
    of="y[0,0]",
    reference="Martins and Astudillo, From Softmax to Sparsemax: A Sparse Model of Attention and Multi-Label "
    "Classification, 2016",
)
