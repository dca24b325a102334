"""Functions that break the contract of autograd, each in one way, and the check that has to name it."""

from dataclasses import dataclass

import numpy as np
import torch
from torch.autograd.function import once_differentiable

from functions.basics import Cube, Double, Identity, Product, Square, altered, keeping, of, saving
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


def breach(id_, level="error", also=(), inputs=X, call=None, **words):
    """Takes a class into the list; ``call`` makes the op's of it, and the other words are the op's too."""

    def taken(function: type) -> type:
        words_of_call = {"call": call(function)} if call else {}
        op = Op(function, function.__name__, "tests", "", "", inputs, broken="yes", **words, **words_of_call)
        BREACHES.append(Breach(id_, op, level, also))
        return function

    return taken


def hiding(name, value):
    """A forward that writes over what ctx has."""

    def forward(ctx, x):
        setattr(ctx, name, value)
        return 2 * x

    return forward


def variant(id_, name, base=F, level="error", also=(), inputs=X, value=None, pull=None, **words):
    """Takes a Function into the list that differs from another one in these methods; the other words are the op's.

    ``value`` is what forward returns of tensors that it saves, ``pull`` what backward does of grad_output and those.
    """
    methods = {each: words.pop(each) for each in set(words) - {"parameters", "outputs"}}
    methods |= {"forward": saving(value)} if value else {}
    methods |= {"backward": of(pull)} if pull else {}
    return breach(id_, level, also, inputs, **words)(altered(base, name, **methods))


@breach("GRAD-COUNT", parameters=K)
class OneTooFew(F):
    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        return k * x

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.k * grad_output


OneTooMany = variant("GRAD-COUNT", "OneTooMany", Square, pull=lambda g, x: (2 * x * g, g))
InAList = variant("GRAD-COUNT", "InAList", Product, inputs=TWO, pull=lambda g, u, v: [v * g, u * g])


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


@breach("GRADOUT-STRIDES", also=("SECOND-ORDER",))
class ReadsMemory(Square):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        memory = torch.tensor([], dtype=grad_output.dtype).set_(grad_output.untyped_storage())
        return 2 * x * memory[grad_output.storage_offset() :][: x.numel()].reshape(x.shape)


def nothing_for_much(g, u, v):
    """None for v where grad_output is large."""
    return v * g, u * g if float(g.abs().max()) < 2 else None


variant("NONLINEAR", "NothingForMuch", Product, inputs=TWO, pull=nothing_for_much)
for name, pull in {
    "HeedsTheSign": lambda g, x: 2 * x * g * (g > 0),
    "Clips": lambda g, x: 2 * x * g.clamp(-0.6, 0.6),
    "Normalises": lambda g, x: 2 * x * g / g.norm(),
    "Forgets": lambda g, x: 2 * x,
    "AddsDecay": lambda g, x: 2 * x * g + 0.01 * x,
}.items():
    variant("NONLINEAR", name, Square, also=("SECOND-ORDER",), pull=pull)


@breach("CTX-TENSOR", "warning", also=("STALE-INPUT",))
class OnCtx(F):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * ctx.x * grad_output


@breach("STALE-INPUT", "warning", also=("SECOND-ORDER",))
class AsNumpy(F):
    @staticmethod
    def forward(ctx, x):
        ctx.array = x.detach().numpy()
        return x * x

    @staticmethod
    @once_differentiable
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


@breach("SAVED-UNUSED", "warning", also=("GRADIENT",))
class ForgetsTheMask(Identity):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(-1, 1)


def saves_between(ctx, x):
    ctx.save_for_backward(1 - x.tanh() ** 2)
    return x.tanh()


sloped = once_differentiable(of(lambda g, slope: g * slope))
variant("SAVED-INTERMEDIATE", "SavesBetween", F, "note", forward=saves_between, backward=sloped)


@breach("CTX-SHADOW", "warning")
class HidesTheName(Double):
    @staticmethod
    def forward(ctx, x):
        ctx.name = "mine"
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


@breach("UNUSED-OUTPUT", outputs=("y", "z"))
class AddsNone(F):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return 2 * x, 3 * x

    @staticmethod
    def backward(ctx, grad_y, grad_z):
        return 2 * grad_y + 3 * grad_z


