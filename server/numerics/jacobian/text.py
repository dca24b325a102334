"""The Jacobian in words: where backward differs, its sparsity, and the gradients that are dropped or unfounded."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...protocol.listed import first_few, listed
from ..differentiation.finite_differences import PointKind
from ..formatting.numbers import format_distinct, format_number
from ..sentences.names import MOST_NAMED
from ..status import AGREEING, Status
from .cell_status import DifferingCell
from .dependence import Dependence, LossLinks
from .diagnosis import diagnose_jacobian
from .jacobian import Jacobian
from .sparsity import sparsity_sentence

_KIND_NAMES = {
    PointKind.KINK: ("kink", "kinks"),
    PointKind.JUMP: ("jump", "jumps"),
    PointKind.EDGE: ("cell at the edge of the domain", "cells at the edge of the domain"),
    PointKind.NONFINITE: ("cell without a finite value", "cells without a finite value"),
}
_NONE_HINT = (
    "With set_materialize_grads(False), backward is given None for an output that the loss does not use, and has to "
    "test for it."
)


def jacobian_sentence(jacobian: Jacobian, span: float) -> str:
    """What the picture shows, most important first."""
    if jacobian.failure is not None:
        return f"backward raised {jacobian.failure.raised}. Only the numerical Jacobian is shown."
    return " ".join(
        [*_verdict(jacobian, span), *_marked(jacobian), *_scan_sentence(jacobian), sparsity_sentence(jacobian)]
    ).strip()


def worst_jacobian_cell(jacobian: Jacobian) -> DifferingCell | None:
    """The cell of the block in which backward is furthest off; None where it differs nowhere."""
    rows, across = jacobian.rows, jacobian.across
    if jacobian.returned is None:
        return None
    cells, labels = (rows.elements, across.elements), (rows.label, across.label)
    return jacobian.numerical.worst(jacobian.returned.ravel(), cells, labels)


def count_differing_cells(jacobian: Jacobian) -> int:
    """In how many cells backward differs from what it is to be: the derivative of forward or that of its surrogate."""
    return int((jacobian.meant or jacobian.numerical).where(Status.DIFFERS).sum())


def _verdict(jacobian: Jacobian, span: float) -> Iterator[str]:
    if reason := _why_uncompared(jacobian):
        yield reason
        return
    differing, cells = int(jacobian.numerical.where(Status.DIFFERS).sum()), jacobian.numerical.status.size
    if not differing:
        yield _agrees(jacobian, int(jacobian.numerical.where(*AGREEING).sum()))
        return
    yield f"backward differs from forward's differences {_count(differing, cells, jacobian)}{_example(jacobian)}."
    off = count_differing_cells(jacobian)
    if not off:
        yield "It is the Jacobian of its surrogate, as intended."
        return
    if diagnosis := diagnose_jacobian(jacobian, span):
        yield diagnosis
    if jacobian.meant is not None:
        yield f"It should be the Jacobian of its surrogate, and is not {_count(off, cells, jacobian)}."


def _why_uncompared(jacobian: Jacobian) -> str:
    of, wrt = jacobian.rows.name, jacobian.across.name
    if not jacobian.deterministic:
        return f"forward is random: two equal calls differ, so no derivative of {of} by {wrt} can be measured."
    if jacobian.section.sweeps_parameter:
        return f"{wrt} is a parameter, for which backward returns nothing: numerical sensitivity only."
    if jacobian.integer:
        return f"{of} holds {jacobian.integer} numbers, which carry no gradient: only the numerical Jacobian is shown."
    if jacobian.returned is None:
        return f"{of} carries no gradient, so backward is never called for it: only the numerical Jacobian is shown."
    return ""


def _agrees(jacobian: Jacobian, right: int) -> str:
    cells = jacobian.numerical.status.size
    if not right:
        return f"No derivative of {jacobian.rows.name} by {jacobian.across.name} could be measured here."
    if cells == 1:
        row, column = jacobian.rows.label(jacobian.rows.first), jacobian.across.label(jacobian.across.first)
        at = "" if jacobian.whole else f" for {row} by {column}"
        assert jacobian.returned is not None
        return f"backward returns {format_number(float(jacobian.returned[0, 0]))}{at}, as measured."
    others = "" if right == cells else "; the others could not be checked"
    return f"backward agrees with finite differences {_count(right, cells, jacobian)}{others}."


def _count(some: int, cells: int, jacobian: Jacobian) -> str:
    if cells == 1:
        return "here"
    where = "" if jacobian.whole else " of this block"
    return f"in all {cells} cells{where}" if some == cells else f"in {some} of {cells} cells{where}"


def _example(jacobian: Jacobian) -> str:
    cell = worst_jacobian_cell(jacobian)
    if cell is None:
        return ""
    single = format_distinct(cell.numerical, cell.returned)
    numerical = " to ".join(map(format_number, cell.sides)) if cell.sides else single
    most = "" if jacobian.numerical.status.size == 1 else f", most at {cell.of} by {cell.wrt}"
    return f"{most}: numerical {numerical}, returned {format_distinct(cell.returned, cell.numerical)}"


def _marked(jacobian: Jacobian) -> Iterator[str]:
    """The cells in which differences have no single number to show."""
    kinds = jacobian.numerical.slopes.kind
    marked = [(kinds == kind, names) for kind, names in _KIND_NAMES.items()]
    if jacobian.deterministic and jacobian.returned is not None:
        unmarked = np.isin(kinds, (PointKind.SMOOTH, PointKind.UNRESOLVED))
        marked.append((jacobian.numerical.where(Status.UNDECIDED) & unmarked, ("undecided cell", "undecided cells")))
    parts = [f"{cells.sum()} {names[int(cells.sum() > 1)]}" for cells, names in marked if cells.any()]
    if parts:
        yield f"Marked: {listed(parts)}."


def _scan_sentence(jacobian: Jacobian) -> Iterator[str]:
    scan, shown = jacobian.elsewhere, worst_jacobian_cell(jacobian)
    if scan is None:
        return
    check = f"A quicker check of all {jacobian.rows.total} × {jacobian.across.total} cells"
    differ = f"{check} found {'at least ' if scan.more else ''}{scan.differs} in which it differs"
    if not scan.judged:
        yield f"{check} was inconclusive."
    elif not scan.differs:
        judged = "" if scan.judged == scan.cells else f" of the {scan.judged} it could check"
        yield f"{check} found backward right in every one{judged}."
    elif (worst := scan.worst) is None:
        yield f"{differ}."
    elif shown is not None and (shown.of, shown.wrt) == (worst.of, worst.wrt):
        yield f"{differ}, none of them by more."
    else:
        numbers = f"numerical {format_number(worst.numerical)}, returned {format_number(worst.returned)}"
        yield f"{differ}, most at {worst.of} by {worst.wrt}: {numbers}."


def other_tensors_sentence(influence: Dependence, of: str, wrt: str) -> str:
    """What is wrong with other pairs of tensors than the one shown, empty where nothing is."""
    wrong = []
    for loss in influence.losses:
        if len(loss.outputs) > 1 or influence.surrogate:
            continue
        output = loss.outputs[0]
        if loss.failure and output != of:
            wrong.append(f"with a loss on {output} backward raises")
        for name, link, right in zip(influence.inputs, loss.links[0], loss.right, strict=False):
            if (output, name) != (of, wrt) and (link == "dropped" or right is False):
                wrong.append(f"{output} by {name} is {'dropped' if link == 'dropped' else 'wrong'}")
    if not wrong:
        return ""
    return f"Wrong for other tensors: {first_few(wrong, MOST_NAMED)}; see below which input reaches which output."


def loss_name(loss: LossLinks) -> str:
    """The name of a loss: the output it looks at, or how many."""
    if len(loss.outputs) == 1:
        return loss.outputs[0]
    return "both" if len(loss.outputs) == 2 else "all"


def dependence_sentences(influence: Dependence, loss: LossLinks) -> Iterator[str]:
    """One loss in words: the inputs a gradient arrives at, those dropped or unfounded, and what backward raised."""
    qualifier = " alone" if len(influence.outputs) > 1 and len(loss.outputs) == 1 else ""
    beginning = f"With the loss on {listed(loss.outputs) if len(loss.outputs) < 3 else 'all outputs'}{qualifier}"
    if loss.failure:
        yield f"{beginning}, backward raised {loss.failure}."
        if "NoneType" in loss.failure:
            yield _NONE_HINT
        return
    silent = [name for name in loss.outputs if not influence.carries[influence.outputs.index(name)]]
    no_gradient = f"{listed(silent)} {'carries' if len(silent) == 1 else 'carry'} no gradient" if silent else ""
    if len(silent) == len(loss.outputs):
        yield f"{beginning}, backward is not called: {no_gradient}."
        return
    found = {name: set(links) for name, links in zip(influence.inputs, zip(*loss.links, strict=True), strict=True)}
    arrives, unfounded, dropped, vague = (
        [name for name, links in found.items() if word in links]
        for word in ("arrives", "unfounded", "dropped", "unknown")
    )
    if arrives:
        yield f"{beginning}, a gradient arrives at {listed(arrives)}."
    else:
        still = "which depends on no input here, no gradient is expected"
        yield f"{beginning}, {'no gradient arrives' if dropped or vague else still}."
    if silent:
        yield f"{no_gradient}."
    yield from _dropped_links(influence, loss)
    if unfounded:
        yield f"A gradient arrives at {listed(unfounded)}, with which the loss does not move here."
    still_inputs = [name for name, links in found.items() if links == {"nothing"}]
    if still_inputs and len(still_inputs) < len(found):
        has = "has" if len(still_inputs) == 1 else "have"
        yield f"{listed(still_inputs)} {has} no influence here, and no gradient."
    if vague:
        yield f"Whether it depends on {listed(vague)} is undetermined here: forward has a kink, or no slope."
    wrong = [name for name, right in zip(influence.inputs, loss.right, strict=True) if right is False]
    reported = [name for name in wrong if name in arrives and name not in dropped]
    if influence.surrogate:
        if wrong or dropped or unfounded:
            yield "It is the gradient of its surrogate, as intended."
    elif reported:
        yield f"What arrives at {listed(reported)} is not the numerical derivative of the loss."


def _dropped_links(influence: Dependence, loss: LossLinks) -> Iterator[str]:
    for output, row in zip(loss.outputs, loss.links, strict=True):
        dropped: dict[str, list[str]] = {"None": [], "0": [], "gradient": []}
        for name, link, came in zip(influence.inputs, row, loss.returned, strict=True):
            dropped[came] += [name] * (link == "dropped")
        for what, came in (("None", "None, which autograd takes for 0"), ("0", "0")):
            if dropped[what]:
                yield f"{output} moves with {listed(dropped[what])}, but what comes back is {came}: dropped."
        if dropped["gradient"]:
            yield f"The part of {listed(dropped['gradient'])} that goes through {output} is dropped."
