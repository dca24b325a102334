"""How a Function is called where it is used and documented: read from its package, its tests and its docstrings."""

import importlib.util
import inspect
import itertools
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from support.written_functions import class_source, function_of

import gradloupe
from gradloupe.server.inference.infer import infer

_numbers = itertools.count()
SCALED = class_source(
    """
    def forward(ctx, x, gain):
        ctx.save_for_backward(gain)
        return x * gain
    def backward(ctx, g):
        return g * ctx.saved_tensors[0], None
    """,
    "Scaled",
)
MIXED = class_source(
    """
    def forward(ctx, a, b, table):
        ctx.save_for_backward(a, b, table)
        return torch.einsum("...i,...j,ij->...", a, b, table)
    def backward(ctx, g):
        a, b, table = ctx.saved_tensors
        by_table = (g[..., None, None] * a[..., :, None] * b[..., None, :]).sum_to_size(table.shape)
        return g[..., None] * (b @ table.T), g[..., None] * (a @ table), by_table
    """,
    "Mixed",
)
POOLED = """
    def forward(ctx, x, size):
        if size == 3:
            raise ValueError("no")
        ctx.shape = x.shape
        return x.sum(-1) * size
    def backward(ctx, g):
        return g[..., None].expand(ctx.shape) * {}, None
"""


