"""What a capture holds: for each Function and call site, what went in, what came back, and the first call; and its
file, a zip of JSON and raw numbers. Reading it executes nothing, and bounds what it allocates.
"""

import io
import json
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Literal

from typing_extensions import TypedDict

from ..protocol.fits import fits

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


SUFFIX = ".gradloupe"
_RECORD, _NUMBERS = "capture.json", "numbers.bin"
# budget: bytes of the file, of its JSON and of its numbers.
_MOST_FILE, _MOST_RECORD, _MOST_NUMBERS = 1 << 29, 1 << 24, 1 << 28
_MOST_SITES, _MOST_DIMENSIONS, _LONGEST_DIMENSION = 10_000, 64, 1 << 40  # budget
_MOST_SAMPLE, _MOST_HELD = 1 << 14, 1 << 17  # budget: numbers of one place, and of one tensor
_AGAIN = "record it again with gradloupe.watch"


class BadCapture(ValueError):
    """A file that is no capture; the message is one sentence that also says what to do."""


def written(capture: Capture) -> bytes:
    """The content of the file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
        archive.writestr(_RECORD, json.dumps(capture.record, allow_nan=True))
        archive.writestr(_NUMBERS, capture.numbers)
    return file.getvalue()


def read_capture(path: str | Path) -> Capture:
    """The capture in a file; raises ``BadCapture``."""
    name = Path(path).name
    try:
        size = Path(path).stat().st_size
        if size > _MOST_FILE:
            raise BadCapture(
                f"{name} has {size >> 20} MiB, and a capture at most {_MOST_FILE >> 20}; {_AGAIN}, with less memory."
            )
        with zipfile.ZipFile(path) as archive:
            record = json.loads(_member(archive, _RECORD, _MOST_RECORD, name))
            numbers = _member(archive, _NUMBERS, _MOST_NUMBERS, name)
    except OSError as problem:
        raise BadCapture(f"{path} cannot be read: {problem.strerror or problem}; name a file that is there.") from None
    except (RecursionError, UnicodeDecodeError, json.JSONDecodeError):
        raise BadCapture(f"{name} is damaged: what it says cannot be read; {_AGAIN}.") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError, RuntimeError):
        raise BadCapture(f"{name} is no capture, or is cut off; copy it again, or {_AGAIN}.") from None
    return _valid(record, numbers, name)


def _member(archive: zipfile.ZipFile, member: str, most: int, name: str) -> bytes:
    """One part of the archive, whatever size its header tells."""
    with archive.open(member) as part:
        content = part.read(most + 1)
    if len(content) > most:
        raise BadCapture(f"{name} unpacks to more than {most >> 20} MiB; {_AGAIN}, with less memory.")
    return content


def _valid(record: Any, numbers: bytes, name: str) -> Capture:
    if isinstance(record, dict) and record.get("format", 1) != 1:
        raise BadCapture(f"{name} is of a newer Gradloupe; update this one, or {_AGAIN}.")
    if not fits(record, CaptureRecord) or len(record["sites"]) > _MOST_SITES:
        raise BadCapture(f"{name} says something that no capture says; {_AGAIN}.")
    checked: CaptureRecord = record
    if not all(_is_inside(site, len(numbers)) for site in checked["sites"]):
        raise BadCapture(f"{name} is damaged: its numbers are not where it says; {_AGAIN}.")
    return Capture(checked, numbers, name)


def _is_inside(site: SiteRecord, size: int) -> bool:
    tensors = [each["tensor"] for each in site["arguments"] if each["tensor"]]
    shapes = [(each["shape"], each["rows"]) for each in tensors]
    counts = [site["calls"], *(each[key] for each in site["slots"] for key in ("index", "calls", "none", "numel"))]
    return (
        all(each["start"] >= 0 and each["length"] >= 0 and _end(each) <= size for each in _arrays(site))
        and all(each["values"]["length"] <= _MOST_SAMPLE for each in site["slots"])
        and all(each["values"]["length"] <= _MOST_HELD for each in tensors)
        and all(_plausible(shape, rows) for shape, rows in shapes)
        and all(_held(each["shape"], each["rows"]) == each["values"]["length"] for each in tensors)
        and all(each >= 0 for each in counts)
    )


def _arrays(site: SiteRecord) -> Iterator[ArrayRecord]:
    yield from (each["values"] for each in site["slots"])
    yield from (each["tensor"]["values"] for each in site["arguments"] if each["tensor"])


def _end(array: ArrayRecord) -> int:
    return array["start"] + array["length"] * SIZES[array["kind"]]


def _plausible(shape: list[int], rows: int | None) -> bool:
    fine = len(shape) <= _MOST_DIMENSIONS and all(0 <= each <= _LONGEST_DIMENSION for each in shape)
    return fine and (rows is None or (bool(shape) and 0 <= rows <= shape[0]))


def _held(shape: list[int], rows: int | None) -> int:
    return prod(shape) if rows is None else rows * prod(shape[1:])
