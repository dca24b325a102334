"""Samples of the numbers of tensors: the same places for all tensors of one size, by a generator of its own."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import torch

_CHUNKS = 16  # budget: the calls whose samples are kept for one place
_SETS = 8  # sample: sets of places, in turn


class Sampler:
    """Takes ``size`` numbers of a tensor, or all where it has no more."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._generator = torch.Generator().manual_seed(0)
        self._places: dict[tuple[int, torch.device, int], torch.Tensor] = {}

    def take(self, tensor: torch.Tensor, number: int) -> torch.Tensor:
        """A flat copy of the numbers at the places of call ``number``, on the device of the tensor."""
        count = tensor.numel()
        if count <= self.size:
            return tensor.flatten().clone()
        return torch.take(tensor, self._at(count, tensor.device, number % _SETS))

    def _at(self, count: int, device: torch.device, turn: int) -> torch.Tensor:
        key = (count, device, turn)
        if key not in self._places:
            places = torch.randint(count, (self.size,), generator=self._generator, device="cpu")
            self._places[key] = places.sort().values.to(device)
        return self._places[key]


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
