"""Twenty-two Functions with a bug planted in each, and three that only look as if they had one."""

from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal

import torch
from functions.contract_broken import (
    AddsNone,
    DetachesInBackward,
    DiagonalOfSoftmax,
    EditsItsInput,
    IntermediateOnCtx,
    KeepsItsOutput,
    LeavesTheSum,
    ReadsMemory,
    Swapped,
)
from functions.mistakes import (
    Clips,
    Forgets,
    ForgetsTheConjugate,
    LosesTheSign,
    Noisy,
    ReturnsNone,
    ReturnsTooFew,
    ReturnsTooMany,
    RoundsToFloat32,
    Squares,
    TooMuchByNineTenThousandths,
    TooMuchByTwoThousandths,
    WritesToGradOutput,
    WrongBeyondThree,
)

from gradloupe.ops import Input, Op
from gradloupe.server.catalogue.op_description import measured_shapes

# Where a bug can be seen: on some section of the op, beside the other dtypes, in what the whole Function does,
# or, where there is none, nowhere.
Place = Literal["section", "precision", "contract", "nowhere"]


@dataclass(frozen=True)
class Planted:
    """One row of the table: an op, what is wrong with it, where that is seen, and what gradcheck is asked.

    ``check`` is the check of the contract that finds it, where no section does.
    """

    name: str
    op: Op
    wrong: str
    seen: Place
    asked: tuple[torch.Tensor, ...]
    check: str = ""

    def sections(self) -> list[dict[str, str]]:
        """The sections the page offers: every output element by every input element; the first met comes first."""
        swept = [_named(each.name, index) for each in self.op.inputs for index in _indices(each.shape)]
        outputs = zip(self.op.outputs, measured_shapes(self.op), strict=True)
        looked_at = [_named(name, index) for name, shape in outputs for index in _indices(shape)]
        return [{"wrt": wrt, "of": of} for of, wrt in product(looked_at, swept)]

    def apply(self, *inputs: torch.Tensor) -> Any:
        """The Function with nothing of ours around it, as gradcheck is given it."""
        return self.op(*inputs)


def _indices(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    return list(product(*map(range, shape)))


def _named(name: str, index: tuple[int, ...]) -> str:
    return f"{name}[{','.join(map(str, index))}]" if index else name


class StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


class Blocked(StraightThrough):
    @staticmethod
    def backward(ctx, grad_output):
        return torch.zeros_like(grad_output)


def _op(function: type[torch.autograd.Function], *inputs: Input, **words: Any) -> Op:
    return Op(function, function.__name__, "planted", "", "", inputs or (Input("x"),), **words)


def _normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=dtype).requires_grad_()


def _planted(
    name: str, function: type[torch.autograd.Function], wrong: str, seen: Place = "section", **words: Any
) -> Planted:
    """A row for an elementwise Function of one input, with six normal numbers for gradcheck."""
    return Planted(name, _op(function, **words), wrong, seen, (_normal(6),))


def _of_contract(name: str, function: type[torch.autograd.Function], wrong: str, check: str) -> Planted:
    """A row that no section shows."""
    return replace(_planted(name, function, wrong, "contract"), check=check)


def _of_two(name: str, function: type[torch.autograd.Function], wrong: str) -> Planted:
    op = _op(function, Input("u", value=0.7), Input("v", value=1.3))
    return Planted(name, op, wrong, "section", (_normal(6), _normal(6, seed=1)))


PLANTED = (
    _planted("derivative × 1.0009", TooMuchByNineTenThousandths, "below gradcheck's rtol of 1e-3"),
    _planted("derivative × 1.002", TooMuchByTwoThousandths, "above it"),
    _planted("|grad_output|", LosesTheSign, "right for positive grad_output only"),
    _planted("grad_output clipped to ±1", Clips, "right for small grad_output only"),
    _planted("grad_output²", Squares, "right for grad_output 0 and 1 only"),
    _planted("grad_output forgotten", Forgets, "right for grad_output 1 only"),
    _planted("writes to grad_output", WritesToGradOutput, "spoils the caller's tensor"),
    _planted("assumes grad_output contiguous", ReadsMemory, "another gradient for another layout"),
    _of_contract("intermediate kept on ctx", IntermediateOnCtx, "second derivative 0", "SECOND-ORDER"),
    _of_contract("output kept on ctx", KeepsItsOutput, "memory is not freed", "CTX-CYCLE"),
    _planted("gradient rounded to float32", RoundsToFloat32, "half of the digits"),
    _planted("wrong beyond x = 3", WrongBeyondThree, "where no normal number is drawn"),
    _planted("noisy by 1e-4", Noisy, "another gradient every time"),
    _of_two("gradients swapped", Swapped, "each returned for the other input"),
    _of_two("None for a needed input", ReturnsNone, "autograd takes it for 0"),
    _of_two("too few gradients", ReturnsTooFew, "autograd raises"),
    _planted("too many gradients", ReturnsTooMany, "autograd raises"),
    _of_contract("a factor detached", DetachesInBackward, "second derivative 0", "SECOND-ORDER"),
    _planted("None of an unused output", AddsNone, "raises for half of the losses", outputs=("double", "triple")),
    _of_contract("in place without mark_dirty", EditsItsInput, "the caller's tensor changes", "DIRTY-MISSING"),
    Planted(
        "softmax, diagonal only",
        _op(DiagonalOfSoftmax, Input("x", shape=(4,), value=(0.3, -0.5, 1.1, 0.2))),
        "what each element does to the others is left out",
        "section",
        (_normal(4),),
    ),
    Planted(
        "z² without the conjugate",
        _op(ForgetsTheConjugate, Input("z")),
        "right for real numbers only",
        "precision",
        (_normal(6, dtype=torch.complex128),),
    ),
)

CONTROLS = (
    _planted("straight-through round", StraightThrough, "nothing: it is declared", "nowhere", surrogate=lambda x: x),
    _planted("round with gradient 0", Blocked, "nothing: it is right almost everywhere", "nowhere"),
    Planted(
        "broadcast left to autograd",
        _op(LeavesTheSum, Input("x", shape=(3,), value=(0.5, -1.0, 2.0)), Input("shift", shape=(1,))),
        "nothing: autograd sums what is broadcast",
        "nowhere",
        (_normal(3), _normal(1, seed=1)),
    ),
)
