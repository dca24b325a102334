"""Functions of two numbers by their series along lines: one direction a lane, spread evenly over half a turn.

In a box of (x, a) around (m, b) let x = m + h ξ and a = b + r η, where |ξ| and |η| are at most 1. Along the line
ρ ↦ ρ (cos θ, sin θ) the coefficient k of a series is what the terms of order k are in that direction: a homogeneous
polynomial, of θ one in sines and cosines of degree k, which ``LINES`` > k directions tell whole. Every point of the box
is one with ρ ≤ √2.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from flint import arb, arb_mat, arb_series, ctx

from .enclosure import TERMS

LINES = TERMS  # directions; an even number, larger than the order of any term
_Matrix: Any = arb_mat  # which has no types


@lru_cache(maxsize=8)
def directions(bits: int) -> tuple[tuple[arb, arb], ...]:
    """Cosine and sine of each direction, to so many bits: the first is that of ξ, the one in the middle that of η."""
    turns = [arb.pi() * i / LINES for i in range(LINES)]
    found = [(each.cos(), each.sin()) for each in turns]
    found[0], found[LINES // 2] = (arb(1), arb(0)), (arb(0), arb(1))
    return tuple(found)


@lru_cache(maxsize=16)
def _turning(parity: int, bits: int) -> Any:
    """The matrix that makes of a polynomial of degree k its derivative by θ, for k of a parity.

    As one of sines and cosines it is the interpolation of its values at 2 · ``LINES`` even places of the circle, where
    those opposite each other are the same but for the sign (−1)ᵏ.
    """

    def entry(i: int, j: int) -> arb:
        turn = arb.pi() * (i - j) / LINES
        found = (arb(1) if parity else turn.cos()) / turn.sin() if i != j else arb(0)
        return -found if (i - j) % 2 else found

    return _Matrix([[entry(i, j) for j in range(LINES)] for i in range(LINES)])


@lru_cache(maxsize=8)
def _reach(bits: int) -> list[arb]:
    """By how much a polynomial of each degree is larger in the box than in the directions of the lanes, at most.

    By the lemma of M. Riesz the largest value on the circle is no more than that at an angle δ from it over cos k δ.
    """
    return [arb(2).sqrt() ** k / (arb.pi() * k / (2 * LINES)).cos() for k in range(LINES)]


def difference_along(slopes: list[Any], gradients: list[Any], step: arb) -> arb:
    """How far backward and the slope are apart in a box: from series along its lines, and along those of its middle.

    The slopes are the derivatives of the curve along the lines; h is the ``step``.
    """
    reach, last = _reach(ctx.prec), TERMS - 2
    (found,) = _apart(slopes[1][:1], gradients[1][:1], step, 0)
    for order in range(1, last + 1):
        at = 0 if order == last else 1  # the last coefficient is that of all of the box
        largest = arb(0)
        for each in _apart(slopes[at], gradients[at], step, order):
            largest = largest.max(each.abs_upper())
        found += arb(0, (largest * reach[order]).abs_upper())
    return found


def _apart(slopes: Sequence[arb_series], gradients: Sequence[arb_series], step: arb, order: int) -> list[arb]:
    """The coefficient of an order of backward − slope, in each direction.

    With P what the curve has of degree K = order + 1, its derivative by ξ is cos θ · K P − sin θ · dP/dθ, and K P is
    given.
    """
    along = [each[order] for each in slopes]
    if order == 0:
        return [gradients[0][0] - along[0] / step]
    turned = _turning((order + 1) % 2, ctx.prec) * _Matrix([[each] for each in along])
    return [
        each[order] - (cos * along[i] - sin * turned[i, 0] / (order + 1)) / step
        for i, (each, (cos, sin)) in enumerate(zip(gradients, directions(ctx.prec), strict=True))
    ]
