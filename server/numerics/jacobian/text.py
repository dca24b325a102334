"""The Jacobian in words: whether backward agrees with the numerical one, where not, and its sparsity pattern."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..differentiation.finite_differences import PointKind
from ..formatting.numbers import format_distinct, format_number
from ..sentences.places import join_words
from ..status import Status
from .diagnosis import diagnose_jacobian
from .jacobian import ElementRange, Jacobian
from .scan import ScanResult
from .sparsity import sparsity_sentence

_RIGHT = (Status.AGREES, Status.SUBGRADIENT)
_NAMES = {
    PointKind.KINK: ("kink", "kinks"),
    PointKind.JUMP: ("jump", "jumps"),
    PointKind.EDGE: ("cell at the edge of the domain", "cells at the edge of the domain"),
    PointKind.NONFINITE: ("cell without a finite value", "cells without a finite value"),
}


@dataclass(frozen=True)
class DifferingCell:
    """A cell and what both say of it."""

    row: str
    column: str
    numerical: float
    returned: float
    sides: tuple[float, float] | None = None
    """The slopes on either side of a kink."""


def jacobian_sentence(jacobian: Jacobian, span: float) -> str:
    """What the picture shows, most important first."""
    if jacobian.failure is not None:
        first = jacobian.failure.message.splitlines()[0].rstrip(".")
        return f"backward raised {jacobian.failure.kind}: {first}. What differences say is shown alone."
    return " ".join(
        [*_verdict(jacobian, span), *_open(jacobian), *_elsewhere(jacobian), sparsity_sentence(jacobian)]
    ).strip()


def worst_jacobian_cell(jacobian: Jacobian) -> DifferingCell | None:
    """The cell of the block in which backward is furthest off; None where it differs nowhere."""
    differs = jacobian.numerical.where(Status.DIFFERS)
    if jacobian.returned is None or not differs.any():
        return None
    with np.errstate(all="ignore"):
        off = np.abs(jacobian.returned.ravel() - jacobian.numerical.slopes.value)
    cell = int(np.where(differs, np.nan_to_num(off, nan=np.inf, posinf=np.inf), -1.0).argmax())
    row, column = divmod(cell, jacobian.columns.count)
    slopes = jacobian.numerical.slopes
    sides = (float(slopes.left[cell]), float(slopes.right[cell])) if slopes.kind[cell] == PointKind.KINK else None
    return DifferingCell(
        jacobian.rows.label(jacobian.rows.first + row),
        jacobian.columns.label(jacobian.columns.first + column),
        float(jacobian.numerical.slopes.value[cell]),
        float(jacobian.returned.ravel()[cell]),
        sides,
    )


def count_differing_cells(jacobian: Jacobian) -> int:
    """In how many cells backward differs from what it is to be: the derivative of forward or that of its surrogate."""
    return int((jacobian.meant or jacobian.numerical).where(Status.DIFFERS).sum())


def _verdict(jacobian: Jacobian, span: float) -> Iterator[str]:
    of, wrt = jacobian.rows.name, jacobian.columns.name
    if not jacobian.steady:
        yield f"forward answers otherwise when it is asked again, so differences tell nothing of {of} by {wrt}."
        return
    if jacobian.section.sweeps_parameter:
        yield f"{wrt} is a parameter, for which backward returns nothing: numerical sensitivity only."
        return
    if jacobian.integer:
        yield f"{of} holds {jacobian.integer} numbers, from which no gradient can go back: differences alone are shown."
        return
    if jacobian.returned is None:
        yield f"{of} carries no gradient, so backward is never called for it: differences alone are shown."
        return
    apart_ = int(jacobian.numerical.where(Status.DIFFERS).sum())
    cells = jacobian.numerical.status.size
    if not apart_:
        yield _agrees(jacobian, int(jacobian.numerical.where(*_RIGHT).sum()))
        return
    yield f"backward differs from forward's differences {_of(apart_, cells, jacobian)}{_most(jacobian)}."
    off = int(jacobian.meant.where(Status.DIFFERS).sum()) if jacobian.meant else cells
    if not off:
        yield "It is meant to be the Jacobian of its surrogate, and is."
        return
    if said := diagnose_jacobian(jacobian, span):
        yield said
    if jacobian.meant is not None:
        yield f"It is meant to be the Jacobian of its surrogate, and is not {_of(off, cells, jacobian)}."


def _agrees(jacobian: Jacobian, right: int) -> str:
    cells = jacobian.numerical.status.size
    where = "" if jacobian.whole else " of this block"
    if not right:
        return f"Differences tell nothing of {jacobian.rows.name} by {jacobian.columns.name} here."
    if cells == 1:
        at = "" if jacobian.whole else f" for {jacobian.rows.label(jacobian.rows.first)} by {_by(jacobian)}"
        return f"backward returns {format_number(_only(jacobian))}{at}, as differences say within their error bound."
    if right == cells:
        return f"backward returns what differences say, in all {cells} cells{where}, within their error bounds."
    return f"backward returns what differences say, in {right} of {cells} cells{where}, wherever they can tell."


def _by(jacobian: Jacobian) -> str:
    return jacobian.columns.label(jacobian.columns.first)


def _only(jacobian: Jacobian) -> float:
    assert jacobian.returned is not None
    return float(jacobian.returned[0, 0])


def _of(some: int, cells: int, jacobian: Jacobian) -> str:
    if cells == 1:
        return "here"
    where = "" if jacobian.whole else " of this block"
    return f"in all {cells} cells{where}" if some == cells else f"in {some} of {cells} cells{where}"


def _most(jacobian: Jacobian) -> str:
    found = worst_jacobian_cell(jacobian)
    if found is None:
        return ""
    returned = format_distinct(found.returned, found.numerical)
    slope = (
        " to ".join(map(format_number, found.sides))
        if found.sides
        else format_distinct(found.numerical, found.returned)
    )
    numbers = f"numerical {slope}, returned {returned}"
    if jacobian.numerical.status.size == 1:
        return f": {numbers}"
    return f", most at {found.row} by {found.column}: {numbers}"


def _open(jacobian: Jacobian) -> Iterator[str]:
    """The cells in which differences have no single number to show."""
    kinds = jacobian.numerical.slopes.kind
    found = [(int((kinds == kind).sum()), names) for kind, names in _NAMES.items()]
    vague = int(
        (jacobian.numerical.where(Status.UNDECIDED) & np.isin(kinds, (PointKind.SMOOTH, PointKind.UNRESOLVED))).sum()
    )
    parts = [f"{count} {names[count > 1]}" for count, names in found if count]
    if vague and jacobian.steady and jacobian.returned is not None:
        parts.append(f"{vague} undecided {'cell' if vague == 1 else 'cells'}")
    if parts:
        yield f"Marked: {join_words(parts)}."


def _elsewhere(jacobian: Jacobian) -> Iterator[str]:
    found = jacobian.elsewhere
    if found is None:
        return
    rows, columns = jacobian.rows, jacobian.columns
    size = f"all {rows.total} × {columns.total} cells"
    if not found.judged:
        yield f"A quicker look at {size} could tell nothing."
    elif not found.differs:
        known = "" if found.judged == found.cells else f" of the {found.judged} that it could tell"
        yield f"A quicker look at {size} found backward right in every one{known}."
    else:
        yield _apart(found, size, rows, columns, worst_jacobian_cell(jacobian))


def _apart(found: ScanResult, size: str, rows: ElementRange, columns: ElementRange, here: DifferingCell | None) -> str:
    said = f"A quicker look at {size} found {'at least ' if found.more else ''}{found.differs} in which it differs"
    if found.worst is None:
        return f"{said}."
    row, column = rows.label(found.worst.row), columns.label(found.worst.column)
    if here is not None and (here.row, here.column) == (row, column):
        return f"{said}, none of them by more."
    named = f"{row} by {column}"
    numbers = f"numerical {format_number(found.worst.numerical)}, returned {format_number(found.worst.returned)}"
    return f"{said}, most at {named}: {numbers}."
