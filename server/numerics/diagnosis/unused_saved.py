"""Saved tensors that backward never uses, found by replacing each with NaN and large numbers (a poison test)."""

from __future__ import annotations

import math

import numpy as np
import torch

from ...runtime.arrays import Array
from ...runtime.graph import CallGraph
from ...runtime.section import Section

# sample: the points at which it is tried, as shares of all: on both sides of most masks.
_TRIED_SHARES = np.array([0.0, 0.2, 0.5, 0.8, 1.0])
# sample: NaN alone is fooled by comparisons, a large number alone by those the other way.
_POISONS = (math.nan, 1e6, -1e6)


def unused_saved(section: Section, x: Array) -> tuple[str, ...]:
    """The tensors that the Function saved and that have no influence on any gradient, in the order they were saved."""
    return tuple(name for name, used in saved_tensor_usage(section, x) if used is False)


def saved_tensor_usage(section: Section, x: Array) -> tuple[tuple[str, bool | None], ...]:
    """Each tensor that the Function saved, in that order, and whether any gradient depends on it.

    Each is poisoned by itself, at some of the points ``x``: NaN first, then large numbers of both signs. If the
    gradient of any input notices, or cannot be repeated, or backward raises, the tensor counts as used. None, and no
    name, for one that cannot be poisoned, as one of integers. They are named after the input or output that they are,
    or else ``a tensor``. Empty where nothing can be tried.
    """
    if section.sweeps_parameter or section.order == 2:
        return ()
    tried = x[np.unique((_TRIED_SHARES * (x.size - 1)).astype(np.intp))].tolist()
    try:
        names = _saved_names(CallGraph.of(section, tried[0]))
    except Exception:  # noqa: BLE001 what fails here is shown where the section itself is evaluated
        return ()
    return tuple((name, not _unused(section, tried, place) if name else None) for place, name in enumerate(names))


def _saved_names(graph: CallGraph) -> list[str]:
    """What each saved tensor is called; empty for those that cannot be poisoned."""
    names = {tensor.data_ptr(): name for name, tensor in (graph.outputs | graph.given).items()}

    def name_of(saved: torch.Tensor | None) -> str:
        if saved is None or not (saved.is_floating_point() or saved.dtype == torch.bool):
            return ""
        return names.get(saved.data_ptr(), "a tensor")

    return [name_of(each) for node in graph.nodes() for each in node.saved_tensors]


def _unused(section: Section, tried: list[float], place: int) -> bool:
    try:
        for t in tried:
            plain = CallGraph.of(section, t).gradients()
            if not all(_equal_gradients(plain, _poisoned_gradients(section, t, place, poison)) for poison in _POISONS):
                return False
    except Exception:  # noqa: BLE001 it has been noticed
        return False
    return True


def _poisoned_gradients(section: Section, t: float, place: int, poison: float) -> list[torch.Tensor | None]:
    graph = CallGraph.of(section, t)
    slots = [slot for node in graph.nodes() for slot in node._raw_saved_tensors]

    def poisoned(tensor: torch.Tensor) -> torch.Tensor:
        return ~tensor if tensor.dtype == torch.bool else torch.full_like(tensor, poison)

    slots[place].register_hooks(torch.Tensor.detach, poisoned)
    return graph.gradients()


def _equal_gradients(some: list[torch.Tensor | None], others: list[torch.Tensor | None]) -> bool:
    return all(
        a is b or (a is not None and b is not None and torch.equal(torch.nan_to_num(a), torch.nan_to_num(b)))
        for a, b in zip(some, others, strict=True)
    )
