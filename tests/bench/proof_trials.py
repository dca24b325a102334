"""Trials of proofs: mutants of right Functions, and strangers' classes, each group in a process of its own."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from inference import Undeclared
from mutant_subjects import Original, module_of_file, originals
from mutants import EVERY, SEED
from mutation import mutations
from support.sections import section
from torch.autograd import Function

from gradloupe.server.inference.construction.op import op_of
from gradloupe.server.inference.infer import infer
from gradloupe.server.proof import Proof, prove
from gradloupe.server.runtime.section import Section

SECONDS = 300  # for an original and all of its mutants
POINTS, STEP = 60, 1e-5  # of a proof, and for a difference of forward where the original's derivative is not proved
# What two may be apart, relative to the larger and to the largest: of two proofs, and of one and a difference.
APART_OF_PROOFS, APART_OF_DIFFERENCE = (2e-9, 1e-13), (1e-3, 1e-4)


@dataclass(frozen=True)
class Trial:
    """A mutant: ``what`` it is, the word of its original and its own, and whether what is proved of it is ``false``."""

    what: str
    original: str
    word: str
    false: bool


def tried_mutants() -> list[Trial]:
    """One in ``EVERY`` of all mutants."""
    random, trials = Random(SEED), list[Trial]()
    for original in originals():
        drawn = [each for each in mutations(original.source, original.name) if random.random() < 1 / EVERY]
        if drawn:
            trials += _elsewhere(lambda one=original, some=drawn: _mutants_of(one, some)) or []
    return trials


def tried_stranger(each: Undeclared) -> str:
    """The word of a class, or why nothing is said of it."""
    found = _elsewhere(lambda: _said_of(each.function))
    return found or "it takes too long, or ends its process"


def _said_of(function: type[Function]) -> str:
    try:
        proof = _proof(function, infer(function).recipe)[1]
    except Exception:  # noqa: BLE001 - whatever a stranger raises is told as this
        return "no call is found for it"
    return proof.word if proof.word != "nothing" else f"nothing: {proof.reason or 'too few boxes'}"


def _mutants_of(original: Original, drawn: list[Any]) -> list[Trial]:
    try:
        recipe = infer(original.function).recipe
        cut, proof = _proof(original.function, recipe)
    except Exception:  # noqa: BLE001 - then it is not called, nor are its mutants
        return []
    trials = []
    with TemporaryDirectory() as folder:
        for number, mutation in enumerate(drawn):
            path = Path(folder) / f"mutant_{number}.py"
            path.write_text(mutation.source, encoding="utf-8")
            what = f"{original.name}: {mutation.short}"
            try:
                mutant, proved = _proof(getattr(module_of_file(path, path.stem), original.name), recipe)
            except Exception:  # noqa: BLE001 - a mutant may raise anything; then it has no proof
                trials.append(Trial(what, proof.word, "raises", False))
                continue
            trials.append(Trial(what, proof.word, proved.word, _is_false(proved, mutant, proof, cut)))
    return trials


def _proof(function: type[Function], recipe: Any) -> tuple[Section, Proof]:
    op = op_of(function, recipe, function.__name__, function.__name__, "a trial")
    cut = section(op)
    start, stop = next(each.domain for each in op.inputs if each.name == cut.wrt)
    found = prove(cut, None, start, stop)
    assert found is not None
    return cut, found


def _is_false(proof: Proof, mutant: Section, of_original: Proof, original: Section) -> bool:
    """Whether backward is no derivative at some points that are proved."""
    if not proof.proved:
        return False
    random = Random(0)
    each = max(2, POINTS // len(proof.proved))
    t = np.array([random.uniform(*stretch) for stretch in proof.proved for _ in range(each)])
    try:
        returned = _gradient(mutant, t)
        same = _call(mutant) == _call(original)
        known = np.array([same and any(a <= x <= b for a, b in of_original.proved) for x in t])
        forward = mutant.alone().forward
        measured = (forward(t + STEP) - forward(t - STEP)) / (2 * STEP)
        right = np.where(known, _gradient(original, t), measured) if known.any() else measured
    except Exception:  # noqa: BLE001 - beside a domain's edge it may raise
        return False
    relative, absolute = (np.where(known, *pair) for pair in zip(APART_OF_PROOFS, APART_OF_DIFFERENCE, strict=True))
    larger = np.maximum(np.abs(right), np.abs(returned))
    return bool(np.any(np.abs(right - returned) > relative * larger + absolute * np.abs(right).max()))


def _gradient(cut: Section, t: Any) -> Any:
    found = cut.alone().backward(t, 1.0).grad_input
    return np.zeros(t.size) if found is None else found


def _call(cut: Section) -> tuple[Any, ...]:
    return cut.wrt, cut.wrt_index, cut.of, cut.of_index, cut.inputs, cut.parameters


def _elsewhere(call: Callable[[], Any]) -> Any:
    """What a call returns in a process of its own; None where it takes too long or ends that."""
    context = get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_sent, args=(sending, call))
    process.start()
    sending.close()
    try:
        return receiving.recv() if receiving.poll(SECONDS) else None
    except EOFError:
        return None
    finally:
        process.kill()
        process.join()


def _sent(sending: Connection, call: Callable[[], Any]) -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    sending.send(call())
