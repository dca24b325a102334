"""The random numbers of torch, NumPy and Python: whether some were drawn, and everything as it was before."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

# NumPy does not tell mypy of all that it has.
_NUMPY: Any = np.random
# What all calls begin with whose random numbers are to be the same.
SEED = 1234


@dataclass(frozen=True)
class Randomness:
    """Where the three generators stand, and which of NumPy's it is."""

    torch: torch.Tensor
    numpy: Any
    python: Any
    generator: Any

    @classmethod
    def now(cls) -> Randomness:
        """Where they stand now."""
        generator = _NUMPY.get_bit_generator()
        return cls(torch.get_rng_state(), np.random.get_state(legacy=False), random.getstate(), generator)

    def changed(self) -> tuple[str, ...]:
        """Which of them have moved on since: ``torch``, ``NumPy``, ``Python``."""
        now = Randomness.now()
        moved = {
            "torch": not torch.equal(self.torch, now.torch),
            "NumPy": not _same(self.numpy, now.numpy),
            "Python": self.python != now.python,
        }
        return tuple(name for name, has_moved in moved.items() if has_moved)

    def restore(self) -> None:
        """Let them stand there again."""
        torch.set_rng_state(self.torch)
        if _NUMPY.get_bit_generator() is not self.generator:
            _NUMPY.set_bit_generator(self.generator)
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


def reseed(seed: int) -> None:
    """Begin the random numbers of all three anew, whichever generator NumPy has been given."""
    torch.default_generator.manual_seed(seed)
    random.seed(seed)
    generator = _NUMPY.get_bit_generator()
    if isinstance(generator, np.random.MT19937):
        np.random.seed(seed)
    else:
        generator.state = type(generator)(seed).state


def _same(some: Any, others: Any) -> bool:
    """Whether two states are the same, as far down as they go; every generator has a shape of its own."""
    if isinstance(some, dict) and isinstance(others, dict):
        return some.keys() == others.keys() and all(_same(some[name], others[name]) for name in some)
    return np.array_equal(some, others)
