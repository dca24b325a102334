"""What torch loads when it is first asked for some things: loaded before any clock runs, and never interrupted."""

from __future__ import annotations

from importlib import import_module

import torch

from ..runtime.recorder import has_setup

# What torch.autograd.grad, and so gradcheck, imports for a grad_output (sympy with it), and forward mode for its rules.
LATE = ("torch.fx.experimental.symbolic_shapes", "torch._decomp.decompositions_for_jvp")
# What torch.func.grad imports once a Function has got so far.
BY_FUNC = ("torch._dynamo",)


def load(function: type[torch.autograd.Function]) -> None:
    """Load what this Function will need; a second time that takes nothing."""
    for name in (*LATE, *(BY_FUNC if has_setup(function) else ())):
        import_module(name)
