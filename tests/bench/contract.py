"""The contract X-ray: what it takes for every op, and whether it accuses the right ones and no others."""

from __future__ import annotations

import time

import torch
from functions.contract_broken import BREACHES
from functions.contract_kept import KEEPERS
from report import Report, Table, Target
from support.sections import section

from gradloupe.ops import OPS, Op
from gradloupe.server.contract import ContractResult, contract_xray

LIMIT, IDEAL = 0.5, 0.25
FAULTS = ("error", "warning")
ROUNDS = 3


def measure() -> Report:
    """Seconds for all checks and badges but torch.compile, and the rows of the corpus of breaches and of keepers."""
    torch.set_num_threads(1)
    contract_xray(section("exp"))  # what torch imports when it is asked first
    took = {name: min(_seconds(op) for _ in range(ROUNDS)) for name, op in OPS.items()}
    slowest = sorted(took, key=lambda name: -took[name])[:5]
    mean, most = sum(took.values()) / len(took), took[slowest[0]]
    missed = [each.name for each in BREACHES if _levels(contract_xray(section(each.op))).get(each.id) != each.level]
    right = [*KEEPERS, *(op for op in OPS.values() if op.claim != "broken")]
    accused = [op.title for op in right if any(each in FAULTS for each in _levels(contract_xray(section(op))).values())]
    rows = [
        (f"all {len(took)} ops, mean", _ms(mean)),
        *((f"`{name}`", _ms(took[name])) for name in slowest),
        (f"{len(BREACHES)} broken Functions: not named", str(len(missed))),
        (f"{len(right)} right ones: accused of an error or a warning", str(len(accused))),
    ]
    return Report(
        [Table("Contract X-ray", ("what", "result"), rows, "One thread, the best of three; the five slowest ops.")],
        [
            Target(f"all checks of an op in {LIMIT:g} s", f"at most {_ms(most)}", most <= LIMIT),
            Target(f"ideally in {IDEAL:g} s", f"at most {_ms(most)}", most <= IDEAL),
            Target("every breach is named", f"{len(missed)} are not {missed}", not missed),
            Target("no right Function is accused", f"{len(accused)} are {accused}", not accused),
        ],
    )


def _seconds(op: Op) -> float:
    cut = section(op)
    began = time.perf_counter()
    contract_xray(cut)
    return time.perf_counter() - began


def _levels(found: ContractResult) -> dict[str, str]:
    return {each.id: each.level for each in found.checks if each.level != "fine"}


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms"
