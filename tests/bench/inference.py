"""Calls inferred for Functions that nobody declared: found, swept, and whether the verdict is right."""

from __future__ import annotations

import inspect
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from statistics import median
from types import ModuleType

import numpy as np
import torch
from report import Report, Table, Target
from support.sections import look, section
from torch.autograd import Function

from gradloupe.ops import OPS, Op
from gradloupe.server.inference.construction.op import op_of
from gradloupe.server.inference.infer import NotInferred, infer

MIN_FOUND = 0.75
DTYPES = {"float64": torch.float64, "float32": torch.float32}

# Of torch's own, these two are no derivatives on purpose, and three more are none when one reads them: of two backward
# adds or returns what is not multiplied by grad_output, and NumpySort returns what it was given, not sorted.
WRONG_ON_PURPOSE = {"ScaleGradGenVmap", "ZeroGradientsGenVmap", "CubeGenVmap", "NumpyCubeNotComposable", "NumpySort"}
RANDOM = {"poisson_pass"}  # forward throws dice: whether they follow x can be seen or not


@dataclass(frozen=True)
class Undeclared:
    """A Function of a ``collection``, and the words of which one is the right verdict on it."""

    collection: str
    name: str
    function: type[Function]
    right: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """What became of a subject: the ``recipe`` found, the verdict's ``word``, or ``why`` it is not the right one."""

    subject: Undeclared
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
        return self.word in self.subject.right

    @property
    def row(self) -> tuple[str, ...]:
        """The row of a table."""
        recipe = f"`{self.recipe}`" if self.recipe else ""
        return (self.subject.name, recipe, self.word, " or ".join(self.subject.right), self.why)


def measure() -> Report:
    """How many were found, swept and judged rightly, by where they come from, and all that were not."""
    torch.set_num_threads(1)
    outcomes = [_outcome(each) for each in undeclared_functions()]
    names = dict.fromkeys(each.subject.collection for each in outcomes)
    groups = {name: [each for each in outcomes if each.subject.collection == name] for name in names}
    rows = [(f"`{name}`" if "." in name else name, *_counted(group)) for name, group in groups.items()]
    rows.append(("**all**", *_counted(outcomes)))
    wrong = [each.row for each in outcomes if not each.right]
    took = [each.seconds for each in outcomes]
    found = sum(bool(each.recipe) for each in outcomes) / len(outcomes)
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
            Target(f"recipes for {MIN_FOUND:.0%} of them", f"{found:.0%}", found >= MIN_FOUND),
        ],
    )


def _outcome(subject: Undeclared) -> Outcome:
    began = time.perf_counter()
    try:
        guess = infer(subject.function)
    except NotInferred as error:
        return Outcome(subject, time.perf_counter() - began, why=str(error).partition(";")[0])
    seconds, recipe = time.perf_counter() - began, guess.recipe.text()
    try:
        op = op_of(subject.function, guess.recipe, subject.name, subject.name, subject.collection)
    except NotInferred as error:
        return Outcome(subject, seconds, recipe, why=str(error))
    word, why = _judged(op)
    return Outcome(subject, seconds, recipe, word, why)


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


def _counted(group: list[Outcome]) -> tuple[str, ...]:
    reasons = Counter(
        "no recipe" if not each.recipe else "backward or forward raises" if not each.swept else f"says {each.word}"
        for each in group
        if not each.right
    )
    counts = (len(group), sum(bool(each.recipe) for each in group), sum(each.swept for each in group))
    why = ", ".join(f"{count} {reason}" for reason, count in reasons.items())
    return (*map(str, counts), str(sum(each.right for each in group)), why)


def undeclared_functions() -> Iterator[Undeclared]:
    """All of them; the packages are those that ``requirements.txt`` names."""
    torch_tests = "torch.testing._internal.autograd_function_db"
    for each in _functions_of(import_module(torch_tests)):
        yield Undeclared(
            torch_tests, each.__name__, each, ("differs" if each.__name__ in WRONG_ON_PURPOSE else "matches",)
        )
    spiking = "spikingjelly.activation_based.surrogate"
    for each in _functions_of(import_module(spiking)):
        # forward is a step and backward the slope of something smooth: without a declaration that is a difference.
        right = ("differs", "undecided") if each.__name__ in RANDOM else ("differs",)
        yield Undeclared(spiking, each.__name__, each, right)
    for module in ("activations", "losses", "root_finding"):
        for each in _functions_of(import_module(f"entmax.{module}")):
            yield Undeclared("entmax", each.__name__, each, ("matches",))
    for name, op in OPS.items():
        yield Undeclared("our gallery", name, op.function, (_declared(op),))


def _functions_of(module: ModuleType) -> list[type[Function]]:
    """The Functions that a module defines, in its order, without those that only others derive from."""
    found = [each for each in vars(module).values() if inspect.isclass(each) and issubclass(each, Function)]
    return [each for each in found if each.__module__ == module.__name__ and not each.__name__.startswith("_")]


def _declared(op: Op) -> str:
    """The verdict on the op as it is declared, but for its surrogate, which no Function tells of itself."""
    plain = replace(op, surrogate=None, surrogate_formula="")
    start, stop = next((each.domain for each in op.inputs if each.name == section(op).wrt), (-3.0, 3.0))
    return look(plain, start, stop)[1].word
