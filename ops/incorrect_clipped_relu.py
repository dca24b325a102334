import torch

from .op import Descent, Input, Op, Parameter


class IncorrectClippedReLU(torch.autograd.Function):
    """A clipped ReLU that forgets to stop the gradient where the output no longer moves. It pushes inputs
    on for nothing; elsewhere the loss falls, so nobody looks, and `gradcheck` may miss it.

    `forward` is right. `backward` hands `grad_output` on unchanged, as if the function were y = input.
    Between 0 and `clip` that happens to be the derivative. Outside, the output does not move at all and
    still a gradient is returned, for either sign of `grad_output`. The mask that makes it 0 is missing. If
    a loss asks for more than `clip`, each step drives the input farther out, and nothing is gained by it.

    A check at a few random points can miss this. Take five normally distributed inputs and a `clip` of
    1.5. About three times in two hundred all five fall between the kinks, and `gradcheck` finds nothing
    wrong. A sweep over the whole axis shows the fault at once, and where it is.

    Drag `clip`: the region where the two gradients agree is the one where `forward` moves. And read the
    source: `backward` never uses the tensor that `forward` saved, often the first sign of a missing
    factor.
    """

    @staticmethod
    def forward(ctx, input, clip):
        ctx.save_for_backward(input)
        return input.clamp(0, clip)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clone(), None


op = Op(
    function=IncorrectClippedReLU,
    title="Incorrect clipped ReLU",
    group="Clamps and ReLUs",
    forward=r"y = \min(\max(0, \mathrm{input}), \mathrm{clip})",
    backward=r"\mathrm{grad\_input} = \mathrm{grad\_output}",
    inputs=(Input("input", "what is clipped", domain=(-1.0, 3.0)),),
    parameters=(Parameter("clip", 2.0, 0.0, 3.0, "ceiling of the output"),),
    broken="The mask is missing: backward passes grad_output on even where forward is flat.",
    check="SAVED-UNUSED",
    descent=Descent(goal=4.0, lr=0.25, steps=12, at=2.5),
    reference="ApX Machine Learning, Advanced PyTorch, “Practice: Custom Autograd Functions”, 2025",
)
