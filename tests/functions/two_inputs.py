"""How the tests look at a plane: two inputs swept at once."""

from __future__ import annotations

import numpy as np
import torch
from support.sections import op_of, section

from gradloupe.ops import Input, Op
from gradloupe.server.numerics.sampling.grid import Grid
from gradloupe.server.numerics.surface.surface import Surface, surface
from gradloupe.server.runtime.batching import batched_plane
from gradloupe.server.runtime.plane import Plane

U, V = Input("u"), Input("v")


def op_of_two(forward, backward=None, **words) -> Op:
    """An op of u and v; `backward` gives both factors of grad_output, None for none; without one it is autograd's."""
    if backward is None:
        return op_of(forward, U, V, **words)

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, u, v):
            ctx.save_for_backward(u, v)
            return forward(u, v)

        @staticmethod
        def backward(ctx, grad_output):
            return tuple(None if each is None else grad_output * each for each in backward(*ctx.saved_tensors))

    return op_of(Two.apply, U, V, **words)


def surface_of(
    op, wrt="u", wrt2="v", of="", count=61, x=(-3.0, 3.0), y=(-3.0, 3.0), grad_output=1.0, **asked
) -> Surface:
    """Everything measured of the plane of two elements of an op."""
    along, across = section(op, wrt, of, **asked), section(op, wrt2, of, **asked)
    points = [np.unique(along.snap(Grid(*ends, count).points())) for ends in (x, y)]
    return surface(along, across, *points, grad_output)


def plane_of(op, wrt="u", wrt2="v", of="", count=9) -> Plane:
    """The plane of two elements of an op, over the range from −3 to 3."""
    x = np.linspace(-3, 3, count)
    return batched_plane(section(op, wrt, of), section(op, wrt2, of), x, x, 1.0)
