"""The recorder: what passes through each Function at each call site, while a step runs, in samples from the same places
for all tensors of one size.
"""

import os
import sys
import threading
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from types import FrameType
from typing import Any, get_args

import torch

from ..capture.record import HeldDtype, Role
from ..runtime.arrays import dtype_name

_CHUNKS = 16  # budget: the calls whose samples are kept for one place
_SETS = 8  # sample: sets of places, in turn


def take(tensor: torch.Tensor, size: int, number: int) -> torch.Tensor:
    """A flat copy of ``size`` numbers at the places of call ``number``, on the device of the tensor; of few all."""
    count = tensor.numel()
    if count <= size:
        return tensor.flatten().clone()
    return torch.take(tensor, _places(count, size, tensor.device, number % _SETS))


@lru_cache(maxsize=512)
def _places(count: int, size: int, device: torch.device, turn: int) -> torch.Tensor:
    drawn = torch.randint(count, (size,), generator=torch.Generator().manual_seed(turn), device="cpu")
    return drawn.sort().values.to(device)


@dataclass
class Slot:
    """What has passed in one place of the calls of a site; ``chunks`` are samples by call, with what they stand for."""

    dtype: str = ""
    device: str = ""
    calls: int = 0
    none: int = 0
    numel: int = 0
    low: float | None = None
    high: float | None = None
    stride: int = 1
    shapes: dict[tuple[int, ...], int] = field(default_factory=dict)
    chunks: dict[int, tuple[torch.Tensor, int]] = field(default_factory=dict)

    def keep(self, number: int, sample: torch.Tensor, stands_for: int) -> None:
        """Keep the sample of a call; where there are too many, those of every second call go."""
        self.chunks[number] = (sample, stands_for)
        while len(self.chunks) > _CHUNKS:
            self.stride *= 2
            self.chunks = {call: each for call, each in self.chunks.items() if call % self.stride == 0}

    def widen(self, tensor: torch.Tensor) -> None:
        """Take the extremes of a tensor in; NaN stays."""
        low, high = (float(each) for each in torch.aminmax(tensor))
        self.low = low if self.low is None or not low >= self.low else self.low
        self.high = high if self.high is None or not high <= self.high else self.high

    def merged(self, most: int, calls: Collection[int]) -> torch.Tensor:
        """The samples of these calls, of all without any, as one of about ``most`` numbers: each by its size."""
        chosen = [each for call, each in sorted(self.chunks.items()) if call in calls or not calls]
        total = sum(size for _, size in chosen)
        parts = []
        for values, size in chosen:
            wanted = min(values.numel(), max(1, round(most * size / max(total, 1))))
            parts.append(values.to("cpu")[torch.linspace(0, values.numel() - 1, wanted).round().long()])
        return torch.cat(parts) if parts else torch.empty(0)


_TORCH = os.path.dirname(torch.__file__) + os.sep
_HERE = os.path.dirname(__file__) + os.sep
_TYPES = (torch.Tensor, torch.nn.Parameter)
_MODULE_CALL = torch.nn.Module._call_impl.__code__
_MOST_PROBLEMS, _MOST_SITES = 20, 2000  # budget
HELD_ELEMENTS = 1 << 12  # budget: elements of a tensor of a call; of a larger first one as many of its rows
# sample: of what is told alone, outputs and grad_inputs, so many times fewer numbers are kept than of what is judged.
_JUDGED, _FEWER = ("input", "grad_output"), 4
BEFORE = "forward ran before it was watched"
NOT_HELD: Any = object()  # in the place of a tensor of a first call that there was no room for


@dataclass(frozen=True)
class Held:
    """A tensor of the first call, and how many of its rows are held; None for all."""

    tensor: torch.Tensor
    shape: tuple[int, ...]
    rows: int | None
    grad: bool


@dataclass
class Site:
    """One call site of one Function. ``first`` are the arguments of its first call, as far as they can be held."""

    cls: type
    line: str
    path: str
    calls: int = 0
    backwards: int = 0
    recomputed: int = 0
    untracked: int = 0
    first: tuple[Any, ...] = ()
    slots: dict[tuple[Role, int], Slot] = field(default_factory=dict)


_Call = tuple[Site, int]


