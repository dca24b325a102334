"""What the rows of an examination say: which line, of which inputs, how gravely."""

import pytest
import torch
from functions.basics import Square, altered, with_backward
from functions.contract_broken import BREACHES, OnCtx
from support.examined import ROW, examined, grave, levels, said
from support.sections import op_of, section

from gradloupe.ops import Input, Op
from gradloupe.server.contract import contract_xray


class Largest(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.max(dim=0).values

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x == x.max())


def test_the_line_of_a_note_is_that_which_raises_and_the_element_that_which_is_farthest_off():
    op = Op(Largest, "", "", "", "", (ROW,))
    (row,) = [each for each in contract_xray(section(op)).checks if each.id == "EMPTY"]
    assert op.source.splitlines()[row.line - 1].strip() == "return x.max(dim=0).values"
    wrong = with_backward(torch.square, lambda g, x: g * (2 * x + (x > 1.5)))
    elements = [
        each.element
        for found in (examined(wrong), examined(wrong, ROW))
        for each in found.checks
        if each.id == "GRADIENT"
    ]
    assert elements == ["x", "x[2]"]


def test_an_input_that_backward_writes_to_is_named_also_where_it_has_no_name_there():
    def backward(ctx, g):
        ctx.saved_tensors[0].data.mul_(2)
        return ctx.saved_tensors[0] * g

    found = examined(altered(Square, "Writes", backward=backward))
    assert levels(found)["INPUT-INPLACE"] == "error"
    assert "x.clone()" in said(found, "INPUT-INPLACE")


def test_an_op_of_torch_alone_is_not_accused_of_what_its_class_is():
    found = contract_xray(section(op_of(torch.sin)))
    assert not grave(found)
    assert "could not be watched" in said(found, "NOT-LOOKED-AT")


def test_a_function_that_the_op_does_not_name_is_found_behind_its_call():
    assert levels(contract_xray(section(op_of(OnCtx.apply))))["CTX-TENSOR"] == "warning"


def test_an_elementwise_function_is_called_with_numbers_on_both_sides_of_its_masks_and_another_as_it_is_declared():
    seen = []

    def remembered(x):
        seen.append(x.detach().clone())
        return x.clamp(max=1)

    function = with_backward(remembered, lambda g, x: g * (x < 1))
    assert examined(function).tried == "Tried on 8 numbers at once, spread over the range."
    mixing = with_backward(lambda x: x * x.sum(), lambda g, x: g * x.sum() + (g * x).sum())
    assert (examined(mixing).tried, grave(examined(mixing))) == ("", set())
    assert any(x.shape == (8,) and (x > 1).any() and (x < 1).any() for x in seen)
    seen.clear()
    assert examined(function, ROW).tried == ""
    assert tuple(seen[-1].shape) == (4,) or any(tuple(x.tolist()) == ROW.values for x in seen)


def test_what_backward_returned_stands_beside_what_was_delivered():
    rows = {each.input: each for each in contract_xray(section("functional_linear")).raw}
    assert (rows["weight"].returned, rows["weight"].delivered) == ("(2, 2, 3)", "(2, 3)")
    assert (rows["bias"].shape, rows["bias"].returned, rows["bias"].delivered) == ("(2,)", "(2, 2)", "(2,)")
    first, second = contract_xray(section("replace_grad")).raw
    assert (first.returned, first.delivered, second.delivered_dtype) == ("None", "zeros", "float64")


@pytest.mark.parametrize(
    ("name", "id_"), [("replace_grad", "GRAD-NONE"), ("replace_grad", "SWAPPED"), ("clamp_with_grad", "NONLINEAR")]
)
def test_what_a_surrogate_declares_is_no_error(name, id_):
    found = contract_xray(section(name))
    assert levels(found)[id_] == "note"
    assert "Its surrogate declares so" in said(found, id_)


@pytest.mark.parametrize(("surrogate", "level"), [(lambda u, v: u * v, "error"), (lambda u, v: u * v.detach(), "note")])
def test_a_surrogate_excuses_only_what_it_calls_for(surrogate, level):
    none_for_one = with_backward(torch.mul, lambda g, u, v: (v * g, None))
    two = (Input("u", value=2.0), Input("v", value=1.5))
    found = examined(none_for_one, *two, surrogate=surrogate, surrogate_formula="uv")
    assert levels(found)["GRAD-NONE"] == level


@pytest.mark.parametrize(("at_kink", "elsewhere", "level"), [(0.9, 0.0, None), (0.0, 1e-3, "error")])
def test_a_gradient_is_held_against_the_slope_where_there_is_one(at_kink, elsewhere, level):
    def backward(g, x):
        return g * (x.sign() + x.cos() + torch.where(x == 0, at_kink, elsewhere))

    function = with_backward(lambda x: x.abs() + x.sin(), backward)
    found = examined(function, Input("x", shape=(4,), value=(0.7, -1.3, 0.0, 2.0)))
    assert levels(found).get("GRADIENT") == level


def test_a_difference_below_a_billionth_of_the_slope_is_a_warning_that_accuses_nobody():
    nearly = with_backward(lambda x, y: 2 * x + y, lambda g, x, y: (2 * (1 + 8e-10) * g, g))
    rows = {each.id: each for each in examined(nearly, Input("x"), Input("y")).checks}
    assert rows["GRADIENT"].level == "warning"
    assert ", 8e−10 of the slope there." in rows["GRADIENT"].seen
    assert rows["GRADIENT"].advice.startswith("It is only a remark")


def test_what_gradcheck_says_is_one_line_that_ends_cleanly():
    diagonal = next(each.op for each in BREACHES if each.name == "DiagonalOfSoftmax")
    seen = next(each.seen for each in contract_xray(section(diagonal)).checks if each.id == "GRADCHECK")
    assert seen.startswith("gradcheck fails: ")
    assert (seen[-1], "tensor(" in seen, len(seen) < 140) == (".", False, True)


def test_an_exception_that_cannot_be_said_is_a_row():
    class Unspeakable(Exception):
        def __str__(self):
            raise ValueError("no words")

    def raises(ctx, x):
        raise Unspeakable

    found = examined(altered(Square, "Raises", forward=raises))
    assert levels(found)["FORWARD-RAISED"] == "error"
    assert found.failure.kind == "Unspeakable"


def test_a_function_of_float32_alone_is_looked_at_in_float32():
    def only_single(x):
        assert x.dtype == torch.float32, "single precision only"
        return x * x

    found = examined(with_backward(only_single, lambda g, x: 2 * x * g))
    assert (found.failure, grave(found)) == (None, set())
