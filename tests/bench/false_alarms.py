"""How often a right Function is accused, at three ranges and in two dtypes, by gradcheck and by us."""

from __future__ import annotations

from collections import Counter

import numpy as np
import torch
from functions.correct import INNOCENTS, Innocent
from functions.tails import FAINT
from report import Report, Table, Target, in_brackets
from support.sections import look, op_of, section

DTYPES = {"float64": torch.float64, "float32": torch.float32}
RANGE_NAMES = ("as one first looks", "from very near", "from far away")
ACCUSED = {"differs", "matches here", "failed"}
GRADCHECK_POINTS = 6  # numbers that gradcheck is given


def measure() -> Report:
    """The tables of innocents, and how many are accused."""
    torch.set_num_threads(1)
    rows, accused, undecided = [], [], []
    for kind, dtype in DTYPES.items():
        for index, range_name in enumerate(RANGE_NAMES):
            words = {name: _word(each, index, dtype) for name, each in INNOCENTS.items()}
            counted = Counter(words.values())
            guilty = [name for name, word in words.items() if word in ACCUSED]
            unsure = [name for name, word in words.items() if word == "undecided"]
            accused += guilty
            undecided += unsure
            rejected = sum(not _gradchecked(each, index, dtype) for each in INNOCENTS.values())
            rows.append(
                (
                    f"{kind}, {range_name}",
                    str(counted["matches"]),
                    f"{len(unsure)} {in_brackets(unsure)}",
                    f"**{len(guilty)}** {in_brackets(guilty)}",
                    str(rejected),
                )
            )
    headings = ("looked at", "matches", "undecided", "**accused**", "rejected by gradcheck")
    note = (
        f"{len(INNOCENTS)} right Functions: built-ins, activations, losses, what is done to vectors and matrices. "
        f"gradcheck with its defaults is given {GRADCHECK_POINTS} numbers, equally far apart in the same range."
    )
    looks = len(INNOCENTS) * len(DTYPES) * len(RANGE_NAMES)
    faint, of_faint = _faint()
    targets = [
        Target("none accused", f"{len(accused)} of {looks} looks", not accused),
        Target("few undecided (at most 2 %)", f"{len(undecided)}", len(undecided) <= 0.02 * looks),
        Target("none accused where it is faint", f"{len(faint)} of {of_faint} looks", not faint),
    ]
    return Report([Table("Innocents", headings, rows, note), _faint_table(faint, of_faint)], targets)


def _word(each: Innocent, index: int, dtype: torch.dtype) -> str:
    return look(each.op, *each.ranges[index], each.count, wrt=each.wrt, of=each.of, dtype=dtype)[1].word


def _gradchecked(each: Innocent, index: int, dtype: torch.dtype) -> bool:
    """What gradcheck says of the same section at a few numbers of the same range, none of them 0."""
    cut = section(each.op, each.wrt, each.of, dtype)
    start, stop = each.ranges[index]
    swept = np.linspace(start, stop, GRADCHECK_POINTS + 2)[1:-1]

    def at(x: torch.Tensor) -> torch.Tensor:
        arguments = []
        for one in each.op.inputs:
            values = torch.tensor(dict(cut.inputs)[one.name], dtype=dtype).reshape(one.shape)
            if one.name == cut.wrt:
                values = values.index_put(tuple(map(torch.tensor, cut.wrt_index)), x) if one.shape else x
            arguments.append(values)
        y = each.op(*arguments)
        return y[cut.of_index]

    try:
        return all(torch.autograd.gradcheck(at, (torch.tensor(x, dtype=dtype, requires_grad=True),)) for x in swept)
    except RuntimeError:
        return False


def _faint() -> tuple[list[str], int]:
    """Those accused in their tails or where they cancel, and how often it was looked there."""
    words = {
        f"{name} on [{start:g}, {stop:g}], {kind}": look(op_of(function), start, stop, dtype=dtype)[1].word
        for name, (function, ranges) in FAINT.items()
        for start, stop in ranges
        for kind, dtype in DTYPES.items()
    }
    return [name for name, word in words.items() if word in ACCUSED], len(words)


def _faint_table(faint: list[str], looks: int) -> Table:
    rows = [(f"{looks - len(faint)} of {looks}", f"**{len(faint)}** {in_brackets(faint)}")]
    note = "Tails, and forwards whose digits cancel: gelu on [−9, −5], 1 − cos x on ±1e-5 …"
    return Table("… and where little is left of them", ("not accused", "**accused**"), rows, note)
