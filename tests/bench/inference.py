"""Calls inferred for Functions that nobody declared: found, swept, and whether the verdict is right."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from statistics import median

import numpy as np
import torch
from report import Report, Table, Target
from strangers import Stranger, strangers
from support.sections import look, section

from gradloupe.ops import Op
from gradloupe.server.inference.construction.op import op_of
from gradloupe.server.inference.infer import NotInferred, infer

AT_LEAST = 0.75
DTYPES = {"float64": torch.float64, "float32": torch.float32}


@dataclass(frozen=True)
class Seen:
    """What became of a stranger: the ``recipe`` found, the verdict's ``word``, or ``why`` it is not the right one."""

    stranger: Stranger
    seconds: float
    recipe: str = ""
    word: str = ""
    why: str = ""

    @property
    def swept(self) -> bool:
        """Whether there are curves of forward and of backward."""
        return self.word not in ("", "failed")

    @property
    def right(self) -> bool:
        """Whether the verdict is the one that is known to be right."""
        return self.word in self.stranger.right

    @property
    def row(self) -> tuple[str, ...]:
        """The row of a table."""
        recipe = f"`{self.recipe}`" if self.recipe else ""
        return (self.stranger.name, recipe, self.word, " or ".join(self.stranger.right), self.why)


def measure() -> Report:
    """How many were found, swept and judged rightly, by where they come from, and all that were not."""
    torch.set_num_threads(1)
    seen = [_seen(each) for each in strangers()]
    names = dict.fromkeys(each.stranger.collection for each in seen)
    groups = {name: [each for each in seen if each.stranger.collection == name] for name in names}
    rows = [(f"`{name}`" if "." in name else name, *_counted(group)) for name, group in groups.items()]
    rows.append(("**all**", *_counted(seen)))
    wrong = [each.row for each in seen if not each.right]
    took = [each.seconds for each in seen]
    found = sum(bool(each.recipe) for each in seen) / len(seen)
    note = (
        "Each Function is given as the bare class. The verdict on ours is to be that on the op as it is declared, its "
        f"surrogate left out. Seconds to a recipe: median {median(took):.2g}, at most {max(took):.2g}."
    )
    headings = ("Functions of", "classes", "found", "swept", "verdict right", "why not")
    return Report(
        [
            Table("Bring your own Function", headings, rows, note),
            Table("Not as it should be", ("Function", "recipe", "verdict", "right", "why"), wrong),
        ],
        [
            Target("inference", f"recipes for {AT_LEAST:.0%} of them", f"{found:.0%}", found >= AT_LEAST),
        ],
    )


def _seen(stranger: Stranger) -> Seen:
    began = time.perf_counter()
    try:
        guess = infer(stranger.function)
    except NotInferred as error:
        return Seen(stranger, time.perf_counter() - began, why=str(error).partition(";")[0])
    seconds, recipe = time.perf_counter() - began, guess.recipe.text()
    try:
        op = op_of(stranger.function, guess.recipe, stranger.name, stranger.name, stranger.collection)
    except NotInferred as error:
        return Seen(stranger, seconds, recipe, why=str(error))
    word, why = _judged(op)
    return Seen(stranger, seconds, recipe, word, why)


def _judged(op: Op) -> tuple[str, str]:
    """The verdict on the section that one sees first, and what failed."""
    swept = section(op).wrt
    bounds = {each.name: each.domain for each in op.inputs}
    bounds |= {each.name: (each.minimum, each.maximum) for each in op.parameters}
    evaluation, verdict = look(op, *bounds[swept], dtype=DTYPES[op.dtype])
    if evaluation.failure:
        return verdict.word, str(evaluation.failure.first)
    flat = np.unique(evaluation.forward[np.isfinite(evaluation.forward)]).size < 2
    return verdict.word, "forward does not move with what is swept" if flat else ""


def _counted(group: list[Seen]) -> tuple[str, ...]:
    reasons = Counter(
        "no recipe" if not each.recipe else "backward or forward raises" if not each.swept else f"says {each.word}"
        for each in group
        if not each.right
    )
    counts = (len(group), sum(bool(each.recipe) for each in group), sum(each.swept for each in group))
    why = ", ".join(f"{count} {reason}" for reason, count in reasons.items())
    return (*map(str, counts), str(sum(each.right for each in group)), why)