@breach("LIST-OUT", outputs=("y", "z"))
class ReturnsAList(F):
    @staticmethod
    def forward(ctx, x):
        return [2 * x, 3 * x]

    @staticmethod
    def backward(ctx, grad_y, grad_z):
        return 2 * grad_y + 3 * grad_z


@breach("DIRTY-MISSING")
class EditsItsInput(Double):
    @staticmethod
    def forward(ctx, x):
        return x.mul_(2)


def edits_past_autograd(ctx, x):
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


@breach("BWD-REPEAT", also=("CTX-TENSOR", "SECOND-ORDER"))
class ChangesWhatItKept(F):
    @staticmethod
    def forward(ctx, x):
        ctx.e = x.exp()
        return ctx.e.clone()

    @staticmethod
    @once_differentiable
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


@breach("RANDOM-BACKWARD", "warning")
class Noisy(Double):
    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output + 0.1 * torch.randn_like(grad_output)


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
    @once_differentiable
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


@breach("SECOND-ORDER", "warning", also=("CTX-TENSOR",))
class IntermediateOnCtx(F):
    @staticmethod
    def forward(ctx, x):
        ctx.e = x.exp()
        return ctx.e - 1 / ctx.e

    @staticmethod
    def backward(ctx, grad_output):
        return (ctx.e + 1 / ctx.e) * grad_output


HoleAtZero = variant(
    *("NONFINITE", "HoleAtZero", F, "error", ("GRADIENT",), ROW),
    value=lambda x: torch.where(x > 0, x.abs().sqrt(), 0.0),
    pull=lambda g, x: g * (x > 0) / (2 * x.clamp(min=0).sqrt()),
)


# Divides infinity by infinity far below 0, in float32 alone.
variant(
    *("NONFINITE", "SlopeOfSigmoid"),
    inputs=(Input("x", domain=(-200.0, 200.0)),),
    value=torch.sigmoid,
    pull=lambda g, x: g * torch.exp(-x) / (1 + torch.exp(-x)) ** 2,
)


def in_double_precision(x):
    assert x.dtype == torch.float64, "double precision only"
    return x * x


variant("DTYPES", "OnlyDouble", Square, "note", value=in_double_precision)


@breach("NO-BACKWARD", "note")
class NotStatic(F):
    def forward(ctx, x):
        return 2 * x

    def backward(ctx, grad_output):
        return 2 * grad_output


@breach("NO-BACKWARD", "warning")
class Legacy(NotStatic):
    def __init__(self, factor):
        self.factor = factor


breach("NESTED-ARG", inputs=TWO, call=lambda cls: lambda u, v: cls.apply([u, v]))(
    altered(F, "TakesAList", forward=lambda ctx, tensors: tensors[0] * tensors[1], backward=lambda ctx, g: None)
)


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


DiagonalOfSoftmax = variant(
    *("GRADIENT", "DiagonalOfSoftmax"),
    inputs=ROW,
    forward=keeping(lambda x: x.softmax(-1)),
    pull=lambda g, y: g * y * (1 - y),
)
slope_of_cube = {
    "forward": saving(lambda g, x: 3 * x**2 * g),
    "backward": of(lambda gg, g, x: (3 * x * gg, 6 * x * g * gg)),
}
SlopeOfCube = altered(F, "SlopeOfCube", **slope_of_cube)
# Its double backward is right by x, and wrong by grad_output.
WrongByGradOutput = variant("SECOND-ORDER", "WrongByGradOutput", Cube, pull=lambda g, x: SlopeOfCube.apply(g, x))


def no_second_derivative(ctx, g):
    raise NotImplementedError("no second derivative")


Undifferentiated = altered(F, "Undifferentiated", forward=lambda ctx, g, x: 2 * x * g, backward=no_second_derivative)


def keeps(ctx, x, kept):
    """2x, which keeps something beside it."""
    ctx.kept = kept
    return 2 * x


def drops(ctx, x):
    mask = (torch.rand_like(x) > 0.5).to(x.dtype)
    ctx.save_for_backward(mask)
    return x * mask


def for_a_number(ctx, g):
    (x,) = ctx.saved_tensors
    return ctx.k * g, (x * g).sum()


