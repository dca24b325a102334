"""Functions as people write them by mistake, one mistake in each."""

from __future__ import annotations

from typing import Any

import torch


class Function(torch.autograd.Function):
    """The sine, which keeps its input; the planted ones differ from it in what is written here."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return torch.sin(x)

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return grad_output * torch.cos(x)


class TooMuchByNineTenThousandths(Function):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.cos(x) * 1.0009


class TooMuchByTwoThousandths(Function):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.cos(x) * 1.002


class LosesTheSign(Function):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output.abs() * torch.cos(x)


class Clips(Function):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output.clamp(-1, 1) * torch.cos(x)


class Squares(Function):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output**2 * torch.cos(x)


class Forgets(Function):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.cos(x)


class WritesToGradOutput(Function):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output.mul_(torch.cos(x))


class ReadsMemoryInOrder(Function):
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


class KeepsItsOutput(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.y = torch.exp(x)
        return ctx.y

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.y


class RoundsToFloat32(Function):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return (grad_output * torch.cos(x)).float()


class WrongBeyondThree(Function):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.cos(x) * torch.where(x > 3, 2.0, 1.0)


class Noisy(Function):
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


class Swaps(OfTwo):
    @staticmethod
    def backward(ctx, grad_output):
        u, v = ctx.saved_tensors
        return grad_output * 2 * u * v, grad_output * v**2


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


class ReturnsTooMany(Function):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.cos(x), grad_output


class Detaches(Function):
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


class WorksInPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.mul_(2)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2


class OnlyTheDiagonal(torch.autograd.Function):
    """The softmax, whose elements all depend on all."""

    @staticmethod
    def forward(ctx, x):
        y = torch.softmax(x, -1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y)


class ForgetsTheConjugate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z):
        ctx.save_for_backward(z)
        return z**2

    @staticmethod
    def backward(ctx, grad_output):
        (z,) = ctx.saved_tensors
        return grad_output * 2 * z
