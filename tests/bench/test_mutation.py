"""The mutants of a backward are what they say: one change each, in nothing but its arithmetic."""

from __future__ import annotations

import ast

import pytest
from bench.mutation import mutations

pytestmark = pytest.mark.nightly

SOURCE = '''"""Grad × grad."""
import torch


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, mask, scale):
        ctx.save_for_backward(x, mask)
        ctx.scale = scale
        return (x * x * mask * scale).sum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        """Is 2 * x."""
        x, mask = ctx.saved_tensors
        assert x.dim() > 0, f"{x.dim() + 1}"
        grad = {line}
        return grad, None, None
'''


def changed(line: str) -> dict[str, list[str]]:
    """What becomes of that line, by the kind of mutation."""
    found: dict[str, list[str]] = {}
    before = SOURCE.replace("{line}", line)
    for each in mutations(before, "Scaled"):
        assert sum(a != b for a, b in zip(before.splitlines(), each.source.splitlines(), strict=True)) == 1
        now = each.source.splitlines()[16].partition("= ")[2]
        if now != line:
            found.setdefault(each.kind, []).append(now)
    return found


@pytest.mark.parametrize(
    ("line", "kind", "mutants"),
    [
        ("(a + b) * x", "a factor dropped", ["(a + b)", "x"]),
        ("(a + b) * x", "- for +", ["(a - b) * x"]),
        ("-x", "a sign flipped", ["x"]),
        ("x.sum(dim=0)", "another dim", ["x.sum(dim=-1)"]),
        ("torch.softmax(x, -1)", "another dim", ["torch.softmax(x, 0)"]),
        ("x.sum(1, keepdim=True)", "a sum forgotten", ["x"]),
        ("x / ctx.scale", "a parameter replaced by 1", ["x / 1"]),
        ("torch.where(mask > 0, x, 0.0)", "a mask dropped", ["x", "0.0"]),
        ("torch.where(mask > 0, x, 0.0)", "a mask reversed", ["torch.where(mask < 0, x, 0.0)"]),
        ("2 * x", "a constant off by 1 %", ["2.02 * x"]),
        ("x ** 3", "another exponent", ["x ** (3 + 1)"]),
        ("x.cos()", "sin for cos", ["x.sin()"]),
        ("x @ mask.T", "a product turned round", ["mask.T @ x"]),
        ("x @ mask.T", "a transpose dropped", ["x @ mask"]),
    ],
)
def test_a_line_of_arithmetic_is_mutated(line: str, kind: str, mutants: list[str]) -> None:
    assert changed(line)[kind] == mutants


@pytest.mark.parametrize("line", ["x", "x[0]", "x.reshape(2 * n)", "x.shape[n - 1]", "ctx.saved_tensors[0]"])
def test_what_computes_nothing_stays(line: str) -> None:
    assert changed(line) == {}


def test_how_many_gradients_there_are_stays() -> None:
    source = SOURCE.replace("{line}", "x").replace("return grad, None, None", "return (grad,) + (None,) * (1 + n)")
    assert mutations(source, "Scaled") == []


def test_each_gradient_is_dropped_negated_and_scaled() -> None:
    last = [each.source.splitlines()[-1].strip() for each in mutations(SOURCE.replace("{line}", "x"), "Scaled")]
    assert last == ["return None, None, None", "return -grad, None, None", "return 1.01 * grad, None, None"]


def test_an_indexed_assignment_and_an_update_are_removed() -> None:
    found = mutations(SOURCE.replace("{line}", "x.clone(); grad[mask] = 0; grad *= 2"), "Scaled")
    assert {"an indexed assignment removed", "an update removed", "/= for *="} <= {each.kind for each in found}


def test_functions_that_only_backward_calls_are_its_arithmetic() -> None:
    source = "def slope(g, x):\n    return g * x\n\n\n" + SOURCE.replace("{line}", "slope(grad_output, x)")
    assert [
        each.short.partition(": ")[2] for each in mutations(source, "Scaled") if each.kind == "a factor dropped"
    ] == ["`g * x` → `g`", "`g * x` → `x`"]


def test_an_inherited_backward_is_mutated_where_it_is_written() -> None:
    source = SOURCE.replace("{line}", "2 * x") + "\n\nclass Derived(Scaled):\n    pass\n"
    assert mutations(source, "Derived") == mutations(source, "Scaled") != []


def test_every_mutant_is_a_module() -> None:
    for each in mutations(SOURCE.replace("{line}", "a if b else (x\n            + 1) * -x"), "Scaled"):
        ast.parse(each.source)


def test_a_class_that_is_not_there_has_no_mutants() -> None:
    assert mutations(SOURCE, "Other") == []
