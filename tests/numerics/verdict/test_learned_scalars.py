from dataclasses import replace

import numpy as np
import pytest
import torch
from functions import learned_scalars
from functions.basics import Product
from support.answers import document
from support.sections import look, section

import gradloupe
from gradloupe.ops import Input, Op
from gradloupe.server.catalogue.op_description import parse_element
from gradloupe.server.contract import contract_xray
from gradloupe.server.inference.construction.op import op_of
from gradloupe.server.inference.recipe import parse_recipe
from gradloupe.server.user_code.codegen import declaration_source
from gradloupe.server.user_code.usual_call import with_scalar_inputs

RIGHT = [
    ("PACT", "x: float64[7]; alpha: float64[] positive"),
    ("PACT", "x: float64[2,3]; alpha: float64[] positive"),
    ("Scale", "x: float64[7]; s: float64[]"),
    ("Scale", "x: float64[1]; s: float64[]"),
    ("Scale", "x: float64[]; s: float64[]"),
    ("ScaleFirst", "s: float64[]; x: float64[7]"),
    ("ScaleFirst", "s: float64[]; x: float64[1]"),
    ("ScaleFirst", "s: float64[]; x: float64[]"),
    ("Strict", "x: float64[7]; s: float64[]"),
    ("Strict", "x: float64[]; s: float64[]"),
    ("Temperature", "x: float64[2,3]; t: float64[] positive"),
    ("LayerNorm", "x: float64[7]; gamma: float64[]; beta: float64[]"),
]
WRONG = ["Mean", "Double", "Unlearned"]
GRAVE = ("error", "warning")


def own(name, recipe):
    return op_of(getattr(learned_scalars, name), parse_recipe(recipe), name, name, "learned.py")


def named(op, name):
    """The first element of an input."""
    each = next(each for each in op.inputs if each.name == name)
    return name if int(np.prod(each.shape)) == 1 else f"{name}[{','.join('0' for _ in each.shape)}]"


def words(op):
    """The verdict by each input over its domain."""
    return {each.name: look(op, *each.domain, 101, wrt=named(op, each.name))[1].word for each in op.inputs}


def grave(op, wrt=""):
    return [each for each in contract_xray(section(op, wrt)).checks if each.level in GRAVE]


def with_each(rows):
    """A third of them on each push."""
    return pytest.mark.parametrize(
        ("name", "recipe"),
        [each if at % 3 == 0 else pytest.param(*each, marks=pytest.mark.nightly) for at, each in enumerate(rows)],
    )


@with_each([*RIGHT[::3], *RIGHT[1::3], *RIGHT[2::3]])
def test_the_right_gradient_of_a_number_is_found_to_be_right(name, recipe):
    assert set(words(own(name, recipe)).values()) == {"matches"}


@with_each(RIGHT)
def test_the_contract_accuses_none_of_them_whatever_is_swept(name, recipe):
    op = own(name, recipe)
    for each in op.inputs:
        assert [found.seen for found in grave(op, named(op, each.name)) if found.id != "SECOND-ORDER"] == []


def test_a_quantiser_is_told_for_what_it_is_and_for_nothing_else():
    op = own("StepSize", "x: float64[7]; s: float64[] positive; p = 7")
    assert words(op)["x"] == "differs"
    assert {each.id for each in grave(op)} <= {"GRADIENT", "SECOND-ORDER"}


@pytest.mark.parametrize("name", WRONG)
def test_the_wrong_gradient_of_a_number_is_caught(name):
    op = own(name, "x: float64[7]; s: float64[]")
    assert words(op) == {"x": "matches", "s": "differs"}
    assert {each.id for each in grave(op)} & {"GRADIENT", "GRAD-NONE"}


def test_the_whole_look_at_a_wrong_one_is_red():
    assert not gradloupe.check(learned_scalars.Mean, "x: float64[7]; s: float64[]").ok


def test_a_mean_in_place_of_a_sum_keeps_the_elements_together():
    assert own("Mean", "x: float64[7]; s: float64[]").inputs[0].shape == (7,)
    assert own("Scale", "x: float64[7]; s: float64[]").inputs[0].shape == ()


