"""What worker and guest say to each other: frames of a JSON header and raw tensors, without pickles.

What a guest sends is hostile until it is parsed: anything that is not of the form expected raises ``BadReply``, whose
size is bounded as well.
"""

import json
import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import torch
from typing_extensions import TypedDict

from ..inference.recipe.recipe import NAMED_VALUES, name_of_value
from ..protocol.fits import fits
from ..runtime.arrays import dtype_name

PREFIX = struct.Struct("!II")
MAX_HEADER, MAX_TENSORS = 2**20, 2**25  # bytes
_MAX_VALUES, _MAX_DEPTH, _MAX_DIMENSIONS = 2**12, 8, 32
_DTYPES = {
    name: getattr(torch, name)
    for name in (
        *("float64", "float32", "float16", "bfloat16", "complex128", "complex64"),
        *("int64", "int32", "int16", "int8", "uint8", "bool"),
    )
}


class _Layout(TypedDict):
    dtype: str
    shape: list[int]
    strides: list[int]


_WORDS = (str, bool, int, float, type(None))


class BadReply(Exception):
    """A guest has sent what is no reply; the message says what was wrong with it."""


class Unsendable(TypeError):
    """An argument that cannot be handed to edited code, or a result that cannot be taken from it."""


@dataclass
class Writing:
    """Values that are being written: ``segments`` are the bytes of their tensors, one after the other.

    With ``foreign`` a value of another kind is written as the name of its class, which is all that is known of it then.
    """

    foreign: bool = False
    segments: list[bytes] = field(default_factory=list)

    def value(self, value: Any, depth: int = 0) -> Any:
        """A value as JSON; a tensor with its strides, and the memory between its elements. Raises ``Unsendable``."""
        if isinstance(value, torch.Tensor):
            return {"tensor": self._tensor(value)}
        if type(value) in _WORDS:
            return value
        if isinstance(value, complex):
            return {"complex": [value.real, value.imag]}
        if name := name_of_value(value):
            return {"named": name}
        if depth < _MAX_DEPTH:
            kind = next((name for name, kind in _CONTAINERS.items() if isinstance(value, kind)), "")
            if kind:
                pairs = getattr(value, "__dict__", value) if kind in ("dict", "namespace") else None
                inside = [list(each) for each in pairs.items()] if pairs is not None else list(value)
                return {kind: [self.value(each, depth + 1) for each in inside]}
        if self.foreign:
            return {"object": type(value).__name__}
        raise Unsendable(f"a {type(value).__name__} cannot be handed to edited code")

    def _tensor(self, tensor: torch.Tensor) -> dict[str, Any]:
        name = dtype_name(tensor.dtype)
        if name not in _DTYPES or tensor.layout != torch.strided or tensor.device.type != "cpu":
            raise Unsendable(f"a tensor of {name} with layout {tensor.layout} on {tensor.device} is unsupported here")
        plain = tensor.detach().resolve_conj().resolve_neg()
        extent = 1 + sum((size - 1) * stride for size, stride in zip(plain.shape, plain.stride(), strict=True))
        memory = plain.as_strided((extent if plain.numel() else 0,), (1,))
        self.segments.append(memory.clone().view(torch.uint8).numpy().tobytes())
        return {"dtype": name, "shape": list(plain.shape), "strides": list(plain.stride())}


_CONTAINERS = {"tuple": tuple, "list": list, "dict": dict, "namespace": SimpleNamespace}


