"""The curl test for every pair of input elements of a Function with few of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, product

import numpy as np

from ...runtime.batching import batched_plane
from ...runtime.failure import FunctionFailed
from ...runtime.section import Index, Section
from ..differentiation.reference import reference_of
from .curl_test import NOT_TESTED, CurlTest, run_curl_test
from .surface import field_components

# Of more elements than these not every two are tested.
_FEW = 6
# Cells in each direction, and those where each point needs a call of its own.
_CELLS, _CELLS_DEAR = 12, 4


@dataclass(frozen=True)
class _Pair:
    """Two elements of the inputs, each by name and index, and whether their field is a gradient."""

    first: tuple[str, Index]
    second: tuple[str, Index]
    potential: CurlTest


def run_curl_tests(section: Section, grad_output: float) -> tuple[_Pair, ...]:
    """The test for all pairs of elements over their domains, everything else held; empty if there are many elements.

    Nothing is raised: of a pair at which the Function fails nothing is known.
    """
    inputs = section.op.inputs
    if not pair_count(section, grad_output):
        return ()
    elements = [
        (each.name, index if math.prod(each.shape) != 1 else (), each.domain)
        for each in inputs
        for index in product(*map(range, each.shape))
    ]
    found = []
    for (first, one, x), (second, other, y) in combinations(elements, 2):
        along = replace(section, wrt=first, wrt_index=one, stacked=())
        across = replace(section, wrt=second, wrt_index=other, stacked=())
        found.append(_Pair((first, one), (second, other), _tested(along, across, x, y, grad_output)))
    return tuple(found)


def pair_count(section: Section, grad_output: float) -> int:
    """How many pairs there are to test, 0 where there are too many elements."""
    elements = sum(math.prod(each.shape) for each in section.op.inputs)
    return math.comb(elements, 2) if elements <= _FEW and grad_output != 0 else 0


def _tested(
    along: Section, across: Section, x: tuple[float, float], y: tuple[float, float], grad_output: float
) -> CurlTest:
    s, t = np.linspace(*x, _CELLS + 1), np.linspace(*y, _CELLS + 1)
    try:
        along = replace(reference_of(along, s, grad_output), stacked=())
        across = replace(along, wrt=across.wrt, wrt_index=across.wrt_index)
        plane = batched_plane(along, across, s, t, grad_output)
        count = _CELLS_DEAR if plane.dear else _CELLS
        return run_curl_test(partial(field_components, plane, grad_output), s, t, plane.dear, count)
    except FunctionFailed:
        return NOT_TESTED
