"""Makes a capture of what was recorded: plain data and bytes."""

import inspect
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Literal, cast

import torch

from ..capture.record import ArgumentRecord, ArrayRecord, Capture, CaptureRecord, HeldDtype, SiteRecord, SlotRecord
from ..inference.recipe.grammar import is_literal
from ..inference.recipe.recipe import NotInferred
from ..inference.source.signature import signature_of
from ..runtime.arrays import dtype_name
from ..user_code.captured_calls import class_digest
from ..user_code.definition_lines import SourceFile
from .recorder import Held, Recorder, Site, Slot

_SAMPLE = 4096  # budget: numbers of one place, of all calls together
_QUANTILES = 101  # of a place, where its numbers are to stay at home
_LONGEST = 200  # characters of a value
_KINDS: dict[torch.dtype, Literal["f8", "f4", "i8"]] = {
    torch.float64: "f8",
    **dict.fromkeys((torch.float32, torch.float16, torch.bfloat16), "f4"),
}
_TORCH = {"f8": torch.float64, "f4": torch.float32, "i8": torch.int64}


class _Blob:
    """The bytes of the numbers."""

    def __init__(self) -> None:
        self.parts = bytearray()

    def add(self, values: torch.Tensor) -> ArrayRecord:
        kind = _KINDS.get(values.dtype, "i8")
        start = len(self.parts)
        flat = values.detach().to("cpu", _TORCH[kind]).contiguous().reshape(-1)
        self.parts += flat.numpy().astype(f"<{kind}").tobytes()
        self.parts += bytes(-len(self.parts) % 8)
        return {"kind": kind, "start": start, "length": flat.numel()}


def capture_of(recorder: Recorder, notes: list[str], values: bool = True) -> Capture:
    """The capture of what was recorded. Without ``values`` it has quantiles alone, and no tensors."""
    blob = _Blob()
    record: CaptureRecord = {
        "format": 1,
        "torch": torch.__version__,
        "sampled": values,
        "notes": notes,
        "sites": [_site(each, blob, values) for each in list(recorder.sites.values())],
    }
    return Capture(record, bytes(blob.parts))


def _site(site: Site, blob: _Blob, values: bool) -> SiteRecord:
    file = getattr(sys.modules.get(site.cls.__module__), "__file__", None) or ""
    source = ""
    with suppress(OSError, TypeError, SyntaxError, ValueError):
        whole = SourceFile(inspect.getsourcefile(site.cls) or file)
        source = whole.text(whole.place(site.cls))
    calls = _common_calls(site)
    return {
        "function": site.cls.__qualname__,
        "module": site.cls.__module__,
        "file": _relative(file),
        "digest": class_digest(source) if source else "",
        "line": _relative(site.line),
        "path": site.path,
        "calls": site.calls,
        "backwards": site.backwards,
        "recomputed": site.recomputed,
        "untracked": site.untracked,
        "arguments": list(_arguments(site, blob)) if values else [],
        "slots": [_slot(*key, each, blob, calls, values) for key, each in sorted(site.slots.items())],
    }


def _common_calls(site: Site) -> set[int]:
    """The calls of which every input and the grad_output were kept: those can be told in pairs."""
    paired = [key for key in site.slots if key[0] == "input" or key == ("grad_output", 0)]
    kept = [set(each.chunks) for key in paired if (each := site.slots[key]).chunks]
    return set.intersection(*kept) if kept else set()


def _slot(role: Any, index: int, slot: Slot, blob: _Blob, calls: set[int], values: bool) -> SlotRecord:
    sample = slot.merged(_SAMPLE, calls)
    if not values:
        sample = _quantiles(sample)
    return {
        "role": role,
        "index": index,
        "dtype": slot.dtype,
        "device": slot.device,
        "shapes": [(list(shape), count) for shape, count in slot.shapes.items()],
        "calls": slot.calls,
        "none": slot.none,
        "numel": slot.numel,
        "low": slot.low,
        "high": slot.high,
        "values": blob.add(sample),
    }


def _quantiles(sample: torch.Tensor) -> torch.Tensor:
    """Quantiles in the place of the numbers; what is not finite keeps its share."""
    finite_ones = sample[sample.isfinite()].double()
    if not finite_ones.numel():
        return sample[:0]
    count = max(1, round(_QUANTILES * finite_ones.numel() / sample.numel()))
    cuts = torch.quantile(finite_ones, torch.linspace(0, 1, count, dtype=torch.float64)).float()
    return torch.cat((cuts, cuts.new_full((_QUANTILES - count,), float("nan"))))


def _arguments(site: Site, blob: _Blob) -> Iterator[ArgumentRecord]:
    try:
        names = signature_of(site.cls).names
    except NotInferred:
        names = ()
    order = [each for each in names if not each.startswith("*")]
    order += [f"{each[1:]}{place}" for each in names if each.startswith("*") for place in range(len(site.first))]
    for place, value in enumerate(site.first):
        name = order[place] if place < len(order) else f"argument {place}"
        if isinstance(value, Held):
            tensor = value.tensor
            yield {
                "name": name,
                "text": "",
                "tensor": {
                    "dtype": cast(HeldDtype, dtype_name(tensor.dtype)),
                    "shape": list(value.shape),
                    "rows": value.rows,
                    "grad": value.grad,
                    "values": blob.add(tensor),
                },
            }
        else:
            text = repr(value) if is_literal(value) else ""
            yield {"name": name, "text": text if len(text) <= _LONGEST else "", "tensor": None}


def _relative(path: str) -> str:
    """A path below this folder as it is from here, of any other the name alone: who has lent data tells no more."""
    inside = os.path.relpath(path) if os.path.isabs(path) else path
    return os.path.basename(path) if inside.startswith(os.pardir) else inside
