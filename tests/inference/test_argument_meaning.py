"""What a tensor or a number is meant for: bounds, permutations, regularisers, pairs; and recipes that show nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.autograd import Function

from gradloupe.server.inference.infer import infer
from gradloupe.server.inference.recipe.grammar import parse_recipe


def safe(x: Any, epsilon: Any) -> Any:
    return x / (x**2 + epsilon)


class Eigenvalues(Function):
    """Broadened where two are the same, by a tensor."""

    @staticmethod
    def forward(ctx: Any, A: Any, decomp_reg: Any) -> Any:
        values, vectors = torch.linalg.eigh(A)
        ctx.save_for_backward(values, vectors, decomp_reg)
        return values, vectors

    @staticmethod
    def backward(ctx: Any, dvalues: Any, dvectors: Any) -> Any:
        values, vectors, decomp_reg = ctx.saved_tensors
        gaps = safe(values - values[:, None], epsilon=decomp_reg)
        return vectors @ (torch.diag(dvalues) + gaps * (vectors.T @ dvectors)) @ vectors.T, None


class Cut(Function):
    """The same by a number that forward makes a tensor of."""

    @staticmethod
    def forward(ctx: Any, x: Any, cutoff: Any) -> Any:
        cutoff = torch.as_tensor(cutoff, dtype=x.dtype, device=x.device)
        ctx.save_for_backward(x, cutoff)
        return x.abs().log()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, cutoff = ctx.saved_tensors
        return g * x / (x * x + cutoff), None


class Smooth(Function):
    """A cutoff that forward reads is one of another kind."""

    @staticmethod
    def forward(ctx: Any, x: Any, cutoff: Any) -> Any:
        ctx.cutoff = cutoff
        return torch.exp(-x * x / cutoff)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return -2 * g / ctx.cutoff, None


class Permuted(Function):
    """Right for a permutation, and for nothing else."""

    @staticmethod
    def forward(ctx: Any, x: Any, p: Any) -> Any:
        ctx.save_for_backward(p)
        return x[..., p]

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (p,) = ctx.saved_tensors
        out = torch.empty_like(g)
        out[..., p] = g
        return out, None


class PermutedBack(Function):
    """Wrong for every permutation that is not its own inverse."""

    @staticmethod
    def forward(ctx: Any, x: Any, permutation: Any) -> Any:
        ctx.save_for_backward(permutation)
        return x[..., permutation]

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (permutation,) = ctx.saved_tensors
        return g[..., permutation], None


class Gathered(Function):
    """Wrong where a place is picked twice, as it may be."""

    @staticmethod
    def forward(ctx: Any, x: Any, index: Any) -> Any:
        ctx.save_for_backward(index)
        ctx.like = x
        return x[..., index]

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (index,) = ctx.saved_tensors
        out = torch.zeros_like(ctx.like)
        out[..., index] = g
        return out, None


class Quantized(Function):
    """Between two bounds in one tensor, straight through."""

    @staticmethod
    def forward(ctx: Any, x: Any, clip_val: Any, bits: Any) -> Any:
        ctx.save_for_backward(x, clip_val)
        x = torch.where(x < clip_val[1], x, clip_val[1])
        x = torch.where(x > clip_val[0], x, clip_val[0])
        s = (2**bits - 1) / (x.max() - x.min() + 1e-8)
        return torch.round(x * s) / s

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, clip_val = ctx.saved_tensors
        g = g.clone()
        g[x.ge(clip_val[1])] = 0
        g[x.le(clip_val[0])] = 0
        return g, None, None


class Clipped(Function):
    """Between two learned numbers."""

    @staticmethod
    def forward(ctx: Any, x: Any, lower: Any, upper: Any) -> Any:
        ctx.save_for_backward(x, lower, upper)
        return torch.minimum(torch.maximum(x, lower), upper)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, lower, upper = ctx.saved_tensors
        below, above = x < lower, x > upper
        return g * ~(below | above), (g * below).sum_to_size(lower.shape), (g * above).sum_to_size(upper.shape)


class Sparse(Function):
    """Of every M the N largest, which are all if N is M."""

    @staticmethod
    def forward(ctx: Any, weight: Any, N: Any, M: Any) -> Any:
        grouped = weight.detach().abs().reshape(weight.numel() // M, M)
        index = torch.argsort(grouped, dim=1)[:, : int(M - N)]
        mask = torch.ones_like(grouped).scatter_(1, index, 0).reshape(weight.shape)
        return weight * mask

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, None, None


class Shifted(Function):
    """The first few channels one step earlier; none of them if fold is 0."""

    @staticmethod
    def forward(ctx: Any, x: Any, fold: Any) -> Any:
        ctx.fold = fold
        n, t, _ = x.size()
        buffer = x.new_zeros(n, t, fold)
        buffer[:, :-1] = x[:, 1:, :fold]
        return torch.cat((buffer, x[:, :, fold:]), 2)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        buffer = torch.zeros_like(g[:, :, : ctx.fold])
        buffer[:, 1:] = g[:, :-1, : ctx.fold]
        return torch.cat((buffer, g[:, :, ctx.fold :]), 2), None


class Reversed(Function):
    """Forward hands on what it is given, and that is how it is meant."""

    @staticmethod
    def forward(ctx: Any, x: Any, factor: Any) -> Any:
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return -ctx.factor * g, None


class Truncated(Function):
    """Between bounds beyond which only large numbers lie."""

    @staticmethod
    def forward(ctx: Any, x: Any, bits: Any) -> Any:
        ctx.save_for_backward((-(2 ** (bits - 1)) <= x) & (x <= 2 ** (bits - 1) - 1))
        return x.clamp(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0], None


class Modulus(Function):
    """The size of complex numbers, each a pair."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = (x[..., 0] * x[..., 0] + x[..., 1] * x[..., 1]).sqrt()
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        return x * (g / y)[..., None] if x.dim() > 1 else x * g / y


