"""Answer notes: the stable name of a mistake, by which a lecturer counts what a class has written.

A note depends on what is wrong alone, never on the numbers, the names or the place: it is the same for every variant.
"""

import re

from .section import FailureRecord, VerdictWord

SOLVED = "solved"  # of what is right, and of what differs by design
# By the kind of an explanation, the id of a check or a word; of any other it is the name itself.
_NOTES = {
    "mask missing": "mask-forgotten",
    "leaky mask": "mask-leaks",
    "constant factor": "factor-constant",
    "missing factor": "factor-missing",
    "extra factor": "factor-extra",
    "reversed": "sign",
    "swapped": "gradients-swapped",
    "SWAPPED": "gradients-swapped",
    "of another input": "gradients-swapped",
    "sign of grad_output": "sign-of-grad_output",
    "grad_output forgotten": "forgets-grad_output",
    "power of grad_output": "power-of-grad_output",
    "normalises": "normalises-grad_output",
    "clips": "clips-grad_output",
    "added term": "term-added",
    "does not add": "not-additive",
    "written to": "in-place",
    "DIRTY-MISSING": "in-place",
    "GRADOUT-INPLACE": "in-place",
    "INPUT-INPLACE": "in-place",
    "NONLINEAR": "not-linear",
    "SAVED-UNUSED": "saved-for-nothing",
    "SAVED-INTERMEDIATE": "no-history",
    "NONDET-BACKWARD": "random",
    "RANDOM-BACKWARD": "random",
    "GRAD-COUNT": "gradient-count",
    "GRAD-SHAPE": "gradient-shape",
    "GRAD-NONE": "blocked",
    "matches here": "right-in-this-range",
}
_COUNT = re.compile(r"incorrect number of gradients")  # torch's words
_SHAPE = re.compile(r"invalid gradient at .+ - got \[([\d, ]*)\] but expected shape compatible with \[([\d, ]*)\]")


def note_of(name: str) -> str:
    """The answer note for the kind of an explanation or the id of a check."""
    return _NOTES.get(name, name.lower().replace(" ", "-"))


def verdict_note(word: VerdictWord, explanation: str = "", failure: FailureRecord | None = None) -> str:
    """The answer note of a verdict, by its ``word``, the kind of its explanation, and what failed."""
    if word in ("matches", "matches its surrogate"):
        return SOLVED
    if word == "failed" and failure is not None:
        return _failure_note(failure)
    return note_of(explanation or word)


def _failure_note(failure: FailureRecord) -> str:
    """Of a gradient of another shape: whether it has more numbers than the input, which are not added up."""
    if shape := _SHAPE.search(failure["message"]):
        returned, wanted = (_size(text) for text in shape.groups())
        return "sum-missing" if returned > wanted else "gradient-shape"
    return "gradient-count" if _COUNT.search(failure["message"]) else f"{failure['phase'].replace(' ', '-')}-fails"


def _size(shape: str) -> int:
    size = 1
    for length in filter(None, shape.split(", ")):
        size *= int(length)
    return size
