"""What the report says of Functions of complex numbers: right ones are not accused, and mistakes have their names."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from functions.complex_functions import RIGHT, WRONG
from support.checked_files import written
from support.command_line import in_every_form
from support.sampling import each_fourth, sampled

import gradloupe
from gradloupe.ops import Input, Op

FILE = {
    "Square": """
        '''The square of a complex tensor, with a conjugate forgotten.'''
        def forward(ctx, z):
            ctx.save_for_backward(z)
            return z * z
        def backward(ctx, grad_output):
            (z,) = ctx.saved_tensors
            return 2 * grad_output * z
    """,
    "Rotated": """
        '''A rotation.

        Gradloupe: z: complex128[3]
        '''
        def forward(ctx, z):
            return 1j * z
        def backward(ctx, grad_output):
            return -1j * grad_output
    """,
}


def advice(found: Any) -> str:
    """All that is said of a result."""
    sweeps = [each.explanation for each in found.sweeps]
    return " ".join([found.sentence, *(f"{each.seen} {each.advice}" for each in found.findings), *sweeps])


@pytest.mark.parametrize("name", each_fourth(RIGHT))
def test_a_right_function_of_complex_numbers_is_not_accused(name: str) -> None:
    function, recipe = RIGHT[name]
    found = gradloupe.check(function, recipe)
    assert found.word == "matches", found.sentence
    assert [each.id for each in found.findings if each.level in ("error", "warning")] == []


@pytest.mark.parametrize("name", sampled(WRONG, [*WRONG][::4]))
def test_a_wrong_one_is_named_with_what_is_wrong(name: str) -> None:
    function, recipe, said = WRONG[name]
    found = gradloupe.check(function, recipe)
    assert found.word == "differs"
    assert said in advice(found)


def test_it_is_called_in_other_ways_too() -> None:
    function, recipe = RIGHT["product"]
    (row,) = [each for each in gradloupe.check(function, recipe).findings if each.id == "OTHER-CALLS"]
    assert row.level == "fine"
    assert "float32" in row.seen
    assert "a gradient for w alone" in row.seen


def test_tensors_that_are_given_may_be_complex() -> None:
    z = torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex128)
    right, wrong = RIGHT["square"][0], WRONG["a conjugate forgotten"][0]
    assert gradloupe.check(right, (z,)).word == "matches"
    assert gradloupe.check(wrong, (z,)).word == "differs"
    assert gradloupe.check(right, (z.to(torch.complex64),)).recipe == "z: complex64[2]"


def test_the_terminal_and_json_say_along_which_part(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(written(FILE), encoding="utf-8")
    forms = in_every_form(tmp_path, "own.py --check")
    text = " ".join(forms["text"].stdout.split())
    assert "along the imaginary part of z" in text
    assert "complex conjugate of the slope" in text
    square, rotated = json.loads(forms["json"].stdout)["functions"]
    assert (square["word"], square["recipe"]) == ("differs", "z: complex128[7]")
    assert (rotated["word"], rotated["recipe"]) == ("matches", "z: complex128[3]")
    assert {each["wrt"] for each in square["sweeps"]} == {"z.real", "z.imag"}


def test_an_op_that_declares_a_complex_output_as_a_real_one_is_told_to_return_its_parts() -> None:
    def call(real: torch.Tensor, imag: torch.Tensor) -> Any:
        return RIGHT["square"][0].apply(torch.complex(real, imag))

    inputs = (Input("z.real"), Input("z.imag"))
    op = Op(RIGHT["square"][0], "Square", "own", "", "", inputs, call=call)
    found = gradloupe.check(op)
    assert found.word == "failed"
    assert "y.real and y.imag from call" in found.sentence
    op = replace(op, outputs=("y.real", "y.imag"), call=lambda *parts: (call(*parts).real, call(*parts).imag))
    assert gradloupe.check(op).word == "matches"
