"""Scalar inputs of a declared op: whether its Function takes them as 0-dimensional tensors or as a vector."""

from dataclasses import replace

import torch

from ...ops import Op
from ..runtime.arguments import BoundFunction, PassedArgument
from ..runtime.isolation import quietly
from ..runtime.user_call import call_user_code
from ..runtime.vjp import pull_back


def with_scalar_inputs(op: Op) -> Op:
    """The op, with its scalar inputs passed in the shape that its Function works with.

    Where it can, a scalar input is passed as a vector, so that many points travel in one call. It is a 0-dimensional
    tensor beside inputs that have dimensions, and where forward or backward fails otherwise. An op that is declared to
    be broken stays as it is. Raises nothing.
    """
    scalars = tuple(each.name for each in op.inputs if not each.shape)
    if op.broken:
        return op
    if len(scalars) == len(op.inputs):
        candidates = dict.fromkeys(((), *((name,) for name in scalars), scalars))
        with quietly():
            scalars = next((names for names in candidates if _runs_with(op, names)), ())
    if not scalars:
        return op
    inputs = tuple(PassedArgument(place, each.name in scalars) for place, each in enumerate(op.inputs))
    parameters = tuple(PassedArgument(len(inputs) + place) for place in range(len(op.parameters)))
    return replace(op, call=BoundFunction(op.call or op.function, (*inputs, *parameters)))


def _runs_with(op: Op, scalars: tuple[str, ...]) -> bool:
    """Whether forward and backward run with these inputs as 0-dimensional tensors."""
    leaves = [
        torch.tensor(each.values, dtype=getattr(torch, op.dtype))
        .reshape(() if each.name in scalars else each.shape or (1,))
        .requires_grad_()
        for each in op.inputs
    ]
    try:
        y = call_user_code(op, *(leaf * 1 for leaf in leaves), *(each.default for each in op.parameters))
        outputs = [each for each in (y if isinstance(y, tuple) else (y,)) if getattr(each, "requires_grad", False)]
        pull_back(outputs, [torch.ones_like(each) for each in outputs], leaves)
    except (Exception, SystemExit):  # noqa: BLE001 where every way fails, the section reports it
        return False
    return True
