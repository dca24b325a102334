"""Whether kinks, jumps and edges are told apart, and whether a correct kinked Function is ever called wrong."""

from __future__ import annotations

import numpy as np
import torch
from corners import CORNERED, Corner, Cornered
from functions.smooth import on_tensors
from peers import Array
from report import Report, Table, Target
from support.sections import look, op_of

from gradloupe.server.numerics.differentiation.finite_differences import PointKind, differentiate
from gradloupe.server.numerics.singularities.special_points import SpecialPoint, special_points

COUNT = 1001
FEWEST = 60
KINKED = [each for each in CORNERED if {corner.special for corner in each.corners} in ({"kink"}, {"cusp"})]
# How near between grid points a special point is to be located, as a share of the range.
LOCATED = 1e-9


def measure() -> Report:
    """The tables of special points, and T9."""
    torch.set_num_threads(1)
    points = sum(len(each.corners) for each in CORNERED)
    right, false, judged, misnamed = _on_points()
    found, extra, hidden, missed = _between_points()
    wrong, looks = _called_wrong()
    failed = sum(not _gradchecked(each) for each in KINKED)
    rows = [
        ("special points on a grid point, named with both slopes", f"{right} of {2 * points}", misnamed),
        ("ordinary points taken for special ones", f"{false} of {judged}", ""),
        (
            f"kinks, cusps, jumps and poles between grid points, located to {LOCATED:g} of the range and told apart",
            f"{found} of {hidden}",
            missed,
        ),
        ("… and found where there is none", str(extra), ""),
        ("correct kinked Functions called wrong", f"{wrong} of {looks} looks", ""),
        ("… rejected by gradcheck, kink on a point", f"{failed} of {len(KINKED)} Functions", ""),
    ]
    note = f"{len(CORNERED)} functions, {points} special points; each on an even and a jittered grid of {COUNT} points."
    targets = [
        Target(
            "T9",
            f"all special points named right, at least {FEWEST}",
            f"{right} of {2 * points}",
            right == 2 * points and points >= FEWEST,
        ),
        Target("T9", "at most 3 false of some 41 000", f"{false} of {judged}", false <= 3),
        Target("T9", "all between the points located and told apart", f"{found} of {hidden}", found == hidden),
        Target("T9", "none found where there is none", str(extra), extra == 0),
        Target("T9", "a correct kinked Function is never called wrong", f"{wrong} of {looks}", wrong == 0),
    ]
    return Report([Table("Special points (T9)", ("what", "measured", "missed"), rows, note)], targets)


def _on_points() -> tuple[int, int, int, str]:
    """Corners named right, ordinary points named special, ordinary points, and the functions of the misnamed."""
    right = false = judged = 0
    misnamed = set()
    for each in CORNERED:
        forward = on_tensors(each.function)
        for jitter in (0.0, 0.3):
            x = _grid(each, jitter)
            y = forward(x)
            found = differentiate(forward, x, y, each.stop - each.start)
            for corner in each.corners:
                row = int(np.flatnonzero(x == corner.x)[0])
                sides = _agree(found.left[row], corner.left) and _agree(found.right[row], corner.right)
                good = sides and found.kind[row] == corner.kind
                right += good
                if not good:
                    misnamed.add(each.name)
            ordinary = ~np.isin(x, [corner.x for corner in each.corners]) & np.isfinite(y)
            judged += int(ordinary.sum())
            false += int((found.kind[ordinary] != PointKind.SMOOTH).sum())
    return right, false, judged, ", ".join(sorted(misnamed))


def _grid(each: Cornered, jitter: float) -> Array:
    """1001 points, the nearest to every corner moved onto it."""
    cell = (each.stop - each.start) / COUNT
    x = np.linspace(each.start, each.stop, COUNT)
    x = np.sort(np.clip(x + np.random.default_rng(1).uniform(-jitter, jitter, COUNT) * cell, each.start, each.stop))
    for corner in each.corners:
        x[np.abs(x - corner.x).argmin()] = corner.x
    return x


def _agree(found: float, truth: float | None) -> bool:
    return truth is None or found == truth or abs(found - truth) <= 1e-4


def _between_points() -> tuple[int, int, int, str]:
    """Special points found and told apart, those found where there is none, all there are, and who missed some."""
    found = extra = hidden = 0
    missed = set()
    for each in CORNERED:
        forward = on_tensors(each.function)
        wanted = [corner for corner in each.corners if corner.special]
        for x in _even_grids(each):
            with np.errstate(all="ignore"):
                special = special_points(forward, x, forward(x))
            seen = [_is_among(corner, special, each) for corner in wanted]
            found, hidden = found + sum(seen), hidden + len(seen)
            extra += len(special) - sum(seen)
            if not all(seen):
                missed.add(each.name)
    return found, extra, hidden, ", ".join(sorted(missed))


def _even_grids(each: Cornered) -> list[Array]:
    shifts = np.random.default_rng(2).uniform(0, 0.1, 8)
    spans = [(each.start, each.stop), *((each.start - shift, each.stop + shift / 3) for shift in shifts)]
    spans = [span for span in spans if all(span[0] < corner.x < span[1] for corner in each.corners)]
    return [np.linspace(start, stop, count) for start, stop in spans for count in (400, 401, 1000)]


def _is_among(corner: Corner, special: tuple[SpecialPoint, ...], each: Cornered) -> bool:
    near = LOCATED * (each.stop - each.start)
    return any(place.kind == corner.special and abs(place.x - corner.x) <= near for place in special)


def _called_wrong() -> tuple[int, int]:
    """How often a kinked function with autograd's own gradient is said to differ, and how often it was looked at."""
    words = []
    for each in KINKED:
        for shift in (0.0, 0.0317, 0.1):
            for count in (101, 400, 601, 1000):
                for grad_output in (1.0, -2.5):
                    evaluation, verdict = look(op_of(each.function), each.start - shift, each.stop, count, grad_output)
                    # At a cusp on a point autograd itself returns NaN, and to say so is no false accusation.
                    if evaluation.analytical is not None and not np.isnan(evaluation.analytical).any():
                        words.append(verdict.word)
    return words.count("differs"), len(words)


def _gradchecked(each: Cornered) -> bool:
    """What gradcheck says of the same function, on 51 points with the kinks among them."""
    places = [corner.x for corner in each.corners]
    x = torch.tensor(np.unique(np.append(np.linspace(each.start, each.stop, 51), places))).requires_grad_()
    return torch.autograd.gradcheck(each.function, (x,), raise_exception=False)
