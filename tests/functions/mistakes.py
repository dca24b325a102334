"""Functions as people write them by mistake, one mistake in each."""

from typing import Any

import torch

from functions.basics import altered, of


class Sine(torch.autograd.Function):
    """The sine, which keeps its input; the planted ones differ from it in what is written here."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return torch.sin(x)

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return grad_output * torch.cos(x)


class LosesTheSign(Sine):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output.abs() * torch.cos(x)


class WritesToGradOutput(Sine):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output.mul_(torch.cos(x))


class ReadsMemoryInOrder(Sine):
    """Takes grad_output as it lies in memory, as a kernel does that forgot ``.contiguous()``."""

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        storage = torch.tensor([], dtype=grad_output.dtype).set_(grad_output.untyped_storage())
        first = grad_output.storage_offset()
        along = torch.arange(first, first + x.numel()).clamp(max=storage.numel() - 1)
        return storage[along].reshape(x.shape) * torch.cos(x)


class KeepsAnIntermediate(torch.autograd.Function):
    """sinh from two exponentials that the graph of the second derivative does not know."""

    @staticmethod
    def forward(ctx, x):
        ctx.up, ctx.down = torch.exp(x), torch.exp(-x)
        return (ctx.up - ctx.down) / 2

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (ctx.up + ctx.down) / 2


class WrongBeyondThree(Sine):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.cos(x) * torch.where(x > 3, 2.0, 1.0)


class Noisy(Sine):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.cos(x) + 1e-4 * torch.randn_like(x)


class OfTwo(torch.autograd.Function):
    """u times the square of v."""

    @staticmethod
    def forward(ctx: Any, u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(u, v)
        return u * v**2

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        u, v = ctx.saved_tensors
        return grad_output * v**2, grad_output * 2 * u * v


class ReturnsNone(OfTwo):
    @staticmethod
    def backward(ctx, grad_output):
        _, v = ctx.saved_tensors
        return grad_output * v**2, None


class ExpectsBothGradients(torch.autograd.Function):
    """Two outputs; a loss of one of them hands backward None for the other."""

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x)
        return 2 * x, x**2

    @staticmethod
    def backward(ctx, of_double, of_square):
        (x,) = ctx.saved_tensors
        return 2 * of_double + 2 * x * of_square


class ForgetsTheConjugate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z):
        ctx.save_for_backward(z)
        return z**2

    @staticmethod
    def backward(ctx, grad_output):
        (z,) = ctx.saved_tensors
        return grad_output * 2 * z


# Each differs from a right one in its backward.

TooMuchByNineTenThousandths = altered(
    Sine, "TooMuchByNineTenThousandths", backward=of(lambda g, x: g * x.cos() * 1.0009)
)
TooMuchByTwoThousandths = altered(Sine, "TooMuchByTwoThousandths", backward=of(lambda g, x: g * x.cos() * 1.002))
Clips = altered(Sine, "Clips", backward=of(lambda g, x: g.clamp(-1, 1) * x.cos()))
Squares = altered(Sine, "Squares", backward=of(lambda g, x: g**2 * x.cos()))
Forgets = altered(Sine, "Forgets", backward=of(lambda g, x: x.cos()))
RoundsToFloat32 = altered(Sine, "RoundsToFloat32", backward=of(lambda g, x: (g * x.cos()).float()))
ReturnsTooMany = altered(Sine, "ReturnsTooMany", backward=of(lambda g, x: (g * x.cos(), g)))
# A right first derivative with a factor of which the second knows nothing.
Detaches = altered(Sine, "Detaches", backward=of(lambda g, x: g * x.detach().cos()))
ReturnsTooFew = altered(OfTwo, "ReturnsTooFew", backward=of(lambda g, u, v: g * v**2))
