from dataclasses import replace
from functools import partial

import pytest
import torch
from functions.contract_broken import BREACHES, Breach
from functions.contract_kept import KEEPERS
from functions.correct import INNOCENTS
from support.sampling import each_fourth
from support.sections import section

from gradloupe.server.contract import contract_xray

LEVELS = ("fine", "note", "warning", "error")
GRAVE = LEVELS[2:]
# The lines that rows point at.
POINTED = {
    "OneTooFew": "return ctx.k * grad_output",
    "Swapped": "return 2 * u * v * grad_output, v**2 * grad_output",
    "Raises": "return 2 * x.nothing * grad_output",
    "WritesToIt": "grad_output[x > 1] = 0",
    "WritesPastAutograd": "g.data.mul_(2 * x)",
    "ReadsLate": "return grad_output * ReadsLate.scale",
    "OnCtx": "ctx.x = x",
    "KeepsItsOutput": "ctx.y = x.exp()",
    "ForgetsTheMask": "ctx.save_for_backward(x)",
    "HidesTheName": 'ctx.name = "mine"',
    "SavesByHand": "ctx.saved_tensors = (x,)",
    "EditsItsInput": "return x.mul_(2)",
    "DirtyAndGone": "ctx.mark_dirty(x)",
    "ReturnsAList": "return [2 * x, 3 * x]",
    "ChangesWhatItKept": "return ctx.e.mul_(grad_output)",
    "Noisy": "return 2 * grad_output + 0.1 * torch.randn_like(grad_output)",
    "OtherInTraining": "return 2 * x if ctx.needs_input_grad[0] else 2 * x + 1",
    "NeedsTwoDimensions": "return x[:, :2] * 2",
    "IntermediateOnCtx": "ctx.e = x.exp()",
}


@pytest.mark.parametrize("breach", BREACHES, ids=lambda each: each.name)
def test_a_breach_is_named_and_its_line_pointed_at(breach: Breach) -> None:
    checks = sorted(contract_xray(section(breach.op)).checks, key=lambda each: LEVELS.index(each.level))
    levels = {each.id: each.level for each in checks if each.level != "fine"}  # of each the gravest
    assert levels.get(breach.id) == breach.level
    assert {id_ for id_, level in levels.items() if level in GRAVE} <= {breach.id, *breach.also}
    if breach.name in POINTED:
        (line, *_) = [each.line for each in checks if each.id == breach.id]
        assert line is not None
        assert breach.op.source.splitlines()[line - 1].strip() == POINTED[breach.name]


KEPT = {each.title: each for each in KEEPERS}


@pytest.mark.parametrize("name", each_fourth(KEPT))
def test_a_function_that_keeps_the_contract_is_not_accused(name: str) -> None:
    assert [each for each in contract_xray(section(KEPT[name])).checks if each.level in GRAVE] == []


class Recomputed(torch.autograd.Function):
    """Any function of tensors, whose backward computes it again and asks autograd."""

    @staticmethod
    def forward(ctx, function, *tensors):
        ctx.function = function
        ctx.save_for_backward(*tensors)
        return function(*tensors)

    @staticmethod
    def backward(ctx, grad_output):
        again = torch.is_grad_enabled()
        with torch.enable_grad():
            tensors = [each * 1 if each.requires_grad else each.detach().requires_grad_() for each in ctx.saved_tensors]
            y = ctx.function(*tensors)
            found = torch.autograd.grad(y, tensors, grad_output, create_graph=again, allow_unused=True)
        return None, *(torch.zeros_like(x) if each is None else each for each, x in zip(found, tensors, strict=True))


@pytest.mark.parametrize("name", each_fourth(list(INNOCENTS)[::6]))
def test_functions_as_people_write_them_are_not_accused(name: str) -> None:
    innocent = INNOCENTS[name]
    op = replace(innocent.op, function=Recomputed, call=partial(Recomputed.apply, innocent.op.call))
    found = contract_xray(section(op, innocent.wrt, innocent.of)).checks
    assert [each for each in found if each.level in GRAVE] == []


@pytest.mark.parametrize("name", ["singular values", "eigenvalues"])
def test_another_algorithm_without_a_gradient_is_not_accused_of_its_rounding(name: str) -> None:
    innocent = INNOCENTS[name]
    found = contract_xray(section(innocent.op, innocent.wrt, innocent.of)).checks
    assert [each for each in found if each.level in GRAVE] == []
