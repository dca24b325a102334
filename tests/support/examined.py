"""How the tests look at the contract of a Function."""

from typing import Any

from gradloupe.ops import Input, Op
from gradloupe.server.contract import ContractResult, contract_xray
from support.sections import section

ROW = Input("x", shape=(4,), value=(1.0, -0.5, 2.0, 0.3))


def examined(function: Any, *inputs: Input, **words: Any) -> ContractResult:
    """The examination of a Function, of one number unless other inputs are named."""
    return contract_xray(section(Op(function, "a test", "tests", "", "", inputs or (Input("x"),), **words)))


def levels(found: ContractResult) -> dict[str, str]:
    """The checks that do not pass, each with how gravely."""
    return {each.id: each.level for each in found.checks if each.level != "fine"}


def grave(found: ContractResult) -> set[str]:
    """What accuses: errors and warnings."""
    return {"error", "warning"} & set(levels(found).values())


def said(found: ContractResult, id_: str) -> str:
    """What the rows of a check say."""
    return " ".join(f"{each.seen} {each.torch} {each.advice}" for each in found.checks if each.id == id_)
