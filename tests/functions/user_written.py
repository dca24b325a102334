"""Functions of the kinds that visitors write: what they take besides one tensor, and where they are defined."""

import torch


class Log(torch.autograd.Function):
    """Defined on one side of 0 only."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.log()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output / x


class Clamp(torch.autograd.Function):
    """Two limits."""

    @staticmethod
    def forward(ctx, x, min, max):
        ctx.save_for_backward(x)
        ctx.limits = min, max
        return x.clamp(min, max)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ((x >= ctx.limits[0]) & (x <= ctx.limits[1])), None, None


class Fire(torch.autograd.Function):
    """Nothing happens below 100, and the gradient is that of something else."""

    @staticmethod
    def forward(ctx, x):
        return (x >= 100).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


class Pooled(torch.autograd.Function):
    """A choice of strings, a switch, and None among the arguments."""

    @staticmethod
    def forward(ctx, x, mode="mean", dim=None, twice=False):
        ctx.count, ctx.mode, ctx.twice, ctx.shape = x.numel(), mode, twice, x.shape
        if mode == "mean":
            y = x.mean()
        elif mode in ("sum", "total"):
            y = x.sum()
        elif mode == "median":
            raise ValueError("not yet")
        return 2 * y if twice else y

    @staticmethod
    def backward(ctx, grad_output):
        share = (1 / ctx.count if ctx.mode == "mean" else 1) * (2 if ctx.twice else 1)
        return (grad_output * share).expand(ctx.shape), None, None, None


class Rows(torch.autograd.Function):
    """Rows of a table by their numbers, weighed by a tensor that does not learn, with a callable at the end."""

    @staticmethod
    def forward(ctx, index, table, weight, then):
        ctx.save_for_backward(index, weight)
        ctx.rows, ctx.then = table.shape[0], then
        return then(table[index]) * weight

    @staticmethod
    def backward(ctx, grad_output):
        index, weight = ctx.saved_tensors
        grad = torch.zeros(ctx.rows, *grad_output.shape[1:], dtype=grad_output.dtype, device=grad_output.device)
        return None, grad.index_add(0, index, grad_output * weight), None, None


class Line(torch.autograd.Function):
    """Names that the address has for itself."""

    @staticmethod
    def forward(ctx, x, start, stop):
        ctx.save_for_backward(x, start, stop)
        return start + (stop - start) * x

    @staticmethod
    def backward(ctx, grad_output):
        x, start, stop = ctx.saved_tensors
        return grad_output * (stop - start), grad_output * (1 - x), grad_output * x


class Single(torch.autograd.Function):
    """Takes single precision only."""

    @staticmethod
    def forward(ctx, x):
        if x.dtype != torch.float32:
            raise TypeError("expected float32")
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * grad_output * x


class Polar(torch.autograd.Function):
    """Two inputs, two outputs with names."""

    @staticmethod
    def forward(ctx, r, theta):
        ctx.save_for_backward(r, theta)
        x, z = r * theta.cos(), r * theta.sin()
        return x, z

    @staticmethod
    def backward(ctx, grad_x, grad_z):
        r, theta = ctx.saved_tensors
        return grad_x * theta.cos() + grad_z * theta.sin(), r * (grad_z * theta.cos() - grad_x * theta.sin())


class Powered(torch.autograd.Function):
    """A whole number, of which only some work."""

    @staticmethod
    def forward(ctx, x, power):
        if not 1 <= power <= 4:
            raise ValueError("power has to lie from 1 to 4")
        ctx.save_for_backward(x)
        ctx.power = power
        return x**power

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ctx.power * x ** (ctx.power - 1), None


class Doubled(torch.autograd.Function):
    """Works in place."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output


class Centred(torch.autograd.Function):
    """Diagonal forward, but a backward that mixes the elements."""

    @staticmethod
    def forward(ctx, x):
        return 3 * x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output - grad_output.mean()


class Inverse(torch.autograd.Function):
    """The inverse of the Cholesky factor: what is not positive definite is refused."""

    @staticmethod
    def forward(ctx, a):
        torch.linalg.cholesky(a)
        y = torch.linalg.inv(a)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return -y.mT @ grad_output @ y.mT


def smooth(x, k):
    """A plain function of tensors."""
    return k * x.tanh()


def logged(x):
    """A plain function that calls a Function."""
    return [Log.apply(x * x + 1), x]


class Turned(torch.autograd.Function):
    """A complex product, and how long its factors are."""

    @staticmethod
    def forward(ctx, z, turn, k):
        ctx.save_for_backward(z, turn)
        ctx.k = k
        return k * z * turn, (z * z.conj()).real.sum()

    @staticmethod
    def backward(ctx, grad_output, grad_size):
        z, turn = ctx.saved_tensors
        return ctx.k * grad_output * turn.conj() + 2 * grad_size * z, None, None
