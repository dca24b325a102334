"""The judge on trial: right Functions with one change to the arithmetic of their backward.

``MUTANTS_EVERY=20`` looks at one in twenty, drawn by a fixed seed; ``MUTANTS_SEED=1`` draws others.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import torch
from explanations import NONE, contradiction
from mutant_subjects import Original, originals
from mutant_trials import Beside, Checked, check_files, look_beside
from mutation import Mutation, mutations
from report import Report, Table, Target, in_brackets

EVERY = int(os.environ.get("MUTANTS_EVERY", "3"))
SEED = int(os.environ.get("MUTANTS_SEED", "0"))
FILES_A_COMMAND = 40
MIN_NAMED, MIN_TRUE, MIN_MUTANTS = 0.97, 0.95, 1000


@dataclass(frozen=True)
class Tried:
    """An original, or a mutant of it, and what was said of it."""

    original: Original
    mutation: Mutation | None
    checked: Checked
    beside: Beside

    @property
    def right(self) -> bool:
        """Whether it is an original that claims to be right, and that gradcheck accepts."""
        return self.mutation is None and self.original.right and self.beside.accepted


@dataclass(frozen=True)
class Mutant:
    """A mutant beside its original."""

    tried: Tried
    of: Tried

    @property
    def same_call(self) -> bool:
        """Whether it is called as its original is."""
        return self.tried.beside.call == self.of.beside.call

    @property
    def different(self) -> bool:
        """Whether its gradient is another one anywhere."""
        return bool(self.tried.beside.where)

    @property
    def named(self) -> bool:
        """Whether it fails the check: where its original fails, in another way."""
        mutant, original = self.tried.checked, self.of.checked
        return not mutant.ok and (
            original.ok or (mutant.word, set(mutant.faults)) != (original.word, set(original.faults))
        )

    @property
    def warned(self) -> bool:
        """Whether it passes with a warning that its original does not have: backward raises where forward runs."""
        return not self.named and self.tried.checked.warned and not self.of.checked.warned

    @property
    def rejected(self) -> bool:
        """Whether gradcheck tells it from its original."""
        return self.of.beside.accepted and not self.tried.beside.accepted

    @property
    def fair(self) -> bool:
        """Whether the original is right: it passes the check, or it claims to be right and gradcheck accepts it."""
        return self.of.checked.ok or self.of.right

    @property
    def explained(self) -> bool:
        """Whether it is said why backward differs."""
        return any(NONE not in each for each in self.tried.checked.explanations)

    @property
    def contradiction(self) -> str:
        """The explanation that cannot be true of its mutation; empty where there is none."""
        mutation = self.tried.mutation
        return contradiction(mutation, self.tried.checked.explanations) if mutation else ""

    @property
    def row(self) -> tuple[str, ...]:
        """What it is, where it differs, and the two words."""
        mutation, gradcheck = self.tried.mutation, "accepted" if self.tried.beside.accepted else "rejected"
        return (
            self.of.original.name,
            mutation.short if mutation else "",
            f"`{self.of.beside.call}`",
            self.tried.beside.where,
            self.tried.checked.said,
            gradcheck if self.of.beside.accepted else f"{gradcheck}, as the original",
        )


def measure() -> Report:
    """How many mutants are called as their originals are, how many are named, and those that are not."""
    torch.set_num_threads(1)
    with TemporaryDirectory() as folder:
        tried = _tried(Path(folder))
    originals_ = {id(each.original): each for each in tried if each.mutation is None}
    mutants = [Mutant(each, originals_[id(each.original)]) for each in tried if each.mutation]
    fair = [each for each in mutants if each.fair]
    unfair = [each for each in mutants if not each.fair]
    survivors = [each for each in fair if each.different and not each.named]
    strangers = [each for each in mutants if not each.same_call]
    accused = [each for each in originals_.values() if not each.checked.ok]
    explained = [each for each in fair if each.different and each.explained and each.of.checked.ok]
    return Report(
        [
            Table("Mutants of right Functions", HEADINGS, _counted(fair), NOTE),
            Table("… and of those that are not right to begin with", HEADINGS, _counted(unfair), NOTE_UNFAIR),
            Table("By kind of mutation", HEADINGS, _by_kind(fair)),
            Table("Survivors", SURVIVOR, [each.row for each in survivors]),
            Table(
                "Explanations that contradict the mutation",
                CONTRADICTED,
                [_told(each) for each in explained if each.contradiction],
            ),
            Table("Called in another way", CALLED, [_calls(each) for each in strangers]),
            Table("Originals that do not pass", ACCUSED, [_accused(each) for each in accused]),
        ],
        [*_targets(mutants, fair, survivors, strangers, accused), _target_of_explanations(explained)],
    )


HEADINGS = ("of", "Functions", "mutants", "same call", "differ", "**named**", "only warned of", "rejected by gradcheck")
SURVIVOR = ("Function", "mutation", "call", "differs by", "`--check`", "gradcheck")
CALLED = ("Function", "mutation", "differs by", "`--check`", "call of the original", "call of the mutant")
CONTRADICTED = ("Function", "mutation", "call", "explanation")
ACCUSED = ("Function", "call", "`--check`", "gradcheck")
NOTE = (
    "One change to backward each, written into a copy of the module. A mutant differs if its gradient does by more "
    "than rounding, anywhere that was looked at: at the call of its original, at other numbers and scales, or with "
    "another parameter. Named: `--check` fails; where it does for the original, too, in another way. Only warned of: "
    "it passes, with the warning that backward raises in a call that forward takes, which its original has not. "
    "gradcheck is asked at the very call of the original, in float64. The last three columns are of those that differ."
)
NOTE_UNFAIR = (
    "Surrogates, and what else is no derivative: nobody can tell a wrong one by its forward. Right is an original that "
    "passes the check, or that is meant to be right and is accepted by gradcheck."
)


def _sampled() -> list[tuple[Original, list[Mutation]]]:
    """The originals that were drawn, with their mutations."""
    every = [(original, each) for original in originals() for each in mutations(original.source, original.name)]
    drawn = [every[place] for place in sorted(Random(SEED).sample(range(len(every)), len(every) // EVERY))]
    groups = dict[int, tuple[Original, list[Mutation]]]()
    for original, mutation in drawn:
        groups.setdefault(id(original), (original, []))[1].append(mutation)
    return list(groups.values())


def _tried(folder: Path) -> list[Tried]:
    """The originals that were drawn and their mutants, each in a file of its own."""
    files = {
        _written(folder, original, mutation, number): (original, mutation)
        for number, (original, drawn) in enumerate(_sampled())
        for mutation in (None, *drawn)
    }
    checked, paths = dict[Path, Checked](), list(files)
    for start in range(0, len(paths), FILES_A_COMMAND):
        some = paths[start : start + FILES_A_COMMAND]
        checked |= check_files([(path, files[path][0].name) for path in some])
        sys.stderr.write(f"{start + len(some)} of {len(paths)} files checked\n")
    calls, tried = dict[int, str](), []
    for path, (original, mutation) in files.items():
        beside = look_beside(path, original, calls.get(id(original)))
        calls.setdefault(id(original), beside.call)
        tried.append(Tried(original, mutation, checked[path], beside))
    return tried


def _written(folder: Path, original: Original, mutation: Mutation | None, number: int) -> Path:
    stem = f"{original.function.__module__.rpartition('.')[2]}_{original.name}_{number}"
    path = folder / f"{stem}_{len(list(folder.glob(f'{stem}_*.py')))}.py"
    path.write_text(mutation.source if mutation else original.source, encoding="utf-8")
    return path


# ---------------------------------------------------------------- tables


def _counted(mutants: list[Mutant]) -> list[tuple[str, ...]]:
    names = dict.fromkeys(each.of.original.collection for each in mutants)
    rows = [
        (f"`{name}`" if "." in name else name, *_row([each for each in mutants if each.of.original.collection == name]))
        for name in names
    ]
    return [*rows, ("**all**", *_row(mutants))]


def _by_kind(mutants: list[Mutant]) -> list[tuple[str, ...]]:
    kinds = Counter(each.tried.mutation.kind for each in mutants if each.tried.mutation)
    return [
        (kind, *_row([each for each in mutants if each.tried.mutation and each.tried.mutation.kind == kind]))
        for kind, _ in kinds.most_common()
    ]


def _row(mutants: list[Mutant]) -> tuple[str, ...]:
    different = [each for each in mutants if each.different]
    return (
        str(len({id(each.of) for each in mutants})),
        str(len(mutants)),
        _share(sum(each.same_call for each in mutants), len(mutants)),
        str(len(different)),
        f"**{_share(sum(each.named for each in different), len(different))}**",
        _share(sum(each.warned for each in different), len(different)),
        _share(sum(each.rejected for each in different), len(different)),
    )


def _share(count: int, of: int) -> str:
    return f"{count} ({count / of:.0%})" if of else "0"


def _calls(each: Mutant) -> tuple[str, ...]:
    calls = (each.of.beside, each.tried.beside)
    name, mutation, _, where, said, _ = each.row
    return (name, mutation, where, said, *(f"`{one.call}`" if one.call else f"none: {one.trouble}" for one in calls))


def _told(each: Mutant) -> tuple[str, ...]:
    name, mutation, call, *_ = each.row
    return name, mutation, call, each.contradiction


def _target_of_explanations(explained: list[Mutant]) -> Target:
    true = sum(not each.contradiction for each in explained)
    share = true / max(len(explained), 1)
    return Target(
        f"{MIN_TRUE:.0%} of the explanations are those of the mutation",
        f"{true} of {len(explained)}, {share:.1%}",
        share >= MIN_TRUE,
    )


def _accused(each: Tried) -> tuple[str, ...]:
    call = f"`{each.beside.call}`" if each.beside.call else "none"
    return each.original.name, call, each.checked.said, "accepts it" if each.beside.accepted else "rejects it"


def _targets(
    mutants: list[Mutant], fair: list[Mutant], survivors: list[Mutant], strangers: list[Mutant], accused: list[Tried]
) -> list[Target]:
    different = sum(each.different for each in fair)
    named = 1 - len(survivors) / max(different, 1)
    wrongly = [each.original.name for each in accused if each.right]
    return [
        Target("every mutant is called as its original", f"{len(strangers)} are not", not strangers),
        Target(f"{MIN_NAMED:.0%} of those that differ are named", f"{named:.1%}", named >= MIN_NAMED),
        Target(f"{MIN_MUTANTS} mutants", str(len(mutants)), len(mutants) >= MIN_MUTANTS),
        Target(
            "no right original is accused",
            f"{len(wrongly)} {in_brackets(wrongly)}",
            not wrongly,
        ),
    ]
