"""Proofs: what is proved of the gallery, of mutants, of random sums and of strangers' Functions; and what peers say.

``MUTANTS_EVERY`` and ``MUTANTS_SEED`` are those of ``mutants``.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import torch
from functions.random_sums import RandomCurve, random_sum
from inference import undeclared_functions
from proof_trials import Trial, tried_mutants, tried_stranger
from report import Report, Table, Target
from support.sections import look, section

from gradloupe.ops import OPS, Op
from gradloupe.server.proof import AT_MOST, Proof, prove

MIN_DECIDED, MOST_SECONDS, MIN_MUTANTS = 62, 2.0, 1000
POSITIONS = 5  # of the sliders, drawn at random
GRADCHECK_POINTS = 6
SUMS, EACH_WRONG = 600, 4
DECIDED = ("proved", "refuted")
WRONG: dict[str, Callable[[RandomCurve], Callable[[torch.Tensor], torch.Tensor]]] = {
    "× 1.01": lambda each: lambda x: torch.full_like(x, 1.01),
    "× 1.00001": lambda each: lambda x: torch.full_like(x, 1.00001),
    "the other sign": lambda each: lambda x: -torch.ones_like(x),
    "× 1.5 in half a cell": RandomCurve.half_a_cell,
}


@dataclass(frozen=True)
class Looked:
    """An op, what is proved of it in how many seconds, and what our measurement and gradcheck say in how many."""

    name: str
    claim: str
    proof: Proof
    seconds: float
    measured: str
    measured_seconds: float
    gradcheck: str
    gradcheck_seconds: float

    @property
    def row(self) -> tuple[str, ...]:
        """The row of a table."""
        proof = self.proof
        why = proof.reason or ", ".join(f"[{start:.4g}, {stop:.4g}]" for start, stop in proof.refuted[:2])
        return (
            *(self.name, self.claim, f"{proof.word}{', on the whole line' * proof.everywhere} {why}"),
            *(proof.grad_output, f"{proof.share:.2%}", f"{proof.epsilon:g}"),
            *(str(len(proof.points)), str(proof.boxes), f"{self.seconds * 1e3:.1f}"),
            *(
                self.measured,
                f"{self.measured_seconds * 1e3:.0f}",
                self.gradcheck,
                f"{self.gradcheck_seconds * 1e3:.0f}",
            ),
        )


def measure() -> Report:
    """All tables, and the targets."""
    torch.set_num_threads(1)
    proved_of("cube")  # what is imported at the first
    looked = [_looked(name) for name in OPS if _is_scalar(OPS[name])]
    tensors = [_looked(name) for name in OPS if not _is_scalar(OPS[name]) and not section(name).sweeps_parameter]
    moved = _moved()
    mutants = tried_mutants()
    sums, false_sums, wrong_sums = _census()
    strangers = [tried_stranger(each) for each in undeclared_functions() if each.collection != "our gallery"]
    decided, seconds = sum(each.proof.word in DECIDED for each in looked), sum(each.seconds for each in looked)
    false = [each for each in mutants if each.false]
    return Report(
        [
            Table("Ops of the gallery of one number", HEADINGS, [each.row for each in looked], NOTE),
            Table("… and an element of those of tensors", HEADINGS, [each.row for each in tensors]),
            Table("At five positions of the sliders each", ("proved", "refuted", "in part", "nothing"), [moved]),
            Table("Mutants", ("original", "mutant", "how many"), _by_words(mutants), NOTE_MUTANTS),
            Table("Random sums that are right", ("word", "how many"), [(w, str(n)) for w, n in sums.most_common()]),
            Table("… and that are wrong", ("backward", "word", "how many"), wrong_sums),
            Table("Strangers' classes", ("said", "how many"), _said(strangers)),
        ],
        [
            Target(f"{MIN_DECIDED} of 66 proved or refuted", f"{decided} of {len(looked)}", decided >= MIN_DECIDED),
            Target(f"in {MOST_SECONDS:g} processor seconds", f"{seconds:.2f} s", seconds <= MOST_SECONDS),
            Target(f"{MIN_MUTANTS} mutants", str(len(mutants)), len(mutants) >= MIN_MUTANTS),
            Target("no false proof of a mutant", f"{len(false)} {[each.what for each in false]}", not false),
            Target("no false proof of a sum", str(false_sums), not false_sums),
        ],
    )


HEADINGS = (
    *(
        "op",
        "claim",
        "**proof**",
        "grad_output",
        "share",
        "ε",
        "points",
        "boxes",
        "ms",
        "our measurement",
        "ms",
        "gradcheck",
        "ms",
    ),
)
NOTE = (
    "Over the op's own range, against its surrogate if it has one; milliseconds of the processor. gradcheck is given "
    f"{GRADCHECK_POINTS} numbers, and knows of no surrogate."
)
NOTE_MUTANTS = (
    "Of each original and each mutant the section that is shown first. False is a proof where backward differs in one "
    "of its stretches from a derivative of forward that is proved for the original, or measured."
)


def proved_of(name: str, **given: Any) -> Proof:
    """What is proved of an op on its own range."""
    op, cut = OPS[name], section(name, **given)
    start, stop = next(each.domain for each in op.inputs if each.name == cut.wrt)
    found = prove(cut, op.surrogate_for(cut.wrt, op.grad_output), start, stop, op.grad_output, AT_MOST)
    assert found is not None
    return found


def _is_scalar(op: Op) -> bool:
    return all(each.shape == () for each in op.inputs) and len(op.outputs) == 1 and op.dtype == "float64"


def _looked(name: str) -> Looked:
    op, cut = OPS[name], section(name)
    start, stop = next(each.domain for each in op.inputs if each.name == cut.wrt)
    proof, seconds = _timed(lambda: proved_of(name))
    verdict, measured_seconds = _timed(lambda: look(name, start, stop, grad_output=op.grad_output)[1].word)
    swept = np.linspace(start, stop, GRADCHECK_POINTS + 2)[1:-1]
    accepted, gradcheck_seconds = _timed(lambda: _gradchecked(name, swept))
    word = "accepts" if accepted else "rejects"
    return Looked(name, op.claim, proof, seconds, verdict, measured_seconds, word, gradcheck_seconds)


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    began = time.process_time()
    return call(), time.process_time() - began


def _gradchecked(name: str, swept: Any) -> bool:
    op, cut = OPS[name], section(name)

    def at(x: torch.Tensor) -> torch.Tensor:
        arguments = []
        for each in op.inputs:
            values = torch.tensor(dict(cut.inputs)[each.name], dtype=torch.float64).reshape(each.shape or (1,))
            place = cut.wrt_index or (0,)
            arguments.append(values.index_put(tuple(map(torch.tensor, place)), x) if each.name == cut.wrt else values)
        outputs = op(*arguments, *(value for _, value in cut.parameters))
        output = outputs[op.outputs.index(cut.of)] if isinstance(outputs, tuple) else outputs
        return output[cut.of_index or (0,)]

    try:
        return all(torch.autograd.gradcheck(at, (torch.tensor(x, requires_grad=True),)) for x in swept)
    except Exception:  # noqa: BLE001 - what it raises is a rejection, too
        return False


def _moved() -> tuple[str, ...]:
    """The words at random positions of the sliders, of all scalar ops that have some."""
    random, words = Random(0), Counter[str]()
    for name, op in OPS.items():
        for _ in range(POSITIONS if _is_scalar(op) and op.parameters else 0):
            given = {
                each.name: random.randint(int(each.minimum), int(each.maximum))
                if each.kind == "int"
                else random.uniform(each.minimum, each.maximum)
                for each in op.parameters
                if each.kind in ("int", "float")
            }
            words[proved_of(name, **given).word] += 1
    return tuple(str(words[each]) for each in ("proved", "refuted", "in part", "nothing"))


def _by_words(mutants: list[Trial]) -> list[tuple[str, ...]]:
    counted = Counter((each.original, each.word) for each in mutants)
    return [(*words, str(count)) for words, count in counted.most_common()]


def _census() -> tuple[Counter[str], int, list[tuple[str, ...]]]:
    """Words of right sums, how many proofs are false, and words of wrong ones."""
    sums = [each for each in map(random_sum, range(SUMS)) if each.dtype == torch.float64]
    right = Counter(_of_sum(each, torch.ones_like).word for each in sums)
    wrong, false = Counter[tuple[str, str]](), right["refuted"]
    for name, factor_of in WRONG.items():
        for each in sums[::EACH_WRONG]:
            factor = factor_of(each)
            word = _of_sum(each, factor).word
            wrong[name, word] += 1
            false += word == "proved" and each.shows(factor)
    return right, false, [(*words, str(count)) for words, count in sorted(wrong.items())]


def _of_sum(each: RandomCurve, factor: Callable[[torch.Tensor], torch.Tensor]) -> Proof:
    found = prove(section(each.op(factor)), None, each.start, each.stop)
    assert found is not None
    return found


def _said(strangers: list[str]) -> list[tuple[str, ...]]:
    return [(said, str(count)) for said, count in Counter(strangers).most_common()]
