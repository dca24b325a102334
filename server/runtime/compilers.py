"""Which modules compile what they are called with: a first call with a dtype or a shape takes seconds."""

from __future__ import annotations

import sys

_COMPILERS = (
    "torch._dynamo",
    "torch._inductor",
    "torch.utils.cpp_extension",
    "triton",
    "numba",
    "llvmlite",
    "cupy",
    "tilelang",
    "jax",
)


def loaded_compilers() -> set[str]:
    """Those of them that this process has imported."""
    return set(_COMPILERS) & sys.modules.keys()


def is_of_a_compiler(module: str) -> bool:
    """Whether a module, by its dotted name, is one of them, or a part of one."""
    return module.startswith(tuple(f"{each}." for each in _COMPILERS)) or module in _COMPILERS
