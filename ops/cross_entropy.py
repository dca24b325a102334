import torch

from .op import Input, Op, Parameter


class CrossEntropy(torch.autograd.Function):
    """The loss that most classifiers learn from: small if the right class gets a high probability.
    Softmax and logarithm are one Function here, because apart they break down at small probabilities.

    Done one after the other, the gradient of the logarithm divides by a probability that may have
    underflowed to 0. Done together, everything cancels: the gradient is the row of probabilities, less 1 at the
    right class. It is bounded, and it is 0 only when the classifier is certain and right.

    The page moves the score of class 0. Set `target` to 0 and the curve falls: a higher score for the right
    class is a smaller loss. For any other `target` it rises, with the probability of class 0 as its slope.
    """

    @staticmethod
    def forward(ctx, x, target):
        top = x.amax(dim=-1, keepdim=True)
        y = top + torch.log(torch.exp(x - top).sum(dim=-1, keepdim=True))
        ctx.target = target
        ctx.save_for_backward(x)
        return y - x[..., target : target + 1]

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        right = torch.zeros_like(x)
        right[..., ctx.target] = 1
        return grad_output * (torch.softmax(x, dim=-1) - right), None


op = Op(
    function=CrossEntropy,
    title="Cross entropy",
    group="Vectors and matrices",
    forward=r"y_b = -\log \, \frac{e^{x_{bt}}}{\sum_j e^{x_{bj}}}, \quad t = \mathrm{target}",
    backward=r"\mathrm{grad\_x}_{bi} = \mathrm{grad\_output}_b \, "
    r"\left(\frac{e^{x_{bi}}}{\sum_j e^{x_{bj}}} - [i = t]\right)",
    inputs=(Input("x", "a row of scores", shape=(1, 4), domain=(-4.0, 4.0), value=(0.0, 1.0, -1.0, 0.5)),),
    parameters=(Parameter("target", 2, 0, 3, "the right class", kind="int"),),
    wrt="x[0,0]",
    reference="Bridle, Probabilistic Interpretation of Feedforward Classification Network Outputs, with "
    "Relationships to Statistical Pattern Recognition, 1990",
)
