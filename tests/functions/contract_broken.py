"""Functions that break the contract of autograd, each in one way, and the check that has to name it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from functions.basics import Cube, Double, Identity, Product, Square
from gradloupe.ops import Input, Op, Parameter

F = torch.autograd.Function
X = (Input("x"),)
TWO = (Input("u", value=2.0), Input("v", value=1.5))
ROW = (Input("x", shape=(4,), value=(1.0, -0.5, 2.0, 0.3)),)
MATRIX = (Input("x", shape=(2, 3), value=(1.0, -0.5, 2.0, 0.3, -1.2, 0.7)),)
K = (Parameter("k", 3.0),)


@dataclass(frozen=True)
class Breach:
    """An op, the check it has to raise, and how gravely; ``also`` are errors and warnings that cannot but follow."""

    id: str
    op: Op
    level: str = "error"
    also: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.op.function.__name__


BREACHES: list[Breach] = []


def breach(
    id_: str,
    level: str = "error",
    inputs: tuple[Input, ...] = X,
    parameters: tuple[Parameter, ...] = (),
    also: tuple[str, ...] = (),
    outputs: tuple[str, ...] = ("y",),
    call: Callable[[Any], Callable[..., Any]] | None = None,
) -> Callable[[type], type]:
    """Takes a class into the list."""

    def taken(function: type) -> type:
        op = Op(
            function,
            function.__name__,
            "tests",
            "",
            "",
            inputs,
            parameters,
            outputs=outputs,
            call=call and call(function),
            broken="yes",
        )
        BREACHES.append(Breach(id_, op, level, also))
        return function

    return taken


# What backward returns


@breach("GRAD-COUNT", parameters=K)
class OneTooFew(F):
    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        return k * x

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.k * grad_output


@breach("GRAD-COUNT")
class OneTooMany(Square):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output, grad_output


@breach("GRAD-COUNT", inputs=TWO)
class InAList(Product):
    @staticmethod
    def backward(ctx, grad_output):
        u, v = ctx.saved_tensors
        return [v * grad_output, u * grad_output]


@breach("GRAD-NONTENSOR", parameters=K)
class ForANumber(F):
    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x)
        ctx.k = k
        return k * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return ctx.k * grad_output, (x * grad_output).sum()


@breach("GRAD-SHAPE", inputs=ROW)
class OneNumberForAll(Square):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return (2 * x * grad_output).sum()


@breach(
    "GRAD-SHAPE",
    inputs=(
        Input("a", shape=(2, 3), value=(1.0, 2.0, -1.0, 0.5, 0.3, 1.5)),
        Input("b", shape=(3, 4), value=tuple(0.3 * k - 1.6 for k in range(12))),
    ),
)
class SwappedMatrices(F):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        return a.T @ grad_output, grad_output @ b.T


@breach(
    "GRAD-SHAPE-REDUCED", "note", inputs=(Input("x", shape=(2, 3), value=0.5), Input("bias", shape=(3,), value=0.2))
)
class LeavesTheSum(F):
    @staticmethod
    def forward(ctx, x, bias):
        return x + bias

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, grad_output


@breach("SWAPPED", inputs=TWO)
class Swapped(Product):
    @staticmethod
    def forward(ctx, u, v):
        ctx.save_for_backward(u, v)
        return u * v**2

    @staticmethod
    def backward(ctx, grad_output):
        u, v = ctx.saved_tensors
        return 2 * u * v * grad_output, v**2 * grad_output


@breach(
    "SWAPPED",
    inputs=(
        *(Input(name, shape=(3,), value=value) for name, value in (("u", (1.0, 2.0, 0.5)), ("v", (0.7, -1.1, 1.9)))),
    ),
)
class SwappedRows(Product):
    @staticmethod
    def backward(ctx, grad_output):
        u, v = ctx.saved_tensors
        return u * grad_output, v * grad_output


@breach("GRAD-DTYPE", "warning")
class InFloat32(Square):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return (2 * x * grad_output).float()


@breach("GRAD-DTYPE", "warning")
class OfBooleans(F):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad_output):
        return torch.zeros_like(grad_output, dtype=torch.bool)


@breach("GRAD-DEVICE")
class OnAnotherDevice(Square):
    @staticmethod
    def backward(ctx, grad_output):
        return torch.empty_like(grad_output, device="meta")


@breach("GRAD-NONE", inputs=TWO)
class NoneForOne(Product):
    @staticmethod
    def backward(ctx, grad_output):
        _, v = ctx.saved_tensors
        return v * grad_output, None


@breach("NEEDS-INPUT-GRAD", "note", inputs=TWO)
class InVain(Product):
    pass


@breach("NEEDS-INPUT-GRAD", "warning", inputs=TWO)
class OnlyBoth(Product):
    @staticmethod
    def backward(ctx, grad_output):
        u, v = ctx.saved_tensors
        assert all(ctx.needs_input_grad), "both or none"
        return v * grad_output, u * grad_output


@breach("BACKWARD-RAISED")
class Raises(Square):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x.nothing * grad_output


# What backward is handed


@breach("INPUT-INPLACE", inputs=TWO, also=("BWD-REPEAT", "SECOND-ORDER"))
class WritesToItsInputs(Product):
    """As a kernel does that saves memory: no version counter sees it."""

    @staticmethod
    def backward(ctx, grad_output):
        u, v = ctx.saved_tensors
        of_u, of_v = v * grad_output, u * grad_output
        u.data.copy_(of_u)
        v.data.copy_(of_v)
        return u, v


@breach("GRADOUT-INPLACE")
class WritesToIt(F):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(max=1)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_output[x > 1] = 0
        return grad_output


@breach("GRADOUT-INPLACE")
class WritesPastAutograd(Square):
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        g.data.mul_(2 * x)
        return g


@breach("GRADOUT-STRIDES", inputs=MATRIX)
class ViewsIt(Square):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return (2 * x.reshape(-1) * grad_output.view(-1)).reshape(x.shape)


@breach("GRADOUT-STRIDES", also=("SECOND-ORDER",))
class ReadsMemory(Square):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        memory = torch.tensor([], dtype=grad_output.dtype).set_(grad_output.untyped_storage())
        return 2 * x * memory[grad_output.storage_offset() :][: x.numel()].reshape(x.shape)


def law(name: str) -> Callable[[Callable[..., Any]], None]:
    def taken(backward: Callable[..., Any]) -> None:
        body = {"backward": staticmethod(lambda ctx, g: backward(ctx.saved_tensors[0], g)), "__module__": __name__}
        breach("NONLINEAR", also=("SECOND-ORDER",))(type(name, (Square,), body))

    return taken


@law("HeedsTheSign")
def heeds_the_sign(x, g):
    return 2 * x * g * (g > 0)


@law("Clips")
def clips(x, g):
    return 2 * x * g.clamp(-0.6, 0.6)


@law("Normalises")
def normalises(x, g):
    return 2 * x * g / g.norm()


@law("Forgets")
def forgets(x, g):
    return 2 * x


@law("AddsDecay")
def adds_decay(x, g):
    return 2 * x * g + 0.01 * x


# What forward keeps


@breach("CTX-TENSOR", "warning", also=("STALE-INPUT",))
class OnCtx(F):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * ctx.x * grad_output


@breach("STALE-INPUT", "warning", also=("CTX-TENSOR",))
class OnCtxInAList(F):
    @staticmethod
    def forward(ctx, x):
        ctx.kept = [x]
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * ctx.kept[0] * grad_output


@breach("STALE-INPUT", "warning", also=("SECOND-ORDER",))
class AsNumpy(F):
    @staticmethod
    def forward(ctx, x):
        ctx.array = x.detach().numpy()
        return x * x

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):
        return 2 * torch.from_numpy(ctx.array.copy()) * grad_output


@breach("CTX-CYCLE", "warning", also=("CTX-TENSOR",))
class KeepsItsOutput(F):
    @staticmethod
    def forward(ctx, x):
        ctx.y = x.exp()
        return ctx.y

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.y * grad_output


@breach("SAVED-UNUSED", "note")
class SavesForNothing(Double):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 2 * x


@breach("SAVED-UNUSED", "warning", also=("GRADIENT",))
class ForgetsTheMask(Identity):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(-1, 1)


@breach("SAVED-INTERMEDIATE", "note")
class SavesBetween(F):
    @staticmethod
    def forward(ctx, x):
        t = x.tanh()
        ctx.save_for_backward(1 - t * t)
        return t * 1

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):
        (slope,) = ctx.saved_tensors
        return slope * grad_output


@breach("CTX-SHADOW", "warning")
class HidesTheName(Double):
    @staticmethod
    def forward(ctx, x):
        ctx.name = "mine"
        return 2 * x


@breach("CTX-SHADOW")
class HidesTheClass(Double):
    @staticmethod
    def forward(ctx, x):
        ctx._forward_cls = 3
        return 2 * x


@breach("CTX-SHADOW")
class SavesByHand(F):
    @staticmethod
    def forward(ctx, x):
        ctx.saved_tensors = (x,)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * ctx.saved_tensors[0] * grad_output


# What forward returns


@breach("OUTPUT-GRAD-IGNORED", outputs=("y", "z"))
class IgnoresTheSecond(F):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 2 * x, x * x

    @staticmethod
    def backward(ctx, grad_y, grad_z):
        return 2 * grad_y


@breach("NONDIFF-CANDIDATE", "note", outputs=("y", "mask"))
class UnmarkedMask(F):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0), (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_y, grad_mask):
        (x,) = ctx.saved_tensors
        return grad_y * (x > 0)


@breach("UNUSED-OUTPUT", outputs=("y", "z"))
class AddsNone(F):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return 2 * x, 3 * x

    @staticmethod
    def backward(ctx, grad_y, grad_z):
        return 2 * grad_y + 3 * grad_z


@breach("RETURNS-INPUT", "note")
class ReturnsIt(Identity):
    @staticmethod
    def forward(ctx, x):
        return x


@breach("RETURNS-VIEW", "note")
class ReturnsAView(Identity):
    @staticmethod
    def forward(ctx, x):
        return x.view(-1)


@breach("LIST-OUT", outputs=("y", "z"))
class ReturnsAList(F):
    @staticmethod
    def forward(ctx, x):
        return [2 * x, 3 * x]

    @staticmethod
    def backward(ctx, grad_y, grad_z):
        return 2 * grad_y + 3 * grad_z


@breach("NO-GRAD-OUT", "note")
class OfIntegers(Identity):
    @staticmethod
    def forward(ctx, x):
        return x.round().long()


@breach("NO-GRAD-OUT")
class ReturnsANumber(Identity):
    @staticmethod
    def forward(ctx, x):
        return x.sum().item()


@breach("DIRTY-MISSING")
class EditsItsInput(Double):
    @staticmethod
    def forward(ctx, x):
        return x.mul_(2)


@breach("DIRTY-MISSING")
class EditsPastAutograd(Double):
    @staticmethod
    def forward(ctx, x):
        x.data.clamp_(-1, 1)
        return 2 * x


@breach("DIRTY-NOT-RETURNED")
class DirtyAndGone(Double):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x + 1


@breach("FORWARD-RAISED")
class NeedsTwoDimensions(Identity):
    @staticmethod
    def forward(ctx, x):
        return x[:, :2] * 2


# Does it repeat itself


@breach("BWD-REPEAT", also=("CTX-TENSOR", "SECOND-ORDER"))
class ChangesWhatItKept(F):
    @staticmethod
    def forward(ctx, x):
        ctx.e = x.exp()
        return ctx.e.clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):
        return ctx.e.mul_(grad_output)


@breach("BWD-REPEAT", "warning")
class FreesWhatItKept(F):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.factor = 2
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        factor = ctx.factor
        del ctx.factor
        return factor * x * grad_output


@breach("RANDOM-FORWARD", "note")
class Drops(F):
    @staticmethod
    def forward(ctx, x):
        mask = (torch.rand_like(x) > 0.5).to(x.dtype)
        ctx.save_for_backward(mask)
        return x * mask

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return grad_output * mask


@breach("RANDOM-BACKWARD", "warning")
class Noisy(Double):
    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output + 0.1 * torch.randn_like(grad_output)


@breach("RANDOM-BACKWARD", "warning")
class NoisyByNumpy(Double):
    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output * (1 + 0.1 * float(np.random.rand()))


@breach("STATEFUL-FORWARD", "warning")
class Counts(Identity):
    calls = 0

    @staticmethod
    def forward(ctx, x):
        Counts.calls += 1
        return x + 0.001 * Counts.calls


@breach("NONDET-BACKWARD")
class CountsBackwards(Identity):
    calls = 0

    @staticmethod
    def backward(ctx, grad_output):
        CountsBackwards.calls += 1
        return grad_output * CountsBackwards.calls


@breach("GLOBAL-STATE", also=("SECOND-ORDER",))
class OnTheClass(F):
    kept = None

    @staticmethod
    def forward(ctx, x):
        OnTheClass.kept = x
        return x * x

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):
        return 2 * OnTheClass.kept.detach() * grad_output


@breach("LATE-READ", "warning")
class ReadsLate(F):
    scale = 2.0

    @staticmethod
    def forward(ctx, x):
        return x * ReadsLate.scale

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ReadsLate.scale


STRENGTH = 2.0


def strengthen(by: float) -> None:
    global STRENGTH
    STRENGTH = by


@breach("LATE-READ", "warning")
class ReadsAGlobalLate(F):
    @staticmethod
    def forward(ctx, x):
        return x * STRENGTH

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * STRENGTH


@breach("FWD-GRADMODE", "warning")
class OtherInTraining(Double):
    @staticmethod
    def forward(ctx, x):
        return 2 * x if ctx.needs_input_grad[0] else 2 * x + 1


# Second derivatives, numbers, how it is written


@breach("SECOND-ORDER", "warning", also=("CTX-TENSOR",))
class IntermediateOnCtx(F):
    @staticmethod
    def forward(ctx, x):
        ctx.e = x.exp()
        return ctx.e - 1 / ctx.e

    @staticmethod
    def backward(ctx, grad_output):
        return (ctx.e + 1 / ctx.e) * grad_output


@breach("SECOND-ORDER", "warning")
class DetachesInBackward(Square):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x.detach() * grad_output


@breach("SECOND-ORDER", "warning")
class NumpyUndeclared(Square):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.from_numpy(2 * x.detach().numpy()) * grad_output


@breach("SECOND-ORDER", "warning")
class RaisesWhereItIsDifferentiated(Square):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return Undifferentiated.apply(grad_output, x)


class Undifferentiated(F):
    @staticmethod
    def forward(ctx, grad_output, x):
        return 2 * x * grad_output

    @staticmethod
    def backward(ctx, grad_output):
        raise NotImplementedError("no second derivative")


@breach("ONCE-DIFF", "note")
class Once(Square):
    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


@breach("NONFINITE", inputs=ROW, also=("GRADIENT",))
class HoleAtZero(F):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x > 0, x.abs().sqrt(), 0.0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0) / (2 * x.clamp(min=0).sqrt())


@breach("DTYPES", "note")
class OnlyDouble(Square):
    @staticmethod
    def forward(ctx, x):
        assert x.dtype == torch.float64, "double precision only"
        ctx.save_for_backward(x)
        return x * x


@breach("EMPTY", "note", inputs=ROW)
class Largest(F):
    @staticmethod
    def forward(ctx, x):
        y, index = x.max(dim=0)
        ctx.save_for_backward(index)
        ctx.count = x.numel()
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (index,) = ctx.saved_tensors
        return grad_output * torch.nn.functional.one_hot(index, ctx.count)


@breach("NO-BACKWARD")
class NoBackward(F):
    @staticmethod
    def forward(ctx, x):
        return x * x


@breach("NO-BACKWARD")
class BothNames(Square):
    @staticmethod
    def vjp(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


@breach("NO-BACKWARD", "warning")
class Legacy(F):
    def __init__(self, factor):
        self.factor = factor

    def forward(self, x):
        return 2 * x

    def backward(self, grad_output):
        return 2 * grad_output


@breach("NO-BACKWARD", "note")
class NotStatic(F):
    def forward(ctx, x):
        return 2 * x

    def backward(ctx, grad_output):
        return 2 * grad_output


@breach("NESTED-ARG", inputs=TWO, call=lambda cls: lambda u, v: cls.apply([u, v]))
class TakesAList(F):
    @staticmethod
    def forward(ctx, tensors):
        return tensors[0] * tensors[1]

    @staticmethod
    def backward(ctx, grad_output):
        return None


@breach("SETUP-CONTEXT", "note")
class OldStyle(Square):
    pass


@breach("NEW-FLAGS", "note")
class Boxed(Square):
    boxed_grads_call = True

    @staticmethod
    def backward(ctx, grads):
        (x,) = ctx.saved_tensors
        return 2 * x * grads.pop()


@breach("JVP")
class WrongForwardMode(Square):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return x * x

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return tangent * x


# The derivative itself


@breach("GRADIENT", inputs=ROW)
class DiagonalOfSoftmax(F):
    @staticmethod
    def forward(ctx, x):
        y = x.softmax(-1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y * (1 - y)


@breach("GRADIENT", inputs=TWO)
class Curled(Product):
    """u·v with a gradient that is that of no function."""

    @staticmethod
    def backward(ctx, grad_output):
        u, v = ctx.saved_tensors
        return (v - v**3) * grad_output, (u + u**3) * grad_output


# Wrong in one input, and in another for a reason of its own.


@breach("GRADIENT", inputs=TWO, also=("GRAD-NONE",))
class NoneForOneAndTwiceTheOther(Product):
    @staticmethod
    def backward(ctx, grad_output):
        _, v = ctx.saved_tensors
        return 2 * v * grad_output, None


@breach("GRADIENT", inputs=(*TWO, Input("w", value=0.7)), also=("SWAPPED",))
class SwapsTwoAndMistakesTheThird(F):
    @staticmethod
    def forward(ctx, u, v, w):
        ctx.save_for_backward(u, v, w)
        return u * v**2 * w

    @staticmethod
    def backward(ctx, grad_output):
        u, v, w = ctx.saved_tensors
        return 2 * u * v * w * grad_output, v**2 * w * grad_output, 3 * u * v**2 * grad_output


@breach("GRADIENT", inputs=TWO, outputs=("y", "z"), also=("OUTPUT-GRAD-IGNORED",))
class IgnoresAnOutputAndAFactor(F):
    @staticmethod
    def forward(ctx, u, v):
        ctx.save_for_backward(u, v)
        return u * v, v**2

    @staticmethod
    def backward(ctx, grad_y, grad_z):
        u, v = ctx.saved_tensors
        return 3 * v * grad_y, u * grad_y


@breach("GRADIENT", also=("GRAD-DTYPE",))
class ShortAndHalved(Square):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return (x * grad_output).float()


@breach("GRADIENT", inputs=(Input("a", shape=(2, 2), value=(2.0, 0.5, 0.5, 1.0)),))
class InverseOfSymmetric(F):
    """Right where a is symmetric, as it is declared."""

    @staticmethod
    def forward(ctx, a):
        y = torch.linalg.inv(a)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return -y @ grad_output @ y


class OnesForAll(F):
    """Rounds, and returns ones whatever it is handed, which no surrogate calls for."""

    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad_output):
        return torch.ones_like(grad_output)


BREACHES.append(
    Breach(
        "NONLINEAR",
        Op(OnesForAll, "OnesForAll", "tests", "", "", X, surrogate=lambda x: x, surrogate_formula="x"),
        "error",
    )
)


@breach("SECOND-ORDER")
class WrongByGradOutput(Cube):
    """x³ whose double backward is right by x, and wrong by grad_output."""

    @staticmethod
    def backward(ctx, grad_output):
        return SlopeOfCube.apply(grad_output, *ctx.saved_tensors)


class SlopeOfCube(F):
    @staticmethod
    def forward(ctx, grad_output, x):
        ctx.save_for_backward(grad_output, x)
        return 3 * x**2 * grad_output

    @staticmethod
    def backward(ctx, gg):
        grad_output, x = ctx.saved_tensors
        return 3 * x * gg, 6 * x * grad_output * gg


@breach("NONFINITE", inputs=ROW)
class LengthWithAHole(F):
    @staticmethod
    def forward(ctx, x):
        n = x.norm()
        ctx.save_for_backward(x, n)
        return n

    @staticmethod
    def backward(ctx, grad_output):
        x, n = ctx.saved_tensors
        return grad_output * x / n


@breach("CTX-SHADOW", "warning")
class HidesAHook(Double):
    @staticmethod
    def forward(ctx, x):
        ctx.register_hook = 1
        return 2 * x


@breach("CTX-TENSOR", "warning")
class DeepOnCtx(Double):
    @staticmethod
    def forward(ctx, x):
        ctx.cache = {"kept": {"twice": [2 * x]}}
        return 2 * x
