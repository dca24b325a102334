"""What becomes of twenty-two planted bugs: four ways of asking gradcheck, and ours, in one run."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch
from planted_bug_table import CONTROLS, PLANTED, Planted
from report import Report, Table, Target, in_brackets
from support.sections import look, section

from gradloupe.server.contract import contract_xray
from gradloupe.server.numerics.sampling.grid import Grid
from gradloupe.server.numerics.studies.dtypes import study_dtypes

CAUGHT = {"differs", "matches here", "failed"}
POINTS_OF_MANY_SECTIONS = 61

Gradcheck = Callable[[Planted], object]
GRADCHECKS: dict[str, Gradcheck] = {
    "gradcheck": lambda each: torch.autograd.gradcheck(each.apply, each.asked),
    "fast mode": lambda each: torch.autograd.gradcheck(each.apply, each.asked, fast_mode=True),
    "+ batched, dtypes": lambda each: torch.autograd.gradcheck(
        each.apply, each.asked, check_batched_grad=True, check_grad_dtypes=True
    ),
    "gradgradcheck": lambda each: torch.autograd.gradgradcheck(each.apply, each.asked),
}


def measure() -> Report:
    """The table of planted bugs and controls, and how many pass in silence."""
    torch.set_num_threads(1)
    passed: dict[str, list[str]] = {name: [] for name in GRADCHECKS}
    rows, silent, wrong = [], [], []
    for each in (*PLANTED, *CONTROLS):
        words = _words(each)
        checked = {name: _passes(gradcheck, each) for name, gradcheck in GRADCHECKS.items()}
        rows.append((each.name, each.wrong, *map(_yes_or_no, checked.values()), _in_words(each, words)))
        for name in GRADCHECKS:
            passed[name] += [each.name] * (checked[name] and each in PLANTED)
        if each in PLANTED and not (CAUGHT.intersection(words.values()) or _outside_sections(each)):
            silent.append(each.name)
        if each in CONTROLS and set(words.values()) != {"matches its surrogate" if each.op.surrogate else "matches"}:
            wrong.append(each.name)
    counts = [str(len(names)) for names in passed.values()]
    *_, batched, twice = passed.values()
    counts[-1] += f" ({len(set(batched).intersection(twice))} pass the last two)"
    rows.append((f"**silent passes of {len(PLANTED)}**", "", *counts, f"**{len(silent)}**"))
    headings = ("planted", "what is wrong", *GRADCHECKS, "Gradloupe")
    note = (
        "gradcheck is asked in double precision at six normal numbers. Gradloupe says in brackets which section shows "
        "it, if it is not the first, and what no section shows by which check of the contract, or in which view, it is "
        "seen. The last three rows are no bugs."
    )
    targets = [
        Target("no planted bug passes in silence", f"{len(silent)} do {in_brackets(silent)}", not silent),
        Target(
            "the controls are judged as they claim",
            f"{len(wrong)} are not {in_brackets(wrong)}",
            not wrong,
        ),
    ]
    return Report([Table("Planted bugs", headings, rows, note)], targets)


def _words(each: Planted) -> dict[str, str]:
    """The word about every section, by its name."""
    torch.manual_seed(0)
    sections = each.sections()
    count = 401 if len(sections) < 3 else POINTS_OF_MANY_SECTIONS
    return {f"{s['of']} by {s['wrt']}": look(each.op, count=count, **s)[1].word for s in sections}


def _outside_sections(each: Planted) -> str:
    """The check of the contract, or the view, that shows what no section does; empty if none does."""
    cut = section(each.op, **each.sections()[0])
    if each.seen == "precision":
        seen = study_dtypes(cut, Grid(-3.0, 3.0, POINTS_OF_MANY_SECTIONS)).complex
        return "*precision*" if seen and seen.verdict == "conjugate missing" else ""
    found = {check.id for check in contract_xray(cut).checks if check.level in ("error", "warning")}
    return f"contract: {each.check}" if each.check in found else ""


def _in_words(each: Planted, words: dict[str, str]) -> str:
    if each.seen in ("contract", "precision"):
        return _outside_sections(each)
    first = next(iter(words.values()))
    if each.seen == "nowhere" or first in CAUGHT or not CAUGHT.intersection(words.values()):
        return first
    where = next(name for name, word in words.items() if word in CAUGHT)
    return f"{words[where]} ({where})"


def _passes(gradcheck: Gradcheck, each: Planted) -> bool:
    torch.manual_seed(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return bool(gradcheck(each))
    except Exception:  # noqa: BLE001 what backward raises is a rejection too
        return False


def _yes_or_no(passes: bool) -> str:
    return "passes" if passes else "rejected"