@dataclass
class Reading:
    """Values that are being read. Raises ``BadReply`` for whatever is not what ``Writing`` writes."""

    payload: bytes
    place: int = 0
    values: int = 0  # read so far
    size: int = 0  # bytes of all elements read so far, which may share memory

    def value(self, plain: Any, depth: int = 0) -> Any:
        self.values += 1
        if self.values > _MAX_VALUES or depth > _MAX_DEPTH:
            raise BadReply("it holds too many values")
        if type(plain) in _WORDS:
            return plain
        if not isinstance(plain, dict) or len(plain) != 1:
            raise BadReply("there is no such value")
        ((kind, inside),) = plain.items()
        if kind == "tensor":
            return self.tensor(inside)
        if kind == "named" and isinstance(inside, str) and inside in NAMED_VALUES:
            return NAMED_VALUES[inside]
        if kind == "object" and isinstance(inside, str) and inside.isidentifier():
            return type(inside, (), {})()
        if not isinstance(inside, list):
            raise BadReply("there is no such value")
        if kind == "complex" and len(inside) == 2 and all(type(each) is float for each in inside):
            return complex(*inside)
        parts = [self.value(each, depth + 1) for each in inside]
        if kind in ("dict", "namespace"):
            if not all(isinstance(each, list) and len(each) == 2 and type(each[0]) in (str, int) for each in parts):
                raise BadReply("a key is no name")
            return dict(parts) if kind == "dict" else SimpleNamespace(**{str(name): each for name, each in parts})
        if kind not in ("tuple", "list"):
            raise BadReply("there is no such value")
        return parts if kind == "list" else tuple(parts)

    def tensor(self, plain: Any) -> torch.Tensor:
        """The next tensor of the payload, in memory of its own."""
        dtype, shape, strides = self._layout(plain)
        self.size += math.prod(shape) * dtype.itemsize
        if self.size > MAX_TENSORS:
            raise BadReply("its tensors are too large")
        extent = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
        count = extent if math.prod(shape) else 0
        size = count * dtype.itemsize
        if self.place + size > len(self.payload):
            raise BadReply("a tensor is shorter than it says")
        segment = bytearray(self.payload[self.place : self.place + size])
        self.place += size
        if not count:
            return torch.empty(shape, dtype=dtype)
        memory = torch.frombuffer(segment, dtype=torch.uint8 if dtype is torch.bool else dtype)
        return (memory != 0 if dtype is torch.bool else memory).as_strided(shape, strides)

    def _layout(self, plain: Any) -> tuple[torch.dtype, list[int], list[int]]:
        if fits(plain, _Layout) and plain["dtype"] in _DTYPES and len(plain["shape"]) == len(plain["strides"]):
            sizes = plain["shape"] + plain["strides"]
            if len(sizes) <= 2 * _MAX_DIMENSIONS and all(
                type(each) is int and 0 <= each <= MAX_TENSORS for each in sizes
            ):
                return _DTYPES[plain["dtype"]], plain["shape"], plain["strides"]
        raise BadReply("a tensor has no such description")


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """The tensors in a value, in the order in which they are written."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from tensors_in(each)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


def with_tensors(value: Any, tensors: Iterator[torch.Tensor]) -> Any:
    """The same value with others in the place of its tensors, in the same order."""
    if isinstance(value, torch.Tensor):
        return next(tensors)
    if isinstance(value, tuple | list):
        return (list if isinstance(value, list) else tuple)(with_tensors(each, tensors) for each in value)
    if isinstance(value, dict):
        return {name: with_tensors(each, tensors) for name, each in value.items()}
    return value


def packed(header: dict[str, Any], segments: list[bytes]) -> bytes:
    """The bytes of a frame. Raises ``Unsendable`` where it is too large."""
    head, payload = json.dumps(header).encode("utf-8", "replace"), b"".join(segments)
    if len(head) > MAX_HEADER or len(payload) > MAX_TENSORS:
        raise Unsendable(f"{len(head) + len(payload)} bytes are more than edited code can be handed at once")
    return PREFIX.pack(len(head), len(payload)) + head + payload


def sizes(prefix: bytes) -> tuple[int, int]:
    """Bytes of header and of payload that follow a prefix. Raises ``BadReply`` above the limits."""
    head, payload = PREFIX.unpack(prefix)
    if head > MAX_HEADER or payload > MAX_TENSORS:
        raise BadReply(f"a frame of {head + payload} bytes is too large")
    return head, payload


def parsed(head: bytes) -> dict[str, Any]:
    """The header of a frame. Raises ``BadReply``."""
    try:
        header = json.loads(head)
    except (ValueError, RecursionError) as problem:
        raise BadReply("a header is no JSON") from problem
    if not isinstance(header, dict):
        raise BadReply("a header is no object")
    return header