def times_a_number(ctx, x, k):
    ctx.save_for_backward(x)
    ctx.k = k
    return k * x


PAIR = {"outputs": ("y", "z")}
MATRICES = (
    Input("a", shape=(2, 3), value=(1.0, 2.0, -1.0, 0.5, 0.3, 1.5)),
    Input("b", shape=(3, 4), value=tuple(0.3 * k - 1.6 for k in range(12))),
)
WITH_BIAS = (Input("x", shape=(2, 3), value=0.5), Input("bias", shape=(3,), value=0.2))
ROWS = (Input("u", shape=(3,), value=(1.0, 2.0, 0.5)), Input("v", shape=(3,), value=(0.7, -1.1, 1.9)))
THREE = (*TWO, Input("w", value=0.7))

variant("GRAD-SHAPE", "OneNumberForAll", Square, inputs=ROW, pull=lambda g, x: (2 * x * g).sum())
variant("GRAD-SHAPE", "SwappedMatrices", inputs=MATRICES, value=torch.matmul, pull=lambda g, a, b: (a.T @ g, g @ b.T))
LeavesTheSum = variant(
    *("GRAD-SHAPE-REDUCED", "LeavesTheSum", F, "note"),
    inputs=WITH_BIAS,
    forward=lambda ctx, x, bias: x + bias,
    backward=lambda ctx, g: (g, g),
)
variant("SWAPPED", "SwappedRows", Product, inputs=ROWS, pull=lambda g, u, v: (u * g, v * g))
variant("GRAD-DTYPE", "InFloat32", Square, "warning", pull=lambda g, x: (2 * x * g).float())
variant(
    *("GRAD-DTYPE", "OfBooleans", Identity, "warning"),
    forward=lambda ctx, x: x.round(),
    backward=lambda ctx, g: torch.zeros_like(g, dtype=torch.bool),
)
variant("GRAD-DEVICE", "OnAnotherDevice", Square, backward=lambda ctx, g: torch.empty_like(g, device="meta"))
variant("GRAD-NONE", "NoneForOne", Product, inputs=TWO, pull=lambda g, u, v: (v * g, None))
variant("NEEDS-INPUT-GRAD", "InVain", Product, "note", inputs=TWO)
variant(
    *("GRADOUT-STRIDES", "ViewsIt", Square),
    inputs=MATRIX,
    pull=lambda g, x: (2 * x.reshape(-1) * g.view(-1)).reshape(x.shape),
)
variant("SAVED-UNUSED", "SavesForNothing", Double, "note", value=lambda x: 2 * x)
variant("CTX-SHADOW", "HidesTheClass", Double, forward=hiding("_forward_cls", 3))
HidesAHook = variant("CTX-SHADOW", "HidesAHook", Double, "warning", forward=hiding("register_hook", 1))
variant(
    *("OUTPUT-GRAD-IGNORED", "IgnoresTheSecond"),
    value=lambda x: (2 * x, x * x),
    backward=lambda ctx, y, z: 2 * y,
    **PAIR,
)
variant(
    *("NONDIFF-CANDIDATE", "UnmarkedMask", F, "note"),
    value=lambda x: (x.clamp(min=0), (x > 0).to(x.dtype)),
    backward=lambda ctx, y, mask: y * (ctx.saved_tensors[0] > 0),
    **PAIR,
)
variant("RETURNS-INPUT", "ReturnsIt", Identity, "note", forward=lambda ctx, x: x)
variant("RETURNS-VIEW", "ReturnsAView", Identity, "note", forward=lambda ctx, x: x.view(-1))
variant("NO-GRAD-OUT", "OfIntegers", Identity, "note", forward=lambda ctx, x: x.round().long())
variant("NO-GRAD-OUT", "ReturnsANumber", Identity, forward=lambda ctx, x: x.sum().item())
variant("DIRTY-MISSING", "EditsPastAutograd", Double, forward=edits_past_autograd)
variant(
    *("RANDOM-BACKWARD", "NoisyByNumpy", Double, "warning"),
    backward=lambda ctx, g: 2 * g * (1 + 0.1 * float(np.random.rand())),
)
DetachesInBackward = variant(
    "SECOND-ORDER", "DetachesInBackward", Square, "warning", pull=lambda g, x: 2 * x.detach() * g
)
variant(
    *("SECOND-ORDER", "NumpyUndeclared", Square, "warning"),
    pull=lambda g, x: torch.from_numpy(2 * x.detach().numpy()) * g,
)
variant("SECOND-ORDER", "RaisesTwice", Square, "warning", pull=lambda g, x: Undifferentiated.apply(g, x))
variant("ONCE-DIFF", "Once", Square, "note", backward=once_differentiable(of(lambda g, x: 2 * x * g)))
variant("NO-BACKWARD", "NoBackward", forward=lambda ctx, x: x * x)
variant("NO-BACKWARD", "BothNames", Square, vjp=of(lambda g, x: 2 * x * g))
variant("SETUP-CONTEXT", "OldStyle", Square, "note")
if hasattr(F, "boxed_grads_call"):  # which an older torch does not know
    variant("NEW-FLAGS", "Boxed", Square, "note", boxed_grads_call=True, pull=lambda grads, x: 2 * x * grads.pop())
