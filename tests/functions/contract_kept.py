"""Functions that keep the contract of autograd, in all the ways there are of writing one."""

import numpy as np
import torch
from torch.autograd.function import once_differentiable

from functions.basics import Cube, Square, altered, keeping, of, saving
from functions.user_written import Doubled, Log
from gradloupe.ops import Input, Op, Parameter

F = torch.autograd.Function
X = (Input("x"),)
POSITIVE = (Input("x", domain=(0.1, 4.0)),)
TWO = (Input("u", value=2.0), Input("v", value=1.5))
ROW = (Input("x", shape=(4,), value=(1.0, -0.5, 2.0, 0.3)),)
MATRIX = (Input("x", shape=(2, 3), value=(1.0, -0.5, 2.0, 0.3, -1.2, 0.7)),)
SQUARE = (Input("x", shape=(3, 3), value=(2.0, 0.3, -0.4, 0.1, 1.5, 0.2, -0.7, 0.2, 1.8)),)
WEIGHTS = (
    Input("x", shape=(3, 2), value=(1.0, 0.5, -1.0, 2.0, 0.3, 0.7)),
    Input("w", shape=(2, 2), value=(1.0, -0.5, 0.3, 2.0)),
)

KEEPERS: list[Op] = []


def keeper(inputs=X, parameters=(), outputs=("y",), call=None):
    """Takes a class into the list; ``call`` makes the op's of it."""

    def taken(function: type) -> type:
        words = {"outputs": outputs, "call": call and call(function)}
        KEEPERS.append(Op(function, function.__name__, "tests", "", "", inputs, parameters, **words))
        return function

    return taken


def variant(base, name, inputs=X, outputs=("y",), call=None, **methods):
    """Takes a Function into the list that differs from another one in these methods."""
    keeper(inputs, outputs=outputs, call=call)(altered(base, name, **methods))


@keeper()
class WithSetup(F):
    @staticmethod
    def forward(x):
        return x.sin()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x.cos()


