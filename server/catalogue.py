"""What the ops declare of themselves, as plain data for the floors above the door."""

from __future__ import annotations

import hashlib
import inspect
import math
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import torch

from ..ops import OPS, Input, Op, Parameter
from .question import Element

MOST_ELEMENTS = 256


def catalogue() -> list[dict[str, Any]]:
    """One description for each op, in the order of their names; the outputs are measured by running it."""
    return [_described(op) for op in OPS.values()]


def parsed(element: str) -> Element:
    """The element an op names as text, such as ``weight[0,1]``."""
    name, _, index = element.rstrip("]").partition("[")
    return Element(name, tuple(int(each) for each in index.split(",")) if index else ())


def first_looked_at(op: Op) -> tuple[Element, Element]:
    """The elements ``wrt`` and ``of`` that an op wants to be seen by first."""
    wrt = op.wrt or next(_elements(op.inputs[0].name, op.inputs[0].shape))
    of = op.of or next(_elements(op.outputs[0], _output_shapes(op)[0]))
    return parsed(wrt), parsed(of)


def _described(op: Op) -> dict[str, Any]:
    outputs = list(zip(op.outputs, _output_shapes(op), strict=True))
    wrt, of = first_looked_at(op)
    swept = [name for each in op.inputs for name in _elements(each.name, each.shape)][:MOST_ELEMENTS]
    return {
        "name": op.name,
        "title": op.title,
        "group": op.group,
        "doc": op.doc,
        "forward": op.forward,
        "backward": op.backward,
        "surrogate_formula": op.surrogate_formula,
        "claim": op.claim,
        "broken": op.broken,
        "reference": op.reference,
        "source": op.source,
        "digest": _digest(op),
        "inputs": [_input(each) for each in op.inputs],
        "parameters": [_parameter(each) for each in op.parameters],
        "outputs": [{"name": name, "shape": list(shape)} for name, shape in outputs],
        "wrt": {"name": wrt.name, "index": list(wrt.index)},
        "of": {"name": of.name, "index": list(of.index)},
        "elements": {
            "wrt": swept + [each.name for each in op.parameters if each.kind == "float"],
            "of": [name for output in outputs for name in _elements(*output)][:MOST_ELEMENTS],
        },
    }


def _input(each: Input) -> dict[str, Any]:
    return {
        "name": each.name,
        "description": each.description,
        "shape": list(each.shape),
        "domain": list(each.domain),
        "values": list(each.values),
    }


def _parameter(each: Parameter) -> dict[str, Any]:
    return {
        "name": each.name,
        "kind": each.kind,
        "default": each.default,
        "minimum": each.minimum if math.isfinite(each.minimum) else None,
        "maximum": each.maximum if math.isfinite(each.maximum) else None,
        "choices": list(each.choices),
        "description": each.description,
    }


def _elements(name: str, shape: tuple[int, ...]) -> Iterator[str]:
    if math.prod(shape) == 1:
        return iter((name,))
    return (f"{name}[{','.join(map(str, index))}]" for index in product(*map(range, shape)))


def _output_shapes(op: Op) -> list[tuple[int, ...]]:
    """The shapes of the outputs at the declared values; ``()`` for a single number, and where forward fails."""
    held = [torch.tensor(each.values, dtype=torch.float64).reshape(each.shape or (1,)) for each in op.inputs]
    try:
        with torch.no_grad():
            y = op(*held, *(each.default for each in op.parameters))
    except Exception:  # noqa: BLE001 that it fails is shown when the op is looked at
        y = ()
    outputs = y if isinstance(y, tuple) else (y,)
    shapes = [tuple(out.shape) if isinstance(out, torch.Tensor) and out.numel() > 1 else () for out in outputs]
    return [*shapes, *[()] * len(op.outputs)][: len(op.outputs)]


def _digest(op: Op) -> str:
    file = inspect.getsourcefile(op.function)
    text = Path(file).read_text(encoding="utf-8") if file else op.source
    return hashlib.sha256(f"{text}\0{torch.__version__}".encode()).hexdigest()[:16]
