"""Gauss–Legendre quadrature: the integral of backward's gradient, and the rounding error of comparing it to forward."""

from __future__ import annotations

import numpy as np
import torch

from ...runtime.arrays import Array, Forward, finite_numbers, unit_shares
from ...runtime.section import Section

# unit: three Gauss–Legendre nodes integrate a polynomial of degree 5 exactly.
NODES, WEIGHTS = np.polynomial.legendre.leggauss(3)
NODES, WEIGHTS = (NODES + 1) / 2, WEIGHTS / 2  # unit: the same from 0 to 1 instead of from −1 to 1
_MAX_OFFSET = 1e-4  # sample: the largest offset, relative to x; in half precision no number is that close
# sample: within these distances from a node (in last places) a smooth curve is a parabola, and any deviation is
# rounding: it changes from each number to the next, or stays for thousands of them. It may grow towards one end of a
# cell, and is therefore estimated in several parts of it (a budget). Beyond a part lies, but for the nearest, what the
# curve does elsewhere.
_OFFSETS, _PARTS, _NEAREST = (-3e5, -1e4, -3e2, -10, -1, 0, 1, 10, 3e2, 1e4, 3e5), 8, 10
_OFFSETS_ONE_BY_ONE, _PARTS_ONE_BY_ONE = (-3e5, -3e2, 0, 3e2, 3e5), 2  # sample: fewer of both where a point is a call


def gauss_nodes(section: Section, left: Array, right: Array) -> Array:
    """Three nodes between each ``left`` and its ``right``, one after the other."""
    return section.snap((left[..., None] + (right - left)[..., None] * NODES).ravel())


def quadrature(section: Section, left: Array, right: Array, grad_output: float) -> Array:
    """The integral of backward's gradient from each ``left`` to its ``right``."""
    return integral_at_nodes(section.gradient(gauss_nodes(section, left, right), grad_output), left, right)


def integral_at_nodes(gradient: Array, left: Array, right: Array) -> Array:
    """The integral from each ``left`` to its ``right`` of a gradient with these values at ``gauss_nodes``."""
    mean: Array = gradient.reshape(*left.shape, NODES.size) @ WEIGHTS
    return (right - left) * mean


def integral_rounding(section: Section, forward: Forward, left: Array, right: Array, grad_output: float) -> Array:
    """The rounding error in comparing the rise of ``forward`` over each cell with the integral of its gradient.

    Estimated from numbers next to each ``left`` and ``right``, and next to quadrature nodes all over the cell.
    """
    offsets, parts = (_OFFSETS, _PARTS) if section.stacked else (_OFFSETS_ONE_BY_ONE, _PARTS_ONE_BY_ONE)
    eps = torch.finfo(section.dtype).eps

    def deviation(of: Forward, x: Array, width: Array) -> Array:
        shares = np.clip(np.array(offsets) * eps, -_MAX_OFFSET, _MAX_OFFSET).reshape(-1, *(1,) * x.ndim)
        reach = np.clip(width / np.abs(x), _NEAREST * eps, _MAX_OFFSET)
        shares = np.clip(shares, -reach, reach)
        y = of(section.snap((x + shares * np.abs(x)).ravel())).reshape(shares.shape)
        y -= y[len(offsets) // 2]
        line, parabola = (each * (each * y).sum(axis=0) / (each**2).sum(axis=0) for each in (shares, shares**2))
        return finite_numbers(np.ptp(y - line - parabola, axis=0), infinity=0.0)

    edges = left + (right - left) * unit_shares(parts)
    nodes, width = gauss_nodes(section, edges[:-1], edges[1:]), (right - left) / (2 * parts)
    off = deviation(lambda x: section.gradient(x, grad_output), nodes.reshape(parts, -1, NODES.size), width[:, None])
    inside: Array = integral_at_nodes(off, edges[:-1], edges[1:]).sum(axis=0)
    return inside + abs(grad_output) * deviation(forward, np.stack((left, right)), width).sum(axis=0)
