"""Proofs: that backward is the derivative of forward for every real number of a range, by ball arithmetic.

The Function runs unchanged, on what stands in for a tensor. What that does not know exactly is refused: a proof is
sound or silent. It is about the text of the Function over the real numbers, not about rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from ..protocol.question import BOXES_AT_FIRST as AT_FIRST
from ..protocol.question import BOXES_AT_MOST as AT_MOST
from ..runtime.section import Section
from .record import Held, Proof, Witness

AVAILABLE = find_spec("flint") is not None  # python-flint, which not every machine has

__all__ = ["AT_FIRST", "AT_MOST", "AVAILABLE", "Held", "Proof", "Witness", "prove"]


def prove(
    section: Section,
    surrogate: Callable[..., Any] | None,
    start: float,
    stop: float,
    grad_output: float = 1.0,
    boxes: int = AT_FIRST,
    held: Held | None = None,
) -> Proof | None:
    """What can be proved of a section for t from ``start`` to ``stop``, with so many boxes; None where flint is not.

    ``surrogate`` is the function whose derivative is meant, if it is not forward's. Where backward is refuted to be
    that, and nothing refutes for any grad_output that it is forward's, what is proved is of forward. All is proved for
    each number that another is ``held`` at. The same call has the same answer.
    """
    if not AVAILABLE:
        return None
    from .prove import searched  # which imports flint

    found = searched(section, surrogate, start, stop, grad_output, boxes, held)
    if surrogate is None or found.word != "refuted":
        return found
    of_forward = searched(section, None, start, stop, grad_output, boxes, held)
    right = of_forward.word in ("proved", "in part") and of_forward.grad_output == "every"
    return replace(of_forward, of_forward=True) if right and of_forward.share > found.share else found
