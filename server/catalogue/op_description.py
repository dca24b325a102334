"""Describes an op as plain data, for the processes that do not import torch."""

import inspect
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from ...ops import OPS, BadDeclaration, Input, Op, Parameter
from ..protocol.fingerprint import fingerprint, source_digest
from ..protocol.question import Element, element_names
from ..runtime.arguments import returned_values
from ..schema.op import InputDescription, OpDescription, ParameterDescription

_MAX_ELEMENTS = 256
_OF_THE_OP = (  # what an op says of itself, under the same name
    *("name", "title", "group", "doc", "forward", "backward", "surrogate_formula", "claim", "broken", "check"),
    *("reference", "source", "dtype", "grad_output", "first_line"),
)
_OF_THE_GALLERY = {
    **dict.fromkeys(("recipe", "usual_recipe", "passed_over", "doubt", "block"), ""),
    **{"own": False, "declared": True, "like": False, "written": True, "bound": "op"},
}
Shape = tuple[int, ...]


def op_descriptions() -> list[OpDescription]:
    """The descriptions of all ops in the order of ``OPS``; output shapes are measured by running each op.

    Raises ``BadDeclaration``, which names the file, for an op that cannot be described.
    """
    return [describe_op(op, measured_shapes(op)) for op in OPS.values()]


def measured_shapes(op: Op) -> list[Shape]:
    """The shapes of an op's outputs at the declared values; ``()`` for a single number, and where forward fails."""
    dtype = getattr(torch, op.dtype)
    inputs = [torch.tensor(each.values, dtype=dtype).reshape(each.shape or (1,)) for each in op.inputs]
    try:
        with torch.no_grad():
            y = op(*inputs, *(each.default for each in op.parameters))
    except (Exception, SystemExit):  # noqa: BLE001 the failure is reported when the op is opened
        y = ()
    shapes = [
        tuple(out.shape) if isinstance(out, torch.Tensor) and out.numel() > 1 else () for out in returned_values(y)
    ]
    return [*shapes, *[()] * len(op.outputs)][: len(op.outputs)]


def describe_op(op: Op, shapes: list[Shape], file: str = "") -> OpDescription:
    """Describe one op with outputs of these shapes. Raises ``BadDeclaration``, which names its ``file``."""
    try:
        return _described(op, shapes)
    except Exception as problem:
        why = f"{type(problem).__name__}: {problem}".rstrip(": ")
        raise BadDeclaration(f"{file or f'ops/{op.name}.py'} declares what cannot be described: {why}") from problem


def code_digest() -> str:
    """Text that differs when our own code does, or the release of torch or numpy."""
    return fingerprint(torch.__version__, np.__version__, source_digest())


def parse_element(element: str) -> Element:
    """Parse the text of an element, such as ``weight[0,1]``."""
    name, _, index = element.rstrip("]").partition("[")
    return Element(name, tuple(int(each) for each in index.split(",")) if index else ())


def default_elements(op: Op, shapes: list[Shape]) -> tuple[Element, Element]:
    """The default elements ``wrt`` and ``of`` of an op with outputs of these shapes."""
    wrt = op.wrt or next(iter(_elements(op.inputs[0].name, op.inputs[0].shape)))
    of = op.of or next(iter(_elements(op.outputs[0], shapes[0])))
    return parse_element(wrt), parse_element(of)


def _described(op: Op, shapes: list[Shape]) -> OpDescription:
    outputs = list(zip(op.outputs, shapes, strict=True))
    wrt, of = default_elements(op, shapes)
    swept = [name for each in op.inputs for name in _elements(each.name, each.shape)][:_MAX_ELEMENTS]
    description: dict[str, Any] = {name: getattr(op, name) for name in _OF_THE_OP} | _OF_THE_GALLERY
    description |= {
        **{"assumed": [], "left": [], "made_up": []},
        "digest": _digest(op),
        "import_line": f"from gradloupe.ops.{op.name} import op",
        "line": op.first_line,
        "file": f"ops/{op.name}.py",
        "inputs": [_input(each) for each in op.inputs],
        "parameters": [_parameter(each) for each in op.parameters],
        "outputs": [{"name": name, "shape": list(shape)} for name, shape in outputs],
        "wrt": {"name": wrt.name, "index": list(wrt.index)},
        "of": {"name": of.name, "index": list(of.index)},
        "elements": {
            "wrt": swept + [each.name for each in op.parameters if each.kind == "float"],
            "of": [name for output in outputs for name in _elements(*output)][:_MAX_ELEMENTS],
        },
    }
    return cast(OpDescription, description)


def _input(each: Input) -> InputDescription:
    return {
        "name": each.name,
        "description": each.description,
        "shape": list(each.shape),
        "domain": list(each.domain),
        "values": list(each.values),
    }


def _parameter(each: Parameter) -> ParameterDescription:
    bounds = {"minimum": each.minimum, "maximum": each.maximum}
    described = asdict(each) | {name: end if math.isfinite(end) else None for name, end in bounds.items()}
    # A default is of its kind: a declaration is checked for that.
    return cast(ParameterDescription, described | {"choices": list(each.choices)})


def _elements(name: str, shape: tuple[int, ...]) -> list[str]:
    return element_names(name, shape, range(min(math.prod(shape), _MAX_ELEMENTS)))


def _digest(op: Op) -> str:
    try:
        file = inspect.getsourcefile(op.function)  # may be outside of ops/
        text = Path(file).read_text(encoding="utf-8", errors="replace") if file else op.source
    except (TypeError, OSError):  # written in C, or the file was deleted after the import
        text = op.source
    return fingerprint(op.name, text, code_digest())
