"""A census of random curves: how often a right one is accused, and what is told of backwards that are wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import torch
from functions.random_compositions import random_composition
from functions.random_sums import RandomCurve, random_sum
from report import Report, Table, Target
from support.answers import document

SUMS, COMPOSITIONS, EACH_WRONG = 2000, 1000, 5  # of so many curves; of the sums each so manieth is made wrong, too
ACCUSED = {"differs", "matches here", "failed", "raises"}

Factor = Callable[[torch.Tensor], torch.Tensor]
WRONG: dict[str, Callable[[RandomCurve], Factor]] = {
    "× 1.01": lambda each: lambda x: torch.full_like(x, 1.01),
    "× 1.00001": lambda each: lambda x: torch.full_like(x, 1.00001),
    "the other sign": lambda each: lambda x: -torch.ones_like(x),
    "× 1.5 in half a cell": RandomCurve.half_a_cell,
}


def measure() -> Report:
    """The tables of right curves and of wrong sums."""
    torch.set_num_threads(1)
    sums = [random_sum(number) for number in range(SUMS)]
    compositions = [random_composition(number) for number in range(COMPOSITIONS)]
    words = [(each, _word(each, torch.ones_like)) for each in (*sums, *compositions)]
    tables = [
        Table("Right sums", HEADINGS, _by_dtype(words[:SUMS]), SUMMED),
        Table("Right products and compositions", HEADINGS, _by_dtype(words[SUMS:]), COMPOSED),
    ]
    accused, raised = (sum(word in some for _, word in words) for some in (ACCUSED, {"raises"}))
    wrong_rows, shares = [], []
    for name, factor_of in WRONG.items():
        shown = [(each, factor_of(each)) for each in sums[::EACH_WRONG] if each.shows(factor_of(each))]
        found = Counter(_word(*each) for each in shown)
        told = sum(found[word] for word in ACCUSED)
        shares.append((name, told, len(shown)))
        wrong_rows.append((name, str(len(shown)), str(told), str(found["undecided"]), str(found["matches"])))
    targets = [
        Target("no right curve accused", f"{accused} of {len(words)}", not accused),
        Target("no exception", str(raised), not raised),
        *(Target(f"{name}: 99 % told", f"{told} of {of}", told >= 0.99 * of) for name, told, of in shares),
    ]
    tables.append(Table("Wrong sums", ("backward", "shows in", "told", "undecided", "passed"), wrong_rows))
    return Report(tables, targets)


HEADINGS = ("dtype", "matches", "undecided", "differs", "matches here", "raises")
SUMMED = (
    "Sums of one to three terms: sin, tanh, Gauss, |x − c|, floor, x³, chirp, softplus, triangle waves, float32 "
    "inside, on ranges from 1e-3 to 1e4."
)
COMPOSED = (
    "Of one to three terms: atan, |sin|, modulo, clamp, steps, grids, smooth joins, exp(−1/x²) …, in 2 to 2000 "
    "points, some far from 0, for grad_outputs from 1e-3 to 1e3."
)


def _by_dtype(words: list[tuple[RandomCurve, str]]) -> list[tuple[str, ...]]:
    rows = []
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        counted = Counter(word for each, word in words if each.dtype == dtype)
        if counted:
            rows.append((str(dtype).removeprefix("torch."), *(str(counted[word]) for word in HEADINGS[1:])))
    return rows


def _word(each: RandomCurve, factor: Factor) -> str:
    dtype = str(each.dtype).removeprefix("torch.")
    try:
        asked = {"count": each.count, "dtype": dtype, "grad_output": each.grad_output}
        header, _ = document(each.op(factor), "curves", each.start, each.stop, **asked)
    except Exception:  # noqa: BLE001 counted
        return "raises"
    word: str = header["verdict"]["word"]
    return word
