"""What a capture holds: for each Function and call site, what went in, what came back, and the first call."""

from dataclasses import dataclass
from typing import Literal

from typing_extensions import TypedDict

Role = Literal["input", "output", "grad_output", "grad_input"]
HeldDtype = Literal["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"]


class ArrayRecord(TypedDict):
    """Numbers in the file: of which kind, from which byte on, and how many."""

    kind: Literal["f8", "f4", "i8"]
    start: int
    length: int


class SlotRecord(TypedDict):
    """What passed in one place of a call, in all calls: shapes with how often, and a sample of the numbers.

    ``none`` counts the gradients that were None, ``numel`` all numbers that passed. ``paired`` says that the sample of
    the first input and of the first grad_output is of the same places of the same calls. ``low`` and ``high`` are
    the extremes of all numbers, NaN included, where they were asked for.
    """

    role: Role
    index: int
    dtype: str
    device: str
    shapes: list[tuple[list[int], int]]
    calls: int
    none: int
    numel: int
    low: float | None
    high: float | None
    values: ArrayRecord


class TensorRecord(TypedDict):
    """A tensor of the first call. ``rows`` is None where it is whole, else how many of its rows are held."""

    dtype: HeldDtype
    shape: list[int]
    rows: int | None
    grad: bool
    values: ArrayRecord


class ArgumentRecord(TypedDict):
    """An argument of the first call: a tensor, or a value as Python writes it; neither where it cannot be held."""

    name: str
    text: str
    tensor: TensorRecord | None


class SiteRecord(TypedDict):
    """One call site of one Function.

    ``digest`` is that of its source, ``file`` where that stands, from the folder in which the step ran. ``line`` is the
    line that calls it, ``path`` the module of the model. ``recomputed`` counts the calls of a checkpoint while backward
    runs, ``untracked`` those that no gradient is asked of.
    """

    function: str
    module: str
    file: str
    digest: str
    line: str
    path: str
    calls: int
    backwards: int
    recomputed: int
    untracked: int
    arguments: list[ArgumentRecord]
    slots: list[SlotRecord]


class CaptureRecord(TypedDict):
    """All of a capture but its numbers. ``sampled`` says that samples are of numbers, not of their quantiles."""

    format: Literal[1]
    torch: str
    sampled: bool
    notes: list[str]
    sites: list[SiteRecord]


@dataclass(frozen=True)
class Capture:
    """A capture: what it says, the bytes of its numbers, and what it is called in sentences."""

    record: CaptureRecord
    numbers: bytes
    name: str = "the capture"

    def array(self, where: ArrayRecord) -> memoryview:
        """The bytes of an array."""
        return memoryview(self.numbers)[where["start"] : where["start"] + where["length"] * SIZES[where["kind"]]]

    def sites(self, function: str) -> list[SiteRecord]:
        """The call sites of a Function, by the name of its class; the busiest first."""
        found = [each for each in self.record["sites"] if each["function"] == function]
        return sorted(found, key=lambda each: -each["calls"])


SIZES = {"f8": 8, "f4": 4, "i8": 8}
