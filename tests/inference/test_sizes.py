"""Sizes that have to be found out: those that an error only hints at, and those that a wrong size would hide."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.autograd import Function

from gradloupe.server.inference.infer import infer
from gradloupe.server.inference.recipe.recipe import TensorArgument


class Rotated(Function):
    """A quaternion and a point in homogeneous coordinates."""

    @staticmethod
    def forward(ctx: Any, pose: Any, p: Any) -> Any:
        shift, turn = pose[..., :3], pose[..., 3:]
        moved = p[..., :3] + torch.linalg.cross(turn[..., :3], p[..., :3]) * turn[..., 3:] + shift * p[..., 3:]
        ctx.save_for_backward(pose, p)
        return torch.cat((moved, p[..., 3:]), -1)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        pose, p = ctx.saved_tensors
        with torch.enable_grad():
            one, other = pose.detach().requires_grad_(), p.detach().requires_grad_()
            return torch.autograd.grad(Rotated.forward(ctx, one, other), (one, other), g)


class Banded(Function):
    @staticmethod
    def forward(ctx: Any, main: Any, upper: Any, x: Any) -> Any:
        rows, size = main.shape
        if upper.shape != (rows, size - 1):
            raise ValueError("argument 'upper' must have shape (B, N-1)")
        if x.dim() != 3 or x.shape[:2] != (rows, size):
            raise ValueError("argument 'x' must have shape (B, N, K)")
        ctx.save_for_backward(main, upper, x)
        y = main[..., None] * x
        return torch.cat((y[:, :-1] + upper[..., None] * x[:, 1:], y[:, -1:]), 1)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        main, upper, x = ctx.saved_tensors
        back = main[..., None] * g
        down = torch.cat((torch.zeros_like(g[:, :1]), upper[..., None] * g[:, :-1]), 1)
        return (g * x).sum(-1), (g[:, :-1] * x[:, 1:]).sum(-1), back + down


class Reshaped(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, sizes: Any) -> Any:
        ctx.before, count = x.shape, 1
        for each in sizes:
            count *= each
        if x.numel() != count:
            raise RuntimeError(f"requested {count} elements in total, but there are {x.numel()}")
        return x.reshape(sizes)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g.reshape(ctx.before), None


class Wide(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        if x.shape[-1] != 32:
            raise ValueError("The last dimension must be 32.")
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2


class Weighted(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, target: Any) -> Any:
        B, _, T = x.shape
        assert target.shape == (B, 1, T) or target.shape == (1, 1, T)
        ctx.save_for_backward(target)
        return (x * target).sum(-1)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (target,) = ctx.saved_tensors
        return g[..., None] * target, None


class Voxels(Function):
    """A sum along the first dimension, which backward forgets."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        torch.nn.functional.avg_pool3d(x, 2)
        return x.cumsum(0)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


class Boolean(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, keep_it: Any) -> Any:
        torch.empty(1, requires_grad=keep_it)
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2, None


class Hinge(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, target: Any) -> Any:
        if not bool((target.abs() == 1).all()):
            raise ValueError("target must contain only -1 and 1")
        ctx.save_for_backward(x, target)
        return (1 - x * target).clamp(min=0).sum()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, target = ctx.saved_tensors
        return g * torch.where(x * target < 1, -target, 0 * target), None


class Sparse(Function):
    @staticmethod
    def forward(ctx: Any, indices: Any, values: Any, shape: Any, b: Any) -> Any:
        a = torch.sparse_coo_tensor(indices, values, shape)
        ctx.save_for_backward(indices, a, b)
        return torch.matmul(a, b)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        indices, a, b = ctx.saved_tensors
        dense = g @ b.t()
        return None, dense[indices[0], indices[1]], None, a.t() @ g


class TwoRates(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, fast: Any, slow: Any) -> Any:
        if fast == slow:
            raise ValueError("fast and slow must be different")
        ctx.factor = (fast - slow) / (fast + slow)
        return x * ctx.factor

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.factor, None, None


class Half(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        if x.dtype not in (torch.float16, torch.bfloat16):
            raise TypeError("Only fp16 and bf16 are supported")
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2


class Many(Function):
    """Nine numbers that nobody knows, and sizes that are found only after all of them are given."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, *, h: Any = 1) -> Any:
        first, second = x.split((3, 4), -1)
        ctx.save_for_backward(x, y)
        return (first * y[..., :3]).sum() + (second * y[..., 1:]).sum() + a * b * c + d * e * f * g

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        x, y = ctx.saved_tensors
        dx = torch.cat((y[..., :3], y[..., 1:]), -1)
        dy = torch.nn.functional.pad(x[..., :3], (0, 2)) + torch.nn.functional.pad(x[..., 3:], (1, 0))
        return (grad * dx, grad * dy, *[None] * 7)


RECIPES: tuple[tuple[Any, str], ...] = (
    (Rotated, "pose: float64[7]; p: float64[4]"),
    (Reshaped, "x: float64[4]; sizes = (2, 2)"),
    (Wide, "x: float64[32]"),
    (Weighted, "x: float64[2,3,4]; target: float64[2,1,4] nograd"),
    (Hinge, "x: float64[7]; target: float64[7] signs nograd"),
    (TwoRates, "x: float64[7]; fast = 1.0; slow = 0.5"),
    (Half, "x: bfloat16[7]"),
    (Boolean, "x: float64[7]; keep_it = True"),
)


@pytest.mark.parametrize(("function", "recipe"), RECIPES, ids=lambda each: getattr(each, "__name__", ""))
def test_sizes_that_an_error_hints_at_are_found(function: Any, recipe: str) -> None:
    assert infer(function).recipe.text() == recipe


def test_what_a_sparse_tensor_is_made_of_fits_together() -> None:
    indices, values, shape, b = infer(Sparse).recipe.arguments
    assert indices.shape == (2, *values.shape)
    assert (len(shape.value), len(b.shape)) == (2, 2)
    assert shape.value[1] == b.shape[0]


def test_many_arguments_do_not_hide_the_ones_that_matter() -> None:
    guess = infer(Many)
    x, y = guess.recipe.inputs
    assert (x.shape[-1], y.shape[-1]) == (7, 5)
    assert not guess.trouble
    assert guess.tried < 400


def test_a_shape_that_an_assert_writes_out_is_taken() -> None:
    found = infer(Banded).recipe
    main, upper, x = (each.shape for each in found.inputs)
    assert upper == (main[0], main[1] - 1)
    assert x[:2] == main


def test_no_usual_shape_hides_what_is_done_along_a_dimension() -> None:
    (x,) = infer(Voxels).recipe.inputs
    assert isinstance(x, TensorArgument)
    assert len(x.shape) == 5
    assert min(x.shape) > 1
