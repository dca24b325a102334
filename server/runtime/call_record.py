"""What the instrumented subclass of a Function notes of every call of its forward and its backward."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass(frozen=True)
class Kept:
    """A tensor that forward saved, or put on ctx under a ``name``; ``size`` is in bytes.

    ``what`` is ``input``, ``output`` or ``intermediate``, and ``called`` what it is called as such.
    """

    name: str
    what: str
    called: str
    shape: tuple[int, ...]
    dtype: str
    size: int


@dataclass(frozen=True)
class Forward:
    """One call of forward, in the names of its own parameters.

    ``kind`` is the type of what it returned, ``written`` the arguments that it edited in place, ``returned_inputs``
    those it returned as they are. Of ctx are known: what each argument ``needed``, what was given to ``mark_dirty``,
    what was ``saved``, the tensors kept in ``attributes`` (also inside lists, tuples and dicts), the ``names`` of all
    attributes, and which outputs were marked ``nondifferentiable``.
    """

    arguments: tuple[Any, ...]
    outputs: tuple[Any, ...]
    kind: str
    written: tuple[str, ...]
    returned_inputs: tuple[str, ...]
    needed: tuple[bool, ...] = ()
    dirty: tuple[str, ...] = ()
    saved: tuple[Kept | None, ...] = ()
    attributes: tuple[Kept, ...] = ()
    names: tuple[str, ...] = ()
    nondifferentiable: tuple[int, ...] = ()


@dataclass(frozen=True)
class Backward:
    """One call of backward."""

    grad_outputs: tuple[torch.Tensor | None, ...]
    copies: tuple[torch.Tensor | None, ...]
    written: tuple[int, ...]
    """The grad_outputs that were edited in place."""
    returned: Any
    needs: tuple[bool, ...]

    @property
    def values(self) -> tuple[Any, ...]:
        """What was returned, one for each argument."""
        return self.returned if isinstance(self.returned, tuple) else (self.returned,)


@dataclass
class Record:
    """What the subclass has noted, call by call."""

    parameters: tuple[str, ...]
    forwards: list[Forward] = field(default_factory=list)
    backwards: list[Backward] = field(default_factory=list)

    def name(self, place: int) -> str:
        """What forward calls its argument at this place."""
        return self.parameters[place] if place < len(self.parameters) else f"argument {place}"
