"""The answer of the view ``proof``."""

from typing import Literal

from typing_extensions import ReadOnly, TypedDict

from .section import ViewRecord

Known = Literal["proved", "refuted", "bends", "undecided"]


class StretchRecord(TypedDict):
    """What is known of every x from ``start`` to ``stop``; where it ``bends``, a curve may bend or jump somewhere."""

    start: float
    stop: float
    known: Known


class WitnessRecord(TypedDict):
    """A box in all of which backward and the slope differ: both lie in ranges that share no number."""

    start: float
    stop: float
    backward_low: float
    backward_high: float
    slope_low: float
    slope_high: float


class ProofColumnsRecord(TypedDict):
    """The stretches, one value a row."""

    start: list[float]
    stop: list[float]
    known: list[str]


class ProofRecord(ViewRecord):
    """What is proved of backward for every real x of the range, not for some of them.

    On what is proved it differs from grad_output times the slope by no more than ``epsilon`` of the slope at its place.
    ``line`` is the sentence in short, ``meaning`` what it means; ``share`` is that of the range that is proved.
    ``holds_for`` says for which grad_output, ``given`` from which to which where it is a range. It holds ``everywhere``
    if for every real x beyond the range as well. ``boxes`` were looked at with at most so many ``bits``. ``reason`` is
    why nothing could be asked, empty where it could. ``certificate`` is the text of a file by which anybody can check
    again what is proved, empty where nothing is. ``word`` and ``line`` are empty where forward fails, and where
    python-flint is not installed; ``holds_for`` where forward fails.
    """

    view: ReadOnly[Literal["proof"]]
    line: str
    sentence: str
    meaning: list[str]
    word: Literal["proved", "refuted", "in part", "nothing", ""]
    share: float
    epsilon: float
    holds_for: Literal["every", "every positive", "every negative", "range", "this", ""]
    given: tuple[float, float] | None
    everywhere: bool
    stretches: list[StretchRecord]
    witness: WitnessRecord | None
    boxes: int
    bits: int
    reason: str
    certificate: str