def _defined(folder: Any, name: str, **files: str) -> Any:
    """The Function of a package of these files, which are its modules and its tests."""
    package = folder / f"written{next(_numbers)}"
    package.mkdir()
    (package / "__init__.py").touch()
    for module, text in files.items():
        (package / f"{module}.py").write_text("import torch\nfrom torch import nn\n\n\n" + dedent(text))
    path = package / "ops.py"
    spec = importlib.util.spec_from_file_location(f"{package.name}.ops", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return getattr(module, name)


MODULE = """
    from .ops import Scaled

    class Layer(nn.Module):
        def __init__(self, n):
            super().__init__()
            {}

        def forward(self, x):
            return Scaled.apply(x, {})
"""
WEIGHT = "self.gain = nn.Parameter(torch.ones(n))"


@pytest.mark.parametrize(
    ("made", "passed", "recipe"),
    [
        ("self.register_buffer('gain', torch.ones(n))", "self.gain", "x: float64[7]; gain: float64[7] nograd"),
        (
            "self.gain = nn.Parameter(torch.ones(n), requires_grad=False)",
            "self.gain",
            "x: float64[7]; gain: float64[7] nograd",
        ),
        (WEIGHT, "self.gain.detach()", "x: float64[7]; gain: float64[7] nograd"),
        (WEIGHT, "self.gain", "x: float64[7]; gain: float64[7]"),
    ],
)
def test_what_every_call_holds_back_is_data(tmp_path, made, passed, recipe):
    function = _defined(tmp_path, "Scaled", ops=SCALED, layers=MODULE.format(made, passed))
    found = infer(function)
    assert found.recipe.text().removeprefix("like ") == recipe
    assert gradloupe.check(function).ok == ("nograd" in recipe)


def test_one_call_that_trains_it_makes_an_input_of_it(tmp_path):
    both = MODULE.format("self.register_buffer('gain', torch.ones(n))", "self.gain")
    function = _defined(tmp_path, "Scaled", ops=SCALED, a=both, b=MODULE.format(WEIGHT, "self.gain"))
    assert "nograd" not in infer(function).recipe.text()


def test_what_is_installed_inside_a_package_says_nothing(tmp_path):
    function = _defined(tmp_path, "Scaled", ops=SCALED)
    installed = Path(inspect.getfile(function)).parent / ".venv"
    installed.mkdir()
    data = MODULE.format("self.register_buffer('gain', torch.ones(n))", "self.gain")
    (installed / "layers.py").write_text(dedent(data))
    assert "nograd" not in infer(function).recipe.text()


DOCTEST = """
    >>> a = torch.randn(2, 3, 4)
    >>> Mixed.apply(a, torch.randn(2, 3, 5), torch.randn(4, 5))
    """
CALLS = {
    "in a test, through a function": {
        "ops": MIXED + "\n\ndef mix(a, b, table):\n    return Mixed.apply(a, b, table)\n",
        "test_mix": """
            from .ops import mix

            def test_mix():
                n, m = 2, 3
                a, b = torch.randn(n, m, 4).double(), torch.rand(n, m, 5, dtype=torch.float64).requires_grad_()
                table = torch.ones((4, 5))
                mix(a, b, table).sum().backward()
        """,
    },
    "by gradcheck": {
        "ops": MIXED,
        "test_mix": """
            from .ops import Mixed

            def test_mix():
                given = torch.randn(2, 3, 4), torch.randn(2, 3, 5), torch.randn(4, 5)
                torch.autograd.gradcheck(Mixed.apply, given)
        """,
    },
    "in a doctest": {
        "ops": MIXED.replace("Function):", f'Function):\n    """{DOCTEST}"""\n'),
    },
    "in a module": {
        "ops": MIXED,
        "layers": """
            from .ops import Mixed as M, Mixed

            mixed = Mixed.apply
            mixed(torch.randn(2, 3, 4), torch.randn(2, 3, 5), torch.eye(4, 5))
        """,
    },
}


@pytest.mark.parametrize("where", CALLS)
def test_a_call_in_a_file_is_the_call(tmp_path, where):
    found = infer(_defined(tmp_path, "Mixed", **CALLS[where]))
    assert [each.shape for each in found.recipe.inputs] == [(2, 3, 4), (2, 3, 5), (4, 5)]


@pytest.mark.parametrize(("factor", "ok"), [("ctx.size", True), ("2", False)])
def test_a_number_that_a_call_passes_is_passed(tmp_path, factor, ok):
    source = class_source(
        POOLED.format(factor).replace("ctx.shape =", "ctx.size = size\n        ctx.shape ="), "Pooled"
    )
    used = "from .ops import Pooled\n\nPooled.apply(torch.randn(300, 64, 80), 11)\n"
    function = _defined(tmp_path, "Pooled", ops=source, use=used)
    assert infer(function).recipe.text() == "x: float64[2,3,4]; size = 11"
    assert gradloupe.check(function).ok == ok


@pytest.mark.parametrize(
    ("doc", "recipe"),
    [
        ("x: [T, N, D], u: [N, D]", "x: float64[2,3,4]; u: float64[3,4]"),
        (
            "Args:\n    x (torch.Tensor): steps of shape (T, N, D)\n    u (torch.Tensor): shape (N, D)",
            "x: float64[2,3,4]; u: float64[3,4]",
        ),
        ("Expected shape [T, N, 5]. u: (N, 5).", "x: float64[2,3,5]; u: float64[3,5]"),
        ("x: [T, D], u: [D], and the state [D - 1].", "x: float64[3,4]; u: float64[4]"),
        ("x (Tensor) is scanned, and u (Tensor, optional) is kept.", "x: float64[7]; u: float64[]"),
    ],
)
def test_a_shape_that_is_said_is_the_shape(doc, recipe):
    scan = """
        def forward(ctx, x, u):
            h = [torch.zeros_like(u)]
            for each in x:
                h.append(u * h[-1] + each)
            return torch.stack(h[1:])
        def backward(ctx, g):
            return g, torch.zeros_like(g[0])
    """
    assert infer(function_of(scan, doc=doc)).recipe.text() == recipe


def test_a_message_and_a_comment_say_shapes_too():
    said = """
        def forward(ctx, x, w):
            # w: (C, K)
            assert x.dim() == 3, "expected x of shape (B, C, T)"
            return torch.nn.functional.pad(x, (w.shape[-1], 0)) * w.sum(1)[:, None]
        def backward(ctx, g):
            return g, g
    """
    assert [each.shape for each in infer(function_of(said)).recipe.inputs] == [(2, 3, 4), (3, 5)]


def test_a_size_that_is_less_than_another_is_so():
    said = """
        def forward(ctx, x, w, state):
            full = torch.cat([state.t(), x], 0)
            ctx.sizes = x.shape, w.shape
            return sum(full[k : k + len(x)] * w[:, k] for k in range(w.shape[1]))
        def backward(ctx, g):
            w = torch.zeros(ctx.sizes[1], dtype=g.dtype)
            return g, w, w[:, 1:]
    """
    found = infer(function_of(said, doc="x [T, D], w [D, W], state [D, W - 1]"))
    shapes = [each.shape for each in found.recipe.inputs]
    assert shapes == [(3, 4), (4, 5), (4, 4)]
