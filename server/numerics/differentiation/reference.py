"""The reference: the section that differences are taken of, in double precision wherever the Function allows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from ...runtime.arrays import Array, largest
from ...runtime.batching import arranged
from ...runtime.failure import FunctionFailed
from ...runtime.section import Section

# Asked twice, a forward that is no game of chance answers the same: to the last place on a CPU, else to this share.
STEADY = {"cpu": 1e-14}
ELSEWHERE = 1e-5


def reference_of(section: Section, x: Array, grad_output: float = 1.0) -> Section:
    """The section in double precision on the CPU, or as it is where the Function refuses that."""
    double = section.at(torch.float64, "cpu")
    if double == section:
        return section
    double = arranged(replace(double, inputs=rounded(section)), x, grad_output)
    try:
        double.forward(x[[0, -1]])
    except FunctionFailed:
        return section
    return double


def rounded(section: Section) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """The held inputs as the section's dtype holds them."""
    return tuple((name, tuple(torch.tensor(values, dtype=section.dtype).tolist())) for name, values in section.inputs)


def steady(section: Section, x: Array, y: Array) -> bool:
    """Whether forward, asked again, answers the same, but for the last places in which a device may differ."""
    again, share = section.forward(x), STEADY.get(section.device, ELSEWHERE)
    return np.allclose(again, y, rtol=share, atol=share * largest(y), equal_nan=True)


def one_draw(section: Section, x: Array) -> Section | None:
    """The section with the same random numbers in every call; None where even so forward does not repeat itself."""
    same = arranged(replace(section, one_draw=True), x)
    return same if steady(same, x, same.forward(x)) else None
