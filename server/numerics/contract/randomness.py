"""The random numbers of torch, NumPy and Python: whether some were drawn, and everything as it was before."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch


@dataclass(frozen=True)
class Randomness:
    """Where the three generators stand."""

    torch: torch.Tensor
    numpy: Any
    python: Any

    @classmethod
    def now(cls) -> Randomness:
        """Where they stand now."""
        return cls(torch.get_rng_state(), np.random.get_state(legacy=False), random.getstate())

    def changed(self) -> tuple[str, ...]:
        """Which of them have moved on since: ``torch``, ``NumPy``, ``Python``."""
        numpy: Any = np.random.get_state(legacy=False)
        return (
            *(("torch",) * (not torch.equal(self.torch, torch.get_rng_state()))),
            *(
                ("NumPy",)
                * (
                    self.numpy["state"]["pos"] != numpy["state"]["pos"]
                    or not np.array_equal(self.numpy["state"]["key"], numpy["state"]["key"])
                )
            ),
            *(("Python",) * (self.python != random.getstate())),
        )

    def restore(self) -> None:
        """Let them stand there again."""
        torch.set_rng_state(self.torch)
        np.random.set_state(self.numpy)
        random.setstate(self.python)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Whatever is drawn inside, the generators stand where they stood afterwards."""
    before = Randomness.now()
    try:
        yield
    finally:
        before.restore()
