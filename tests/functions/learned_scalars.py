"""Functions with a number that is learned: a tensor without a dimension, and one gradient for all that it touches."""

import torch

from functions.basics import altered, of


class PACT(torch.autograd.Function):
    """A clip at a number that is learned."""

    @staticmethod
    def forward(ctx, x, alpha):
        ctx.save_for_backward(x, alpha)
        return torch.clamp(x, min=0.0, max=alpha.item())

    @staticmethod
    def backward(ctx, grad_output):
        x, alpha = ctx.saved_tensors
        return grad_output * ((x >= 0) & (x < alpha)), (grad_output * (x >= alpha)).sum()


class Scale(torch.autograd.Function):
    """A scale that is learned."""

    @staticmethod
    def forward(ctx, x, s):
        ctx.save_for_backward(x, s)
        return s * x

    @staticmethod
    def backward(ctx, grad_output):
        x, s = ctx.saved_tensors
        return grad_output * s, (grad_output * x).sum()


class ScaleFirst(torch.autograd.Function):
    """The same with the number first."""

    @staticmethod
    def forward(ctx, s, x):
        ctx.save_for_backward(s, x)
        return s * x

    @staticmethod
    def backward(ctx, grad_output):
        s, x = ctx.saved_tensors
        return (grad_output * x).sum(), grad_output * s


class Strict(torch.autograd.Function):
    """A shift that takes a number for a number: nothing else will do."""

    @staticmethod
    def forward(ctx, x, s):
        if s.dim():
            raise ValueError("s has a dimension")
        ctx.save_for_backward(x, s)
        return x * x + s * s

    @staticmethod
    def backward(ctx, grad_output):
        x, s = ctx.saved_tensors
        return 2 * x * grad_output, 2 * s * grad_output.sum()


class Temperature(torch.autograd.Function):
    """A softmax whose temperature is learned."""

    @staticmethod
    def forward(ctx, x, t):
        y = torch.softmax(x / t, -1)
        ctx.save_for_backward(x, t, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, t, y = ctx.saved_tensors
        inner = y * (grad_output - (grad_output * y).sum(-1, keepdim=True))
        return inner / t, -(inner * x).sum() / t**2


class StepSize(torch.autograd.Function):
    """The quantiser LSQ, whose step is learned: its gradients are those of no function."""

    @staticmethod
    def forward(ctx, x, s, p):
        ctx.save_for_backward(x, s)
        ctx.p = p
        return torch.round((x / s).clamp(-p, p)) * s

    @staticmethod
    def backward(ctx, grad_output):
        x, s = ctx.saved_tensors
        q = x / s
        inside = q.abs() <= ctx.p
        step = torch.where(inside, q.round() - q, q.sign() * ctx.p)
        return grad_output * inside, (grad_output * step).sum().view(s.shape), None


class LayerNorm(torch.autograd.Function):
    """A layer norm, which may have but one layer."""

    @staticmethod
    def forward(ctx, x, gamma, beta):
        mean = x.mean(-1, keepdim=True)
        rstd = (x.var(-1, unbiased=False, keepdim=True) + 1e-5).rsqrt()
        xhat = (x - mean) * rstd
        ctx.save_for_backward(xhat, gamma, rstd)
        return xhat * gamma + beta

    @staticmethod
    def backward(ctx, grad_output):
        xhat, gamma, rstd = ctx.saved_tensors
        g = grad_output * gamma
        grad_x = rstd * (g - g.mean(-1, keepdim=True) - xhat * (g * xhat).mean(-1, keepdim=True))
        return grad_x, (grad_output * xhat).sum(), grad_output.sum()


# A mean where a sum belongs, which are the same of one element; and other gradients of the number that are wrong.
Mean = altered(Scale, "Mean", backward=of(lambda g, x, s: (g * s, (g * x).mean())))
Double = altered(Scale, "Double", backward=of(lambda g, x, s: (g * s, 2 * (g * x).sum())))
Unlearned = altered(Scale, "Unlearned", backward=of(lambda g, x, s: (g * s, None)))
Row = altered(Scale, "Row", backward=of(lambda g, x, s: (g * s, (g * x).sum().reshape(1))))
