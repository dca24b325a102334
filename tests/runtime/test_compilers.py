"""What compiles when it is called is known by the modules that are imported."""

import pytest

from gradloupe.server.runtime.compilers import is_of_a_compiler


@pytest.mark.parametrize(
    ("module", "compiles"),
    [
        ("triton", True),
        ("triton.runtime.jit", True),
        ("numba.core.compiler", True),
        ("torch._inductor.codecache", True),
        ("torch.nn.functional", False),
        ("triton_kernels", False),
        ("", False),
    ],
)
def test_a_module_is_of_a_compiler_where_it_is_one_or_a_part_of_one(module: str, compiles: bool) -> None:
    assert is_of_a_compiler(module) == compiles
