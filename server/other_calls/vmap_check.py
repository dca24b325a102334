"""Compares torch.func.vmap over the second dimension with a loop, of a Function that claims to support it."""

from typing import Any

import torch

from ..contract.checks.state import random_sources
from ..contract.examination.call import Call, TensorsByName, reset_seeds
from ..contract.examination.session import gradients_close
from ..runtime.arguments import tensors_of
from ..runtime.rng import irregular_tensor
from ..runtime.user_call import call_user_code
from ..runtime.vjp import pull_back
from .directional_check import DirectionalResult

_BATCH = 3


def claims_vmap(function: Any) -> bool:
    """Whether a Function has a rule for vmap, its own or a generated one."""
    own = getattr(function, "vmap", None)
    return bool(getattr(function, "generate_vmap_rule", False)) or own is not torch.autograd.Function.vmap


def compare_under_vmap(call: Call) -> DirectionalResult:
    """Whether values and gradients of ``torch.func.vmap`` over dimension 1 are those of a loop.

    Raises whatever the Function raises, and torch.
    """
    if random_sources(call):
        return DirectionalResult(unknown="forward draws random numbers")
    batches = [{name: _turned(one, turn) for name, one in call.tensors.items()} for turn in range(_BATCH)]
    alone = [call.holding(each).run() for each in batches]
    names = [name for name, out in alone[0].outputs.items() if out.requires_grad]
    leaves = {name: torch.stack([each[name] for each in batches], _dim(one)) for name, one in call.tensors.items()}
    for each in leaves.values():
        each.requires_grad_()

    def mapped(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        # Not each * 1: what torch computes has its batch in front, wherever it was.
        return tuple(tensors_of(call_user_code(call.callee, *tensors, *call.parameters.values())))

    reset_seeds()
    dims = tuple(map(_dim, call.tensors.values()))
    together = dict(zip(alone[0].outputs, torch.func.vmap(mapped, in_dims=dims)(*leaves.values()), strict=True))
    for name, out in together.items():
        if not _same(out.detach(), [each.outputs[name].detach() for each in alone]):
            return DirectionalResult("a batch it returns different numbers from those for each element alone.", "")
    if not names:
        return DirectionalResult()
    given = {name: irregular_tensor(together[name]) for name in names}
    found = pull_back([together[name] for name in names], list(given.values()), leaves.values())
    loop = [each.gradients({name: given[name][row] for name in names}) for row, each in enumerate(alone)]
    return _compared(dict(zip(leaves, found, strict=True)), loop, leaves)


def _compared(
    found: dict[str, torch.Tensor | None], loop: list[dict[str, torch.Tensor | None]], leaves: TensorsByName
) -> DirectionalResult:
    for name, gradient in found.items():
        alone = [torch.zeros(()) if each[name] is None else each[name] for each in loop]
        shape = leaves[name].select(_dim_of(leaves[name]), 0).shape
        right = torch.stack([each.expand(shape) for each in alone if each is not None], _dim_of(leaves[name]))
        if not gradients_close(gradient, right):
            return DirectionalResult(f"{name} the batch gets a different gradient from each element alone.", name)
    return DirectionalResult()


def _turned(tensor: torch.Tensor, turn: int) -> torch.Tensor:
    """The tensor with its elements in another order."""
    return tensor.reshape(-1).roll(turn).reshape(tensor.shape)


def _dim(tensor: torch.Tensor) -> int:
    """The dimension along which copies of a tensor lie: the second, where there is a first."""
    return min(1, tensor.dim())


def _dim_of(stacked: torch.Tensor) -> int:
    return min(1, stacked.dim() - 1)


def _same(together: torch.Tensor, alone: list[torch.Tensor]) -> bool:
    return all(gradients_close(one, other) for one, other in zip(together, alone, strict=True))
