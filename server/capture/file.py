"""The file of a capture: a zip of JSON and raw numbers. Reading it executes nothing, and bounds what it allocates."""

import io
import json
import zipfile
import zlib
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any

from ..protocol.fits import fits
from .record import SIZES, ArrayRecord, Capture, CaptureRecord, SiteRecord

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