def test_a_gradient_of_another_shape_is_found():
    found = {each.id: each for each in contract_xray(section(own("Row", "x: float64[7]; s: float64[]"))).checks}
    assert "shape (1,) for s" in found["GRAD-SHAPE-REDUCED"].seen
    assert "times the memory" not in found["GRAD-SHAPE-REDUCED"].advice
    found = {each.id: each for each in contract_xray(section(own("Scale", "x: float64[7]; s: float64[1]"))).checks}
    assert found["GRAD-SHAPE"].level == "error"
    assert "shape () for s" in found["GRAD-SHAPE"].seen


def test_a_number_is_handed_over_without_a_dimension_in_every_view():
    op = own("Strict", "x: float64[7]; s: float64[]")
    for wrt, wrt2 in (("x", "s"), ("s", "x")):
        views = {
            name: document(op, name, -1.2, 0.5, wrt, "y", count=18, **asked)
            for name, asked in (
                *(("jacobian", {}), ("descent", {}), ("node", {})),
                ("surface", {"wrt2": parse_element(wrt2), "start2": -1.0, "stop2": 2.0}),
            )
        }
        assert all(header["failure"] is None for header, _ in views.values())
        assert (views["jacobian"][0]["differs"], views["surface"][0]["differs"]) == (0, 0)
        walked = views["descent"][1]
        assert walked["position"] == pytest.approx(walked["true_position"], abs=1e-6)
        node = views["node"][0]
        assert len(node["functions"]) == 1
        assert not any("View" in each["lines"][0] or "Reshape" in each["lines"][0] for each in node["vertices"])
        header, columns = document(op, "curves", -1.2, 0.5, wrt, "y", count=18, order=2)
        assert columns["numerical"] == pytest.approx(2.0, abs=1e-6)
        assert header["gradgradcheck"]["passed"]


def test_a_function_of_numbers_alone_is_called_with_as_many_at_once_as_it_bears():
    assert own("Scale", "x: float64[]; s: float64[]").call is not None

    op = op_of(Product, parse_recipe("u: float64[]; v: float64[]"), "own", "own", "own")
    assert look(op, wrt="u")[0].structure == "together"
    assert set(words(op).values()) == {"matches"}


def test_example_inputs_may_hold_a_number():
    for given in ((torch.randn(5), torch.tensor(2.0)), (torch.tensor(1.5), torch.tensor(2.0))):
        found = gradloupe.check(learned_scalars.Scale, example_inputs=given)
        assert (found.word, found.ok) == ("matches", True), found


def test_a_declared_op_hands_over_numbers_as_it_is_meant():
    def declared(*inputs, function=learned_scalars.Scale):
        return with_scalar_inputs(Op(function, "", "", "", "", inputs))

    for op in (
        declared(Input("x", shape=(7,)), Input("s", value=2.0)),
        declared(Input("s", value=2.0), Input("x", shape=(7,)), function=learned_scalars.ScaleFirst),
        declared(Input("x"), Input("s", value=2.0)),
        declared(Input("x"), Input("s"), function=learned_scalars.Strict),
    ):
        assert set(words(op).values()) == {"matches"}
        assert grave(op) == []
    product = Op(learned_scalars.Scale, "", "", "", "", (Input("x"), Input("s")), call=lambda x, s: x * s)
    assert with_scalar_inputs(product) is product


def test_what_is_copied_from_the_page_says_the_same():
    for name, recipe in (RIGHT[5], RIGHT[10]):
        op, there = own(name, recipe), vars(learned_scalars).copy()
        exec(declaration_source(op, parse_recipe(recipe), op.function.__name__), there)  # noqa: S102
        again = next(each for each in there.values() if isinstance(each, Op))
        assert set(words(replace(with_scalar_inputs(again), name=name)).values()) == {"matches"}
    assert gradloupe.check(learned_scalars.ScaleFirst, f"like {RIGHT[5][1]}").word == "matches"
