"""The random number generators of torch (CPU and CUDA), NumPy and Python: seeding, restoring, detecting draws."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch

# The stubs of NumPy lack some of these functions, and those of torch.cuda their types.
_NUMPY: Any = np.random
_CUDA: Any = torch.cuda
SEED = 1234  # sample: the seed before every call that has to draw the same random numbers


@dataclass(frozen=True)
class GeneratorStates:
    """The states of all generators, and which bit generator NumPy uses; torch has one for the CPU, then for CUDA's."""

    torch: tuple[torch.Tensor, ...]
    numpy: Any
    python: Any
    generator: Any

    @classmethod
    def now(cls) -> GeneratorStates:
        """The current states."""
        generator = _NUMPY.get_bit_generator()
        cuda = _CUDA.get_rng_state_all() if _CUDA.is_initialized() else ()
        states = np.random.get_state(legacy=False), random.getstate()
        return cls((torch.get_rng_state(), *cuda), *states, generator)

    def changed(self) -> tuple[str, ...]:
        """The generators that have been drawn from since: ``torch``, ``NumPy``, ``Python``."""
        now = GeneratorStates.now()
        moved = {
            "torch": not all(map(torch.equal, self.torch, now.torch)),
            "NumPy": not _equal_states(self.numpy, now.numpy),
            "Python": self.python != now.python,
        }
        return tuple(name for name, has_moved in moved.items() if has_moved)

    def restore(self) -> None:
        """Set all generators back to these states."""
        torch.set_rng_state(self.torch[0])
        if self.torch[1:]:
            _CUDA.set_rng_state_all(self.torch[1:])
        if _NUMPY.get_bit_generator() is not self.generator:
            _NUMPY.set_bit_generator(self.generator)
        np.random.set_state(self.numpy)
        random.setstate(self.python)


@contextmanager
def preserve_rng() -> Iterator[None]:
    """Restore the states of all generators on exit."""
    before = GeneratorStates.now()
    try:
        yield
    finally:
        before.restore()


class Seeding:
    """The last seed, until it is taken over for generators elsewhere: those of a process that runs edited code."""

    def __init__(self) -> None:
        self.fresh: int | None = None

    def take(self) -> int | None:
        """The seed, where there was a new one since this was last called."""
        fresh, self.fresh = self.fresh, None
        return fresh


seeding = Seeding()


def seed_all_generators(seed: int) -> None:
    """Seed all generators, whichever bit generator NumPy uses."""
    seeding.fresh = seed
    torch.default_generator.manual_seed(seed)
    if _CUDA.is_initialized():
        _CUDA.manual_seed_all(seed)
    random.setstate(_python_state(seed))
    generator = _NUMPY.get_bit_generator()
    if isinstance(generator, np.random.MT19937):
        np.random.seed(seed)
    else:
        generator.state = type(generator)(seed).state


@lru_cache(maxsize=8)
def _python_state(seed: int) -> Any:
    """The state after ``random.seed``, which takes half the time to set."""
    return random.Random(seed).getstate()  # noqa: S311 no secret depends on it


def _equal_states(some: Any, others: Any) -> bool:
    """Whether two states are equal, compared recursively: each bit generator has its own nested layout."""
    if isinstance(some, dict) and isinstance(others, dict):
        return some.keys() == others.keys() and all(_equal_states(some[name], others[name]) for name in some)
    return np.array_equal(some, others)


def irregular_tensor(like: torch.Tensor, seed: int = 5) -> torch.Tensor:
    """A tensor like another one, of fixed pseudo-random numbers: either sign, magnitude between 0.5 and 2."""
    draw = np.random.default_rng(seed)
    shape = tuple(like.shape)
    size = draw.uniform(0.5, 2.0, shape) * draw.choice((-1.0, 1.0), shape)
    found = torch.as_tensor(size, dtype=torch.float64)
    if like.is_complex():
        found = torch.complex(found, torch.as_tensor(draw.uniform(0.5, 2.0, shape), dtype=torch.float64))
    return found.to(like.device, like.dtype)