class Recorder:
    """Records every call of a custom Function whose module is in ``paths``, or every one without any.

    ``size`` numbers of each tensor of a call are kept, ``memory`` bytes are for the tensors of first calls. With
    ``exact`` the extremes of all numbers are taken, too.
    """

    def __init__(self, paths: dict[int, str] | None, size: int, memory: int, exact: bool) -> None:
        self.sites: dict[tuple[type, str, str], Site] = {}
        self.problems: dict[str, int] = {}
        self.held = 0
        self._paths, self._memory, self._exact = paths, memory, exact
        self._size, self._lock = size, threading.Lock()

    def called(self, cls: type, arguments: tuple[Any, ...]) -> _Call | None:
        if cls.__module__.startswith("torch."):
            return None
        line, path = self._place()
        if path is None:
            return None
        with self._lock:
            site = self._site(cls, line, path)
            number = site.calls
            site.calls += 1
            site.recomputed += torch._C._current_graph_task_id() != -1  # backward is running
        if number == 0:
            site.first = self._held_call(arguments)
        self._record(site, number, "input", arguments)
        return site, number

    def returned(self, call: _Call, outputs: tuple[Any, ...]) -> None:
        site, number = call
        site.untracked += not any(isinstance(each, torch.Tensor) and each.requires_grad for each in outputs)
        self._record(site, number, "output", outputs)

    def backward(self, call: _Call | None, cls: type, grad_outputs: tuple[Any, ...]) -> _Call | None:
        if call is None:
            if cls.__module__.startswith("torch.") or self._paths is not None:
                return None
            with self._lock:
                call = self._site(cls, BEFORE, ""), 0
        call[0].backwards += 1
        self._record(*call, "grad_output", grad_outputs)
        return call

    def backward_returned(self, call: _Call, grad_inputs: tuple[Any, ...]) -> None:
        self._record(*call, "grad_input", grad_inputs)

    def failed(self, problem: Exception) -> None:
        said = f"{type(problem).__name__}: {problem}"[:200]
        if said in self.problems or len(self.problems) < _MOST_PROBLEMS:
            self.problems[said] = self.problems.get(said, 0) + 1

    def _site(self, cls: type, line: str, path: str) -> Site:
        key = (cls, line, path)
        if key not in self.sites and len(self.sites) >= _MOST_SITES:
            key = (cls, "other lines", "")
        return self.sites.get(key) or self.sites.setdefault(key, Site(*key))

    def _place(self) -> tuple[str, str | None]:
        """The line of the user that calls, and the innermost module that is one of the model's; None for no such."""
        frame: FrameType | None = sys._getframe(3)
        line, path = "", None
        while frame is not None and (not line or path is None):
            code = frame.f_code
            if code is _MODULE_CALL:
                if self._paths:
                    path = self._paths.get(id(frame.f_locals["self"]), path)
            elif not line and not code.co_filename.startswith((_TORCH, _HERE)):
                line = f"{code.co_filename}:{frame.f_lineno}"
            if line and not self._paths:
                break
            frame = frame.f_back
        return line, path if self._paths else ""

    def _record(self, site: Site, number: int, role: Role, tensors: Iterable[Any]) -> None:
        size = self._size if role in _JUDGED else self._size // _FEWER
        for index, each in enumerate(tensors):
            if isinstance(each, torch.Tensor):
                self._record_tensor(self._slot(site, role, index), number, each, size)
            elif each is None and self._missed(site, role, index):
                self._slot(site, role, index).none += 1

    def _slot(self, site: Site, role: Role, index: int) -> Slot:
        return site.slots.get((role, index)) or site.slots.setdefault((role, index), Slot())

    def _missed(self, site: Site, role: Role, index: int) -> bool:
        """Whether a None stands for the gradient of a tensor."""
        return (role == "grad_input" and ("input", index) in site.slots) or role == "grad_output"

    def _record_tensor(self, slot: Slot, number: int, tensor: torch.Tensor, size: int) -> None:
        count, shape = tensor.numel(), tensor.shape
        slot.calls += 1
        slot.numel += count
        slot.shapes[shape] = slot.shapes.get(shape, 0) + 1
        if not slot.dtype:
            slot.dtype, slot.device = dtype_name(tensor.dtype), str(tensor.device)
        if not count or number % slot.stride or not _is_plain(tensor):
            return
        sample = take(tensor, size, number)
        if self._exact:
            slot.widen(tensor)
        slot.keep(number, sample, count)

    def _held_call(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments with copies of the tensors: whole, but of a large first one some rows, as of its companions."""
        lead = next((each for each in arguments if isinstance(each, torch.Tensor) and each.dim()), None)
        count = rows = lead.shape[0] if lead is not None else 0
        if lead is not None and lead.numel() > HELD_ELEMENTS:
            rows = max(1, HELD_ELEMENTS * count // lead.numel())
        return tuple(self._held(each, rows, count) if isinstance(each, torch.Tensor) else each for each in arguments)

    def _held(self, tensor: torch.Tensor, rows: int, count: int) -> Any:
        cut = rows < count and tensor.dim() > 0 and tensor.shape[0] == count
        part = tensor[:rows] if cut else tensor
        size = part.numel() * part.element_size()
        if (
            not _is_readable(part)
            or dtype_name(part.dtype) not in get_args(HeldDtype)
            or part.numel() > HELD_ELEMENTS
            or self.held + size > self._memory
        ):
            return NOT_HELD
        self.held += size
        return Held(part.detach().clone(), tuple(tensor.shape), rows if cut else None, tensor.requires_grad)


def _is_plain(tensor: torch.Tensor) -> bool:
    """Whether its numbers are real ones that can be read."""
    return tensor.is_floating_point() and _is_readable(tensor)


def _is_readable(tensor: torch.Tensor) -> bool:
    """Whether its numbers can be read: those of a subclass, as of a tensor that is traced, cannot."""
    return (
        type(tensor) in _TYPES
        and tensor.layout is torch.strided
        and not tensor.is_meta
        and not torch._C._functorch.is_functorch_wrapped_tensor(tensor)
    )
