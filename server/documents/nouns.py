"""The terms for a section's quantities, for the first and for the second derivative."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..schema.section import TermsRecord


@dataclass(frozen=True)
class Nouns:
    """``forward`` is the function that is looked at and ``backward`` what returns its derivative.

    ``of`` is what the upper panel measures and ``slope`` what the lower one does, ``drawn`` the word for the curve in
    the upper one. ``scale`` is the number by which gradients are multiples of slopes.
    """

    of: str
    forward: str
    backward: str
    drawn: str
    slope: str
    scale: float


def nouns(asked: TermsRecord) -> Nouns:
    """For a question or an answer, by its ``order``, ``of``, ``wrt`` and ``grad_output``."""
    of, wrt = asked["of"], asked["wrt"]
    if asked["order"] == 1:
        return Nouns(of, "forward", "backward", "forward", f"grad of {wrt}", asked["grad_output"])
    grad = f"grad_{wrt}"
    return Nouns(grad, grad, "double backward", "returned by backward", f"second grad of {wrt}", 1.0)


def reworded_for_order(text: str, asked: TermsRecord) -> str:
    """``text`` with the words forward and backward replaced by the terms for the order of derivative."""
    terms = nouns(asked)
    words = {"forward": terms.forward, "backward": terms.backward}
    return re.sub(r"\b(forward|backward)\b", lambda match: words[match[0]], text)
