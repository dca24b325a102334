"""Samples of the numbers of tensors: the same places for all tensors of one size, by generators of their own."""

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import lru_cache

import torch

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
