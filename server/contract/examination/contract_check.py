"""The records of a check: its definition, what it found, the row that reports it, and the pages of torch's
documentation that it refers to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from .session import CheckSession, Requirement

# Titles of the pages of torch's documentation.
EXTENDING = "Extending PyTorch"
FUNCTION = "torch.autograd.Function"
MECHANICS = "Autograd mechanics"
SAVE_FOR_BACKWARD = "torch.autograd.function.FunctionCtx.save_for_backward"
MARK_DIRTY = "torch.autograd.function.FunctionCtx.mark_dirty"
MARK_NON_DIFFERENTIABLE = "torch.autograd.function.FunctionCtx.mark_non_differentiable"
SET_MATERIALIZE_GRADS = "torch.autograd.function.FunctionCtx.set_materialize_grads"
ONCE_DIFFERENTIABLE = "torch.autograd.function.once_differentiable"
DOUBLE_BACKWARD = "Double Backward with Custom Functions"
TORCH_FUNC = "Extending torch.func with autograd.Function"
GRADCHECK = "Gradcheck mechanics"
REPRODUCIBILITY = "Reproducibility"
PRECISION = "Numerical accuracy"
AMP = "Automatic Mixed Precision package - torch.amp"

Level = Literal["error", "warning", "note", "fine"]
# The most serious first.
CHECK_LEVELS: tuple[Level, ...] = ("error", "warning", "note", "fine")


@dataclass(frozen=True)
class CheckRow:
    """The result of a check, as a row of the report.

    ``level`` is ``error`` (wrong gradients, or a crash), ``warning`` (likely trouble), ``note`` (good to know) or
    ``fine`` (checked and found right). ``seen`` says what was seen, with numbers; ``torch`` what torch made of it;
    ``advice`` what to do. ``line`` counts in the source that is shown, from 1, and is None where no line can be
    pointed at. ``document`` is the title of the page of torch's documentation that says how it should be.
    ``element`` is what of the inputs it was seen in, like ``weight[0,1]``, empty where that is no one element, and
    ``recipe`` the call it was seen in, empty where that is the one at hand.
    """

    id: str
    family: str
    level: Level
    title: str
    seen: str
    torch: str = ""
    advice: str = ""
    line: int | None = None
    document: str = ""
    element: str = ""
    recipe: str = ""


@dataclass(frozen=True)
class ReturnedGradient:
    """What backward returned for one argument of forward, and what the engine delivered to the input.

    Shapes are written like ``(2, 3)``, dtypes like ``float64``; all four may be empty, as for ``None``, and
    ``delivered`` is ``zeros`` where the engine takes None for zeros.
    """

    input: str
    shape: str
    returned: str
    returned_dtype: str
    delivered: str
    delivered_dtype: str


@dataclass(frozen=True)
class CheckFinding:
    """One finding of a check: the part of its row that differs from finding to finding.

    ``explains`` names the inputs whose wrong gradient it is the cause of: of those no other check tells it again.
    """

    level: Level
    seen: str
    torch: str = ""
    advice: str = ""
    line: int | None = None
    element: str = ""
    explains: tuple[str, ...] = ()


@dataclass(frozen=True)
class ContractCheck:
    """Definition of a check. ``run`` yields what is wrong, and may raise what the Function raises.

    ``fine`` is the sentence where it yields nothing; ``needs`` is what must be available for it to run.
    """

    id: str
    title: str
    document: str
    fine: str
    run: Callable[[CheckSession], Iterable[CheckFinding]]
    needs: tuple[Requirement, ...] = ("backward",)

    def row(self, family: str, found: CheckFinding) -> CheckRow:
        """The row that reports a finding."""
        fields = (found.seen, found.torch, found.advice, found.line, self.document, found.element)
        return CheckRow(self.id, family, found.level, self.title, *fields)


def contract_check(
    id: str, title: str, document: str, fine: str, needs: tuple[Requirement, ...] = ("backward",)
) -> Callable[[Callable[[CheckSession], Iterable[CheckFinding]]], ContractCheck]:
    """Decorator that makes a check of the function that looks for what is wrong."""
    return lambda run: ContractCheck(id, title, document, fine, run, needs)
