"""The wire format between server and worker: two lengths, a JSON header, raw columns; no pickles."""

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

FRAME_PREFIX = struct.Struct("!II")
_MAX_FRAME_BYTES = 8 * 2**20
_Header = TypeVar("_Header", covariant=True)
_FORMATS = ("d", "B")  # float64 and uint8, as `memoryview` and `array` name them


class BadFrame(Exception):
    """Bytes that are no frame, or a frame that may not be sent."""


@dataclass(frozen=True)
class Frame(Generic[_Header]):
    """A header, and columns by name: one-dimensional buffers of float64 or uint8.

    ``header_bytes`` is the length of a received header as JSON.
    """

    header: _Header
    columns: Mapping[str, memoryview] = field(default_factory=dict)
    header_bytes: int = 0


def pack(frame: Frame[Any]) -> bytes:
    """The bytes of a frame; raises ``BadFrame`` for a column of another type, or one above 8 MiB."""
    views = {name: memoryview(column) for name, column in frame.columns.items()}
    for name, view in views.items():
        if view.format not in _FORMATS:
            raise BadFrame(f"column {name!r} has the format {view.format!r}; only float64 and uint8 travel")
    layout = [[name, view.format, view.nbytes] for name, view in views.items()]
    header = json.dumps([frame.header, layout], ensure_ascii=False).encode("utf-8", "replace")  # half a surrogate pair
    payload = b"".join(view.tobytes() for view in views.values())
    prefix = FRAME_PREFIX.pack(len(header), len(payload))
    parse_prefix(prefix)
    return prefix + header + payload


def parse_prefix(prefix: bytes) -> tuple[int, int]:
    """Parse the prefix: bytes of header and of columns that follow; raises ``BadFrame`` above 8 MiB."""
    header, payload = FRAME_PREFIX.unpack(prefix)
    if header + payload > _MAX_FRAME_BYTES:
        raise BadFrame(f"a frame of {header + payload} bytes is above the limit of {_MAX_FRAME_BYTES}")
    return header, payload


def unpack(header: bytes, payload: bytes) -> Frame[Any]:
    """Parse a frame; its columns are views into ``payload``, not copies."""
    try:
        head, layout = json.loads(header)
        columns, start, view = {}, 0, memoryview(payload)
        for name, code, size in layout:
            if code not in _FORMATS or not 0 <= size <= len(payload) - start:
                raise ValueError(f"no column {name!r} of {size} bytes of the format {code!r}")
            columns[name] = view[start : start + size].cast(code)
            start += size
        return Frame(head, columns, len(header))
    except (ValueError, TypeError, RecursionError) as problem:
        raise BadFrame(f"no header of a frame: {problem}") from problem