# u·v with a gradient that is that of no function.
variant("GRADIENT", "Curled", Product, inputs=TWO, pull=lambda g, u, v: ((v - v**3) * g, (u + u**3) * g))
variant(
    *("GRADIENT", "NoneForOneAndTwiceTheOther", Product),
    inputs=TWO,
    also=("GRAD-NONE",),
    pull=lambda g, u, v: (2 * v * g, None),
)
variant(
    *("GRADIENT", "SwapsTwoAndMistakesTheThird"),
    inputs=THREE,
    also=("SWAPPED",),
    value=lambda u, v, w: u * v**2 * w,
    pull=lambda g, u, v, w: (2 * u * v * w * g, v**2 * w * g, 3 * u * v**2 * g),
)
variant(
    *("GRADIENT", "IgnoresAnOutputAndAFactor"),
    inputs=TWO,
    also=("OUTPUT-GRAD-IGNORED",),
    value=lambda u, v: (u * v, v**2),
    backward=lambda ctx, y, z: (3 * ctx.saved_tensors[1] * y, ctx.saved_tensors[0] * y),
    **PAIR,
)
variant("GRADIENT", "ShortAndHalved", Square, also=("GRAD-DTYPE",), pull=lambda g, x: (x * g).float())
# Right where a is symmetric, as it is declared.
variant(
    *("GRADIENT", "InverseOfSymmetric"),
    inputs=(Input("a", shape=(2, 2), value=(2.0, 0.5, 0.5, 1.0)),),
    forward=keeping(torch.linalg.inv),
    pull=lambda g, y: -y @ g @ y,
)
variant("GRAD-NONTENSOR", "ForANumber", parameters=K, forward=times_a_number, backward=for_a_number)
variant(
    *("EMPTY", "Largest", F, "note"),
    inputs=ROW,
    value=lambda x: x.max(dim=0).values,
    pull=lambda g, x: g * torch.nn.functional.one_hot(x.argmax(), x.numel()),
)
variant("NONFINITE", "LengthWithAHole", inputs=ROW, value=lambda x: x.norm(), pull=lambda g, x: g * x / x.norm())
variant("RANDOM-FORWARD", "Drops", F, "note", forward=drops, pull=lambda g, mask: g * mask)
variant(
    *("CTX-TENSOR", "DeepOnCtx", Double, "warning"), forward=lambda ctx, x: keeps(ctx, x, {"kept": {"twice": [2 * x]}})
)
variant(
    *("STALE-INPUT", "OnCtxInAList", F, "warning", ("CTX-TENSOR",)),
    forward=lambda ctx, x: keeps(ctx, x, [x]) * x / 2,
    backward=lambda ctx, g: 2 * ctx.kept[0] * g,
)
# Rounds, and returns ones whatever it is handed, which no surrogate calls for.
OnesForAll = altered(
    Identity, "OnesForAll", forward=lambda ctx, x: x.round(), backward=lambda ctx, g: torch.ones_like(g)
)
of_identity = Op(OnesForAll, "OnesForAll", "tests", "", "", X, surrogate=lambda x: x, surrogate_formula="x")
BREACHES.append(Breach("NONLINEAR", of_identity))
