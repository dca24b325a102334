"""One working call of an op: tensors to call it with again and again, and the graph that each call leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from ....ops import Op
from ...runtime import rng
from ...runtime.arguments import shape_of, tensors_of
from ...runtime.section import Section
from ...runtime.timeouts import begun
from ...runtime.vjp import delivered

Tensors = Mapping[str, torch.Tensor]
Gradients = dict[str, torch.Tensor | None]


class Root(torch.autograd.Function):
    """The root of a graph from which backward starts with any ``grad_output``, handed over as it lies in memory.

    ``torch.autograd.grad(grad_outputs=…)`` would do so too, but imports sympy first, and makes zeros of None.
    """

    @staticmethod
    def forward(ctx: Any, *both: torch.Tensor | None) -> torch.Tensor:
        ctx.handed = both[len(both) // 2 :]
        return torch.zeros((), dtype=torch.float64)

    @staticmethod
    def backward(ctx: Any, *_: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return (*ctx.handed, *(None for _ in ctx.handed))


@dataclass(frozen=True)
class Given:
    """Fresh arguments: the ``tensors`` by name, of which those in ``leaves`` are copies that track, and the rest."""

    tensors: dict[str, torch.Tensor]
    parameters: dict[str, Any]
    leaves: dict[str, torch.Tensor]

    @property
    def arguments(self) -> tuple[Any, ...]:
        """All arguments in the order in which the op takes them."""
        return (*self.tensors.values(), *self.parameters.values())


@dataclass(frozen=True)
class Ran:
    """What a call returned: as it is in ``returned``, its tensors by name in ``outputs``."""

    given: Given
    returned: Any
    outputs: dict[str, torch.Tensor]

    @property
    def moved(self) -> dict[str, torch.Tensor]:
        """The outputs that a gradient can come from."""
        return {name: out for name, out in self.outputs.items() if out.requires_grad}

    def gradients(self, grad_outputs: Tensors, *, retain: bool = False, create: bool = False) -> Gradients:
        """What the engine delivers to each leaf for these ``grad_outputs``; the other outputs are left alone.

        The graph is there afterwards if it is to be ``retain``ed, and that of backward if one is to be ``create``d.
        Raises whatever backward raises.
        """
        some = [(out, grad_outputs[name]) for name, out in self.moved.items() if name in grad_outputs]
        root = Root.apply(*(out for out, _ in some), *(given for _, given in some))  # type: ignore[no-untyped-call]
        leaves = list(self.given.leaves.values())
        begun()
        found = delivered(root, leaves, retain_graph=retain, create_graph=create)
        return dict(zip(self.given.leaves, found, strict=True))


@dataclass(frozen=True)
class Call:
    """An op, the tensors and parameters it is called with, and ``run``: the op itself, or it rebound to a subclass."""

    op: Op
    tensors: dict[str, torch.Tensor]
    parameters: dict[str, Any]
    callee: Callable[..., Any]
    stacked: tuple[str, ...] = ()

    @classmethod
    def of(cls, section: Section, reach: tuple[float, float] | None = None) -> Call:
        """The call that a section makes: where the Function bears several numbers at once, with several.

        ``reach`` is the interval they are taken from for the swept input, by default its domain.
        """
        from .points import called

        return called(section, reach)

    @classmethod
    def plain(cls, section: Section) -> Call:
        """The call with everything as it is held."""
        tensors = {name: _tensor(section, name, values) for name, values in section.inputs}
        return cls(section.op, tensors, dict(section.parameters), section.op)

    def through(self, callee: Callable[..., Any]) -> Call:
        """The same call of something else."""
        return replace(self, callee=callee)

    def holding(self, tensors: Tensors) -> Call:
        """The same call with other tensors in place of these."""
        return replace(self, tensors={**self.tensors, **tensors})

    def arguments(self, which: tuple[str, ...] | None = None, dtype: torch.dtype | None = None) -> Given:
        """Fresh arguments, of ``dtype`` if given; those named by ``which`` (by default all) go back to a leaf.

        No tensor is a leaf itself, which a Function that works in place would refuse.
        """
        tensors, leaves = {}, {}
        for name, held in self.tensors.items():
            own = held.to(dtype or held.dtype, copy=True)
            if which is None or name in which:
                leaves[name] = own.requires_grad_()
                own = own * 1
            tensors[name] = own
        return Given(tensors, dict(self.parameters), leaves)

    def run(
        self, given: Given | None = None, *, which: tuple[str, ...] | None = None, dtype: torch.dtype | None = None
    ) -> Ran:
        """Call once, with the random numbers that every call has. Raises whatever forward raises."""
        given = given or self.arguments(which, dtype)
        reseed()
        begun()
        returned = self.callee(*given.arguments)
        tensors = tensors_of(returned)
        return Ran(given, returned, dict(zip(self._names(len(tensors)), tensors, strict=True)))

    def value(self, **moved: torch.Tensor) -> dict[str, torch.Tensor]:
        """The outputs alone, with some tensors moved; nothing is tracked. Raises whatever forward raises."""
        with torch.no_grad():
            return self.holding(moved).run(which=()).outputs

    def gradients(self, grad_outputs: Tensors) -> Gradients:
        """The gradients of a fresh graph. Raises whatever the Function raises."""
        ran = self.run()
        return ran.gradients({name: given.clone() for name, given in grad_outputs.items()})

    def grad_outputs(self, ran: Ran, seed: int = 5) -> dict[str, torch.Tensor]:
        """An irregular ``grad_output`` for every output that takes one."""
        return {name: irregular(out, seed + place) for place, (name, out) in enumerate(ran.moved.items())}

    def _names(self, count: int) -> tuple[str, ...]:
        declared = self.op.outputs
        return (*declared[:count], *(f"output {place}" for place in range(len(declared), count)))


def _tensor(section: Section, name: str, values: tuple[float, ...]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64).reshape(shape_of(section.op, name))


def irregular(like: torch.Tensor, seed: int = 5) -> torch.Tensor:
    """Numbers of either sign between 0.5 and 2 in size, always the same ones, in the shape of a tensor."""
    draw = np.random.default_rng(seed)
    shape = tuple(like.shape)
    size = draw.uniform(0.5, 2.0, shape) * draw.choice((-1.0, 1.0), shape)
    found = torch.as_tensor(size, dtype=torch.float64)
    if like.is_complex():
        found = torch.complex(found, torch.as_tensor(draw.uniform(0.5, 2.0, shape), dtype=torch.float64))
    return found.to(like.device, like.dtype)


def reseed() -> None:
    """Begin the random numbers of torch, NumPy and Python anew."""
    rng.reseed(rng.SEED)