class Product(Function):
    """Pairs of single precision, which NumPy reads as complex numbers."""

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(a, b)
        y = a.detach().numpy().view("complex64") * b.detach().numpy().view("complex64")
        return torch.from_numpy(np.ascontiguousarray(y).view("float32"))

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        a, b = ctx.saved_tensors
        a, b, g = (each.detach().contiguous().numpy().view("complex64") for each in (a, b, g))
        return torch.from_numpy((g * b.conj()).view("float32")), torch.from_numpy((g * a.conj()).view("float32"))


class Patterned(Function):
    """What is held is read by backward alone, and is as large as the weight."""

    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any, pattern: Any) -> Any:
        ctx.save_for_backward(x, weight, pattern)
        return torch.nn.functional.linear(x, weight)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return torch.nn.functional.linear(g, ctx.saved_tensors[2].t()), None, None


def recipe(function: Any) -> str:
    return infer(function).recipe.text()


def inferred_arguments(function: Any) -> dict[str, Any]:
    return {each.name: each for each in infer(function).recipe.arguments}


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (Eigenvalues, "A: float64[4,4] spd; decomp_reg: float64[] tiny nograd"),
        (Cut, "x: float64[7]; cutoff = 1e-12"),
        (Permuted, "x: float64[7]; p: int64[7] shuffled"),
        (PermutedBack, "x: float64[7]; permutation: int64[7] shuffled"),
        (Quantized, "x: float64[7]; clip_val: float64[2] rising; bits = 4"),
        (Modulus, "x: float64[2]"),
        (Reversed, "x: float64[7]; factor = 0.5"),
        (Truncated, "x: float64[7]; bits = 4"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_what_an_argument_is_meant_for_is_read(function: Any, expected: str) -> None:
    assert recipe(function) == expected


def test_what_forward_reads_is_no_regulariser() -> None:
    assert inferred_arguments(Smooth)["cutoff"].value > 0.1


def test_an_index_may_pick_a_place_twice_where_backward_bears_zeros() -> None:
    index = inferred_arguments(Gathered)["index"]
    assert index.fill == "index"


def test_the_lower_bound_is_below_the_upper() -> None:
    tensors = infer(Clipped).recipe.tensors()
    assert bool((tensors["lower"] < tensors["upper"]).all())


def test_what_does_nothing_is_not_taken_where_something_else_works() -> None:
    found = inferred_arguments(Sparse)
    assert found["N"].value < found["M"].value
    assert inferred_arguments(Shifted)["fold"].value > 0


def test_pairs_that_are_read_as_complex_numbers_are_of_single_precision() -> None:
    found = infer(Product).recipe
    assert {(each.dtype, each.shape[-1]) for each in found.inputs} == {("float32", 2)}


def test_what_only_backward_reads_is_as_large_as_backward_needs_it() -> None:
    guess = infer(Patterned)
    assert not guess.trouble
    found = inferred_arguments(Patterned)
    assert found["pattern"].shape == found["weight"].shape


def test_the_words_of_a_recipe_fill_as_they_say() -> None:
    tensors = parse_recipe(
        "a: float64[5] rising; b: float64[2] tiny; c: float64[4] negative; p: int64[2,4] shuffled"
    ).tensors()
    assert tensors["a"].tolist() == [-1, -0.5, 0, 0.5, 1]
    assert 0 < float(tensors["b"].max()) < 1e-9
    assert float(tensors["c"].max()) < 0
    assert tensors["p"].tolist() == [[1, 2, 3, 0], [1, 2, 3, 0]]
