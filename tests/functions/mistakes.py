"""Functions as people write them by mistake, one mistake in each."""

from __future__ import annotations

from typing import Any

import torch


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


class TooMuchByNineTenThousandths(Sine):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.cos(x) * 1.0009


class TooMuchByTwoThousandths(Sine):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.cos(x) * 1.002


class LosesTheSign(Sine):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output.abs() * torch.cos(x)


class Clips(Sine):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output.clamp(-1, 1) * torch.cos(x)


class Squares(Sine):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output**2 * torch.cos(x)


class Forgets(Sine):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.cos(x)


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


class RoundsToFloat32(Sine):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return (grad_output * torch.cos(x)).float()


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


class ReturnsTooFew(OfTwo):
    @staticmethod
    def backward(ctx, grad_output):
        _, v = ctx.saved_tensors
        return grad_output * v**2


class ReturnsTooMany(Sine):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.cos(x), grad_output


class Detaches(Sine):
    """A right first derivative with a factor of which the second knows nothing."""

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.cos(x.detach())


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
