"""The small net that ships: what an op between its two layers gets, and which grad_output comes back to it."""

from __future__ import annotations

import numpy as np
import torch

from ..runtime.arrays import Array
from ..runtime.rng import SEED
from ..runtime.section import Section
from ..runtime.vjp import float64_array

NET = "net"
_ROWS, _INPUTS, _HIDDEN = 64, 8, 32  # unit: of the batch and of the two layers
_STEPS, _LR = 10, 0.02  # sample: it has learned a little


def small_net_numbers(section: Section) -> tuple[Array, Array] | None:
    """The inputs of an elementwise op in the last of a few steps of gradient descent, and their grad_outputs.

    The net is to learn the size of its first input. None where the op does not take and return as many numbers, no
    numbers where it fails.
    """
    generator = torch.Generator().manual_seed(SEED)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64).to(section.dtype)

    data, first, second = draw(_ROWS, _INPUTS), draw(_INPUTS, _HIDDEN) / 3, draw(_HIDDEN, 1) / 4
    second.requires_grad_()
    try:
        for _ in range(_STEPS):
            given = data @ first
            taken = given.reshape(-1).clone().requires_grad_()
            out = section.output(section.called_with([taken * 1, *(value for _, value in section.parameters)]))
            if out.numel() != taken.numel():
                return None
            loss = (out.reshape(_ROWS, _HIDDEN) @ second - data[:, :1].abs()).square().mean()
            grad_output, grad_input, of_second = torch.autograd.grad(loss, (out, taken, second), allow_unused=True)
            with torch.no_grad():
                second -= _LR * of_second
                first -= (
                    _LR * data.T @ (torch.zeros_like(given) if grad_input is None else grad_input.reshape_as(given))
                )
    except Exception:  # noqa: BLE001 a Function may raise anything
        return np.empty(0), np.empty(0)
    return float64_array(given.reshape(-1)), float64_array(grad_output.reshape(-1))
