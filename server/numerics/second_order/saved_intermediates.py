"""Intermediate results saved for backward: constants to autograd, so double backward misses their derivative."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from ...runtime.graph import CallGraph
from ...runtime.section import Section

UNNAMED_TENSOR = "a saved tensor"


def saved_intermediates(section: Section, t: float) -> tuple[str, ...]:
    """Tensors kept for backward that are neither inputs nor outputs, as ``ctx.name`` or ``a saved tensor``, each once.

    Only those of floating point; empty where the section cannot be evaluated at ``t``.
    """
    try:
        graph = CallGraph.of(section, t)
        known = {tensor.data_ptr() for tensor in (*graph.given.values(), *graph.outputs.values())}
        found = [name for name, tensor in _kept(graph) if tensor.data_ptr() not in known]
    except Exception:  # noqa: BLE001 what fails here is shown where the section itself is evaluated
        return ()
    return tuple(dict.fromkeys(found))


def _kept(graph: CallGraph) -> Iterator[tuple[str, torch.Tensor]]:
    for node in graph.nodes():
        for name, value in vars(node).items():
            yield from ((f"ctx.{name}", each) for each in _tensors(value))
        yield from ((UNNAMED_TENSOR, each) for each in _tensors(node.saved_tensors))


def _tensors(value: Any) -> list[torch.Tensor]:
    several = value if isinstance(value, tuple | list) else (value,)
    return [each for each in several if isinstance(each, torch.Tensor) and each.is_floating_point()]
