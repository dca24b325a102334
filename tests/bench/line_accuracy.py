"""How far the drawn lines are off the curves, in pixels, and with how many points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from peer_derivatives import Array, Forward
from report import Report, Table, Target
from support.sections import op_of, section

from gradloupe.server.numerics.sampling.grid import Grid, Rows, grid_rows
from gradloupe.server.numerics.sampling.refinement import kink_sides, refinement_points
from gradloupe.server.numerics.singularities.special_points import SpecialPoint, special_points
from gradloupe.server.runtime.batching import batched_section
from gradloupe.server.runtime.reference import reference_of
from gradloupe.server.runtime.section import Section

Function = Callable[[torch.Tensor], torch.Tensor]
F = torch.nn.functional
GRID = Grid(-3.0, 3.0, 401)
FINE_COUNT = 100_003
PIXELS, SIDEWAYS = 1000.0, 0.11
UNIFORM_COUNT = 1001
MAX_POINTS, MAX_PIXELS_OFF = 1000, 0.5
HELD_TO_TARGET: dict[str, Function] = {
    "clipped relu": lambda x: x.clamp(0, 1.37),
    "floor": torch.floor,
    "tanh(100(x − 0.0123))": lambda x: torch.tanh(100 * (x - 0.0123)),
    "gelu": F.gelu,
}
OTHERS: dict[str, Function] = {
    "sigmoid(200x)": lambda x: torch.sigmoid(200 * x),
    "exp(−10⁴(x − 0.1)²)": lambda x: torch.exp(-1e4 * (x - 0.1) ** 2),
    "√|x − 0.1234|": lambda x: (x - 0.1234).abs().sqrt(),
    "1/(x − 0.3075)": lambda x: 1 / (x - 0.3075),
    "log x": torch.log,
    "hardswish": F.hardswish,
    "sin 20x": lambda x: torch.sin(20 * x),
}


def measure() -> Report:
    """The table of lines and curves."""
    torch.set_num_threads(1)
    table, targets = [], []
    for name, function in (HELD_TO_TARGET | OTHERS).items():
        points, off, steep, plain, plain_steep = _measured(function)
        table.append((name, str(points), f"{off:.3f}", f"{plain:.3g}", f"{steep:.3f}", f"{plain_steep:.3g}"))
        if name in HELD_TO_TARGET:
            met = points <= MAX_POINTS and max(off, steep) <= MAX_PIXELS_OFF
            measured = f"{max(off, steep):.2g} px with {points}"
            targets.append(Target(f"{name}: {MAX_PIXELS_OFF} px with {MAX_POINTS} points", measured, met))
    headings = ("function", "points", "forward, px", "uniform, px", "gradient, px", "uniform, px")
    note = (
        f"Pictures of {PIXELS:g} × {PIXELS:g} pixels of −3 ≤ x ≤ 3, {GRID.count} points asked for; uniform are "
        f"{UNIFORM_COUNT} evenly spaced points. Vertical distance, from the nearest the curve has within {SIDEWAYS} px "
        "sideways; next to a pole, and for the gradient next to a cusp, one cell is left out."
    )
    return Report([Table("Lines and curves", headings, table, note)], targets)


def _measured(function: Function) -> tuple[int, float, float, float, float]:
    """The points, how far forward and gradient are off with them, and with evenly spaced ones."""
    cut, x = section(op_of(function)), GRID.points()
    with np.errstate(all="ignore"):
        cut = batched_section(cut, x, 1.0)
        reference = reference_of(cut, x)
        special = special_points(reference.forward, x, reference.forward(x))
        at = grid_rows(x, special)
        at = at.joined(kink_sides(cut, at, special))
        at = at.joined(
            refinement_points(cut, reference, at, reference.forward(at.x), _gradient(cut)(at.x), special, 1.0)
        )
        uniform = grid_rows(np.linspace(GRID.start, GRID.stop, UNIFORM_COUNT), ())
        return (
            at.x.size,
            _off(cut.forward, at, special, ("pole",)),
            _off(_gradient(cut), at, special, ("pole", "cusp")),
            _off(cut.forward, uniform, special, ("pole",)),
            _off(_gradient(cut), uniform, special, ("pole", "cusp")),
        )


def _gradient(cut: Section) -> Forward:
    def gradient(t: Array) -> Array:
        found = cut.backward(t, 1.0).grad_input
        return np.zeros(t.shape) if found is None else found

    return gradient


def _off(values: Forward, at: Rows, special: tuple[SpecialPoint, ...], left_out: tuple[str, ...]) -> float:
    """By how many pixels the lines through the rows miss the curve."""
    x = np.linspace(GRID.start, GRID.stop, FINE_COUNT)[1:-1]
    lines = np.interp(x, at.x, np.where(at.gap, np.nan, values(at.x)))
    wide = SIDEWAYS * GRID.span / PIXELS
    near = [values(x + share * wide) for share in np.linspace(-1, 1, 11)]
    near += [values(np.where(np.abs(x - each.x) < wide, each.x, x)) for each in special]
    near = [np.where(np.isfinite(each), each, near[5]) for each in near]
    missed = np.maximum(lines - np.max(near, axis=0), np.min(near, axis=0) - lines)
    shown = np.isfinite(lines) & np.isfinite(near).all(axis=0)
    for each in special:
        if each.kind in left_out:
            shown &= np.abs(x - each.x) > 1.01 * GRID.span / GRID.count
    rise = float(np.ptp(near[5][shown]))
    return max(float(missed[shown].max()), 0.0) / (rise or 1.0) * PIXELS
