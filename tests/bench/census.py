"""A census of random sums: how often a right one is accused, and what is told of backwards that are wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import torch
from functions.random_sums import RandomSum, random_sum
from report import Report, Table, Target
from support.answers import document

SUMS, EACH_WRONG = 2000, 5  # of so many sums; each so manieth is made wrong, too
ACCUSED = {"differs", "matches here", "failed", "raises"}

Factor = Callable[[torch.Tensor], torch.Tensor]
WRONG: dict[str, Callable[[RandomSum], Factor]] = {
    "× 1.01": lambda each: lambda x: torch.full_like(x, 1.01),
    "× 1.00001": lambda each: lambda x: torch.full_like(x, 1.00001),
    "the other sign": lambda each: lambda x: -torch.ones_like(x),
    "× 1.5 in half a cell": RandomSum.half_a_cell,
}


def measure() -> Report:
    """The tables of right and of wrong sums."""
    torch.set_num_threads(1)
    sums = [random_sum(number) for number in range(SUMS)]
    words = [_word(each, torch.ones_like) for each in sums]
    rows, accused = [], sum(word in ACCUSED for word in words)
    for dtype in (torch.float64, torch.float32):
        counted = Counter(word for each, word in zip(sums, words, strict=True) if each.dtype == dtype)
        rows.append((str(dtype).removeprefix("torch."), *(str(counted[word]) for word in HEADINGS[1:])))
    raised = words.count("raises")
    wrong_rows, shares = [], []
    for name, factor_of in WRONG.items():
        shown = [(each, factor_of(each)) for each in sums[::EACH_WRONG] if each.shows(factor_of(each))]
        found = Counter(_word(*each) for each in shown)
        told = sum(found[word] for word in ACCUSED)
        shares.append((name, told, len(shown)))
        wrong_rows.append((name, str(len(shown)), str(told), str(found["undecided"]), str(found["matches"])))
    note = (
        "Sums of one to three terms: sin, tanh, Gauss, |x − c|, floor, x³, chirp, softplus, triangle waves, float32 "
        "inside, on ranges from 1e-3 to 1e4."
    )
    targets = [
        Target("no right sum accused", f"{accused} of {SUMS}", not accused),
        Target("no exception", str(raised), not raised),
        *(Target(f"{name}: 99 % told", f"{told} of {of}", told >= 0.99 * of) for name, told, of in shares),
    ]
    tables = [
        Table("Right sums", HEADINGS, rows, note),
        Table("Wrong ones", ("backward", "shows in", "told", "undecided", "passed"), wrong_rows),
    ]
    return Report(tables, targets)


HEADINGS = ("dtype", "matches", "undecided", "differs", "matches here", "raises")


def _word(each: RandomSum, factor: Factor) -> str:
    dtype = str(each.dtype).removeprefix("torch.")
    try:
        header, _ = document(each.op(factor), "curves", each.start, each.stop, count=each.count, dtype=dtype)
    except Exception:  # noqa: BLE001 counted
        return "raises"
    word: str = header["verdict"]["word"]
    return word
