"""Whether an explanation of a mutant is true of the change that was made: what it says that the change cannot cause."""

from __future__ import annotations

import re
from collections.abc import Callable

from mutation import Mutation

# Kinds that change a sum, and those after which nothing, or something else, comes back for an input.
ADDITIVE = {"a term dropped", "+ for -", "- for +", "-= for +=", "+= for -="}
REMOVING = {"None for a gradient", "one branch for both", "an update removed", "an indexed assignment removed"}
SIGNS = {"a gradient negated", "a sign flipped", "a product turned round", *ADDITIVE}
OF_SUMS = {"a sum forgotten", "another dim", "mean for sum", "sum for mean", "a transpose dropped"}
NONE = "No simple explanation"
_MASK = re.compile(r"[<>]|\b\w*mask\w*\b|\b(where|clamp\w*|tril|triu|relu|inside|outside|support|sign)\b")
_GRAD = re.compile(r"\b(g|grad\w*|dy|d[A-Z]\w*|dout\w*|d?result|gy|gO)\b")


def _of_a_mask(mutation: Mutation) -> bool:
    return mutation.kind in REMOVING or "mask" in mutation.kind or bool(_MASK.search(mutation.before))


def _of_a_number(mutation: Mutation) -> bool:
    return _of_a_mask(mutation) or mutation.kind in ("a parameter replaced by 1", "a constant off by 1 %")


def _of_grad_output(mutation: Mutation) -> bool:
    return len(_GRAD.findall(mutation.before)) != len(_GRAD.findall(mutation.after)) or mutation.kind in REMOVING


def _of_kinds(*kinds: str) -> Callable[[Mutation], bool]:
    return lambda mutation: mutation.kind in kinds


def _of_what_is_left_out(mutation: Mutation) -> bool:
    return _of_a_mask(mutation) or mutation.kind in (*ADDITIVE, "a factor dropped")


def _never(mutation: Mutation) -> bool:
    """Not of one change to a right backward."""
    return False


# What an explanation names as the cause, and of which changes that can be true. What it measures is true of any.
CAUSES: tuple[tuple[str, Callable[[Mutation], bool]], ...] = (
    (r"straight-through estimator|: a window|times a bump|step size, where|is declared", _never),
    (r"gradients are swapped|weight decay", _never),
    (r"sign reversed", _of_kinds(*SIGNS)),
    (r"mask (is missing|leaks|is reversed)", _of_a_mask),
    (r"border of the mask", _of_a_number),
    (r"factor .+ (is missing|is too many)", lambda mutation: mutation.kind not in ADDITIVE | REMOVING),
    (
        r"does not come from the loss|forgets grad_output|clips|normalises|sign of grad_output|power of grad_output",
        _of_grad_output,
    ),
    (r"sum over it is missing|silently summed|grad_output of \S+ for all", _of_kinds(*OF_SUMS, "a factor dropped")),
    (
        r"no gradient gets through|None for an input|treated as a constant",
        _of_what_is_left_out,
    ),
    (r"complex conjugate", _of_kinds("a transpose dropped", *SIGNS)),
)


def contradiction(mutation: Mutation, explanations: tuple[str, ...]) -> str:
    """The first explanation that cannot be true of a change; empty where there is none."""
    return next(
        (each for each in explanations for words, true in CAUSES if re.search(words, each) and not true(mutation)), ""
    )
