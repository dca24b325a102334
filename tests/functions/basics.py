"""Right Functions of the simplest kind: what the others differ from, each in one method."""

import torch


class Square(torch.autograd.Function):
    """x², right in all things."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


class Cube(torch.autograd.Function):
    """x³, right in all things."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad_output


class Product(torch.autograd.Function):
    """u·v, right in all things."""

    @staticmethod
    def forward(ctx, u, v):
        ctx.save_for_backward(u, v)
        return u * v

    @staticmethod
    def backward(ctx, grad_output):
        u, v = ctx.saved_tensors
        return v * grad_output, u * grad_output


class Double(torch.autograd.Function):
    """2x, right in all things."""

    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output


class SparseGradient(Double):
    """A right gradient, laid out as a sparse tensor."""

    @staticmethod
    def backward(ctx, grad_output):
        return (2 * grad_output).to_sparse()


class Identity(torch.autograd.Function):
    """x, right in all things."""

    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


def saving(value):
    """A forward that saves its inputs."""

    def forward(ctx, *tensors):
        ctx.save_for_backward(*tensors)
        return value(*tensors)

    return forward


def keeping(value):
    """A forward that saves its output."""

    def forward(ctx, *tensors):
        y = value(*tensors)
        ctx.save_for_backward(y)
        return y

    return forward


def of(pull):
    """A backward from a function of grad_output and of what was saved."""
    return lambda ctx, g: pull(g, *ctx.saved_tensors)


def altered(base, name, **methods) -> type[torch.autograd.Function]:
    """A Function that differs from another one in these methods and flags."""
    body = {each: staticmethod(method) if callable(method) else method for each, method in methods.items()}
    return type(name, (base,), body | {"__module__": __name__})


def with_backward(forward, backward) -> type[torch.autograd.Function]:
    """A Function of tensors with this forward, and a backward of grad_output and the same tensors."""
    return altered(torch.autograd.Function, "WithBackward", forward=saving(forward), backward=of(backward))


class SquaredError(torch.autograd.Function):
    """Σ (x − target)², right where the target is data."""

    @staticmethod
    def forward(ctx, x, target):
        ctx.save_for_backward(x, target)
        return (x - target).square().sum()

    @staticmethod
    def backward(ctx, grad_output):
        x, target = ctx.saved_tensors
        return 2 * grad_output * (x - target), None