@keeper()
class WithVjp(F):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)

    @staticmethod
    def vjp(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x**2

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return tangent * 3 * x**2


@keeper(parameters=(Parameter("power", 2, 1, 5, kind="int"), Parameter("flip", False, kind="switch")))
class WithNumbers(F):
    @staticmethod
    def forward(ctx, x, power, flip=False):
        ctx.save_for_backward(x)
        ctx.power, ctx.sign = power, -1 if flip else 1
        return ctx.sign * x**power

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return ctx.sign * ctx.power * x ** (ctx.power - 1) * grad_output, None, None


@keeper(inputs=TWO, outputs=("y", "z"))
class NoneForTheUnused(F):
    @staticmethod
    def forward(ctx, u, v):
        ctx.save_for_backward(u, v)
        ctx.set_materialize_grads(False)
        return u * v, u.sin()

    @staticmethod
    def backward(ctx, grad_y, grad_z):
        u, v = ctx.saved_tensors
        grad_u = grad_v = None
        if grad_y is not None:
            grad_u, grad_v = grad_y * v, grad_y * u
        if grad_z is not None:
            grad_u = grad_z * u.cos() if grad_u is None else grad_u + grad_z * u.cos()
        return grad_u, grad_v


keeper()(Doubled)


@keeper()
class InPlaceExp(F):
    @staticmethod
    def forward(ctx, x):
        x.exp_()
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y


@keeper()
class ByNumpy(F):
    @staticmethod
    def forward(ctx, x):
        array = x.detach().cpu().numpy()
        ctx.save_for_backward(x)
        return torch.as_tensor(np.arctan(array), dtype=x.dtype, device=x.device)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        array = x.detach().cpu().numpy()
        return grad_output * torch.as_tensor(1 / (1 + array**2), dtype=x.dtype, device=x.device)


@keeper(inputs=ROW, outputs=("values", "indices"))
class Sorted(F):
    @staticmethod
    def forward(ctx, x):
        values, indices = x.sort(dim=-1)
        ctx.save_for_backward(indices)
        ctx.mark_non_differentiable(indices)
        return values, indices

    @staticmethod
    def backward(ctx, grad_values, grad_indices):
        (indices,) = ctx.saved_tensors
        return torch.zeros_like(grad_values).scatter(-1, indices, grad_values)


@keeper(outputs=("y", "mask"))
class MarkedMask(F):
    @staticmethod
    def forward(ctx, x):
        mask = (x > 0).to(x.dtype)
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return x * mask, mask

    @staticmethod
    def backward(ctx, grad_y, grad_mask):
        (mask,) = ctx.saved_tensors
        return grad_y * mask


@keeper(inputs=(*MATRIX, Input("bias", shape=(3,), value=(0.1, 0.2, -0.3))))
class Broadcast(F):
    @staticmethod
    def forward(ctx, x, bias):
        ctx.shapes = x.shape, bias.shape
        return x + bias

    @staticmethod
    def backward(ctx, grad_output):
        one, other = ctx.shapes
        return grad_output.sum_to_size(one), grad_output.sum_to_size(other)


@keeper(inputs=MATRIX)
class ViewedAs(F):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.view(-1)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.reshape(ctx.shape)


keeper(inputs=POSITIVE)(Log)


@keeper(
    inputs=(*ROW, Input("scale", shape=(4,), value=(0.5, 1.5, 1.0, 2.0))),
    call=lambda cls: lambda x, scale: cls.apply(x, scale, None),
)
class NothingForAnInput(F):
    @staticmethod
    def forward(ctx, x, scale, bias):
        ctx.save_for_backward(x, scale, bias)
        y = x * scale
        return y if bias is None else y + bias

    @staticmethod
    def backward(ctx, grad_output):
        x, scale, bias = ctx.saved_tensors
        return grad_output * scale, grad_output * x, None if bias is None else grad_output


@keeper(inputs=ROW, call=lambda cls: lambda x: cls.apply(x, torch.tensor([2, 0, 0])))
class Gathers(F):
    @staticmethod
    def forward(ctx, x, index):
        ctx.save_for_backward(index)
        ctx.count = x.shape[0]
        return x[index]

    @staticmethod
    def backward(ctx, grad_output):
        (index,) = ctx.saved_tensors
        return grad_output.new_zeros(ctx.count).index_add(0, index, grad_output), None


@keeper(inputs=SQUARE, outputs=("q", "r"))
class Factors(F):
    """Where all of a matrix is 0 its factors jump, and their gradient is no number, as that of torch's own."""

    @staticmethod
    def forward(ctx, x):
        q, r = torch.linalg.qr(x)
        ctx.save_for_backward(q, r)
        return q, r

    @staticmethod
    def backward(ctx, grad_q, grad_r):
        q, r = ctx.saved_tensors
        m = r @ grad_r.t() - grad_q.t() @ q
        m = m.tril() + m.tril(-1).t()
        return torch.linalg.solve_triangular(r, (grad_q + q @ m).t(), upper=True).t()


@keeper(inputs=TWO)
class AsksWhatIsNeeded(F):
    @staticmethod
    def forward(ctx, u, v):
        ctx.save_for_backward(u, v)
        return u * v.exp()

    @staticmethod
    def backward(ctx, grad_output):
        u, v = ctx.saved_tensors
        grad_u = grad_output * v.exp() if ctx.needs_input_grad[0] else None
        grad_v = grad_output * u * v.exp() if ctx.needs_input_grad[1] else None
        return grad_u, grad_v


@keeper(inputs=ROW)
class Total(F):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.sum()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.expand(ctx.shape)


@keeper(inputs=ROW)
class ByClassmethod(F):
    @classmethod
    def forward(cls, ctx, x):
        y = cls.squashed(x)
        ctx.save_for_backward(y)
        return y

    @classmethod
    def backward(cls, ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (1 - y * y)

    @staticmethod
    def squashed(x):
        return x.tanh()


class CubeBackward(F):
    @staticmethod
    def forward(ctx, x, grad_output):
        ctx.save_for_backward(x, grad_output)
        return 3 * x * x * grad_output

    @staticmethod
    def backward(ctx, grad_grad):
        x, grad_output = ctx.saved_tensors
        return 6 * x * grad_output * grad_grad, 3 * x * x * grad_grad


@keeper(inputs=(Input("x", shape=(1, 2, 4, 4), value=tuple(((7 * k) % 32) / 9 - 1.5 for k in range(32))),))
class PoolsImages(F):
    @staticmethod
    def forward(ctx, x):
        y, index = torch.nn.functional.max_pool2d(x, 2, return_indices=True)
        ctx.save_for_backward(index)
        ctx.shape = x.shape
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (index,) = ctx.saved_tensors
        return torch.nn.functional.max_unpool2d(grad_output.contiguous(), index, 2, output_size=ctx.shape)


@keeper(inputs=ROW)
class ClonesBeforeItWrites(F):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_x = grad_output.clone()
        grad_x[x < 0] = 0
        return grad_x


EPSILON = 1e-6


@keeper()
class ReadsAConstant(F):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x * x + EPSILON).sqrt()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x / (x * x + EPSILON).sqrt()


# Each differs from a right one in a method or two.

variant(F, "ForComplexToo", forward=keeping(torch.exp), backward=of(lambda g, y: g * y.conj()))
variant(F, "Transposed", inputs=MATRIX, forward=lambda ctx, x: x.t().contiguous(), backward=lambda ctx, g: g.t())
variant(
    F,
    "Kinked",
    forward=saving(lambda x: x.abs().clamp(max=1.5)),
    backward=of(lambda g, x: g * x.sign() * (x.abs() < 1.5)),
)
variant(F, "Huge", forward=saving(lambda x: 1e9 * x**2), backward=of(lambda g, x: 2e9 * x * g))
variant(F, "Tiny", forward=saving(lambda x: 1e-9 * x.sin()), backward=of(lambda g, x: 1e-9 * x.cos() * g))
variant(
    F,
    "SeveralOutputs",
    inputs=TWO,
    outputs=("y", "z"),
    forward=saving(lambda u, v: (u * v, u.sin())),
    backward=lambda ctx, y, z: (y * ctx.saved_tensors[1] + z * ctx.saved_tensors[0].cos(), y * ctx.saved_tensors[0]),
)
variant(
    F, "Linear", inputs=WEIGHTS, forward=saving(lambda x, w: x @ w.t()), backward=of(lambda g, x, w: (g @ w, g.t() @ x))
)
variant(Cube, "CubeInTwo", backward=of(lambda g, x: CubeBackward.apply(x, g)))
if hasattr(F, "boxed_grads_call"):  # which an older torch does not know
    variant(Square, "Boxed", boxed_grads_call=True, backward=of(lambda grads, x: 2 * x * grads.pop()))
variant(Square, "ReadsSavedOnce", clear_saved_tensors_on_access=True)
variant(
    F,
    "AmongOthers",
    inputs=TWO,
    call=lambda cls: lambda u, v: torch.tanh(cls.apply(u * 2, v.exp())) + u,
    forward=saving(torch.div),
    backward=of(lambda g, a, b: (g / b, -g * a / (b * b))),
)
variant(F, "Inverse", inputs=SQUARE, forward=keeping(torch.linalg.inv), backward=of(lambda g, y: -y.mT @ g @ y.mT))
variant(
    F,
    "Normalised",
    inputs=ROW,
    forward=saving(lambda x: x / x.norm()),
    backward=of(lambda g, x: g / x.norm() - x * (g @ x) / x.norm() ** 3),
)
