"""An op that declares what cannot be is refused when it is made, with a sentence that names the culprit."""

from dataclasses import replace

import pytest
import torch

from gradloupe.ops import OPS, BadDeclaration, Input, Parameter
from gradloupe.ops.op import RESERVED
from gradloupe.server.catalogue.op_description import describe_op

ONE = OPS["double"]


@pytest.mark.parametrize("word", sorted(RESERVED))
def test_a_reserved_word_of_the_address_cannot_name_an_input_or_a_parameter(word):
    with pytest.raises(BadDeclaration, match=f"double: '{word}' is a reserved word of the address, rename it"):
        replace(ONE, inputs=(Input(word),))
    with pytest.raises(BadDeclaration, match=f"'{word}' is a reserved word"):
        replace(ONE, parameters=(Parameter(word, 1.0),))


def test_a_name_cannot_be_declared_twice():
    with pytest.raises(BadDeclaration, match="'x' is declared twice"):
        replace(ONE, inputs=(Input("x"), Input("x")))
    with pytest.raises(BadDeclaration, match="'x' is declared twice"):
        replace(ONE, parameters=(Parameter("x", 1.0),))


@pytest.mark.parametrize(("kind", "default"), [("float", 2.5), ("int", -3), ("float", float("nan"))])
def test_a_default_out_of_its_bounds_is_refused(kind, default):
    with pytest.raises(BadDeclaration, match=rf"the default {default} of 'p' is outside \[0.0, 2.0\]"):
        replace(ONE, parameters=(Parameter("p", default, 0.0, 2.0, kind=kind),))


def test_a_default_that_is_no_choice_is_refused():
    with pytest.raises(BadDeclaration, match="the default 'c' of 'mode' is not one of a, b"):
        replace(ONE, parameters=(Parameter("mode", "c", kind="choice", choices=("a", "b")),))


@pytest.mark.parametrize("element", ["y", "x[0]", "x[3,0]", "x[0,0,0]"])
def test_an_element_to_look_at_first_must_be_one(element):
    with pytest.raises(BadDeclaration, match="is not an element of its inputs"):
        replace(ONE, inputs=(Input("x", shape=(3, 2)),), wrt=element)
    with pytest.raises(BadDeclaration, match="of='z' is not an element of its outputs"):
        replace(ONE, of="z")


def test_an_input_has_a_size_that_can_be_looked_at():
    with pytest.raises(BadDeclaration, match="'x' has 1000000 elements, and at most 16384 can be looked at"):
        replace(ONE, inputs=(Input("x", shape=(1000, 1000)),))


def test_held_values_must_fill_the_shape():
    with pytest.raises(BadDeclaration, match=r"'x' of shape \(2, 2\) needs 4 values, not 3"):
        replace(ONE, inputs=(Input("x", shape=(2, 2), value=(1.0, 2.0, 3.0)),))


def test_an_op_without_inputs_is_refused():
    with pytest.raises(BadDeclaration, match="no input to sweep"):
        replace(ONE, inputs=())


def test_an_input_without_elements_cannot_be_swept_but_stand_beside_one():
    with pytest.raises(BadDeclaration, match="double: 'x' has no elements, so there is nothing to sweep"):
        replace(ONE, inputs=(Input("x", shape=(0,), value=()),))
    assert replace(ONE, inputs=(Input("x"), Input("e", shape=(2, 0), value=()))).inputs[1].values == ()


def test_an_op_that_cannot_be_described_is_named():
    with pytest.raises(BadDeclaration, match=r"ops/double\.py declares what cannot be described: ValueError: .*'a'"):
        describe_op(replace(ONE, of="y[a]"), [()])


def test_one_number_is_held_for_every_element_of_the_shape():
    assert Input("x", shape=(2, 3), value=0.5).values == (0.5,) * 6
    assert Input("x", value=0.5).values == (0.5,)


def test_an_op_is_called_like_its_function_and_knows_its_source():
    assert ONE(3) == 6
    assert ONE.doc.startswith("What a custom Function is")
    assert ONE.source.startswith("class Double(torch.autograd.Function):")
    assert ONE.name == "double"


def test_a_surrogate_may_be_one_of_torchs_own_functions():
    assert not replace(ONE, surrogate=torch.exp).follows_sign
    assert replace(ONE, surrogate=lambda x, grad_output: x).follows_sign


def test_a_check_is_for_a_specimen():
    with pytest.raises(BadDeclaration, match="check='CTX-CYCLE' is for a specimen, say what is broken"):
        replace(ONE, check="CTX-CYCLE")
    assert replace(ONE, check="CTX-CYCLE", broken="It keeps its output.").claim == "broken"


def test_the_source_of_an_op_has_the_constants_that_its_code_needs():
    assert OPS["fake_quantize"].source.startswith("LOWEST, HIGHEST = -8, 7\n")
    assert "op = Op(" not in OPS["fake_quantize"].source


def test_what_a_number_is_meant_not_to_exceed_is_another_number():
    bounds = Parameter("low", 0.0, below="high"), Parameter("high", 1.0)
    assert replace(ONE, parameters=bounds).parameters == bounds
    for wrong in (bounds[:1], (bounds[0], Parameter("high", True, kind="switch"))):
        with pytest.raises(BadDeclaration, match="'low' is meant to be below 'high'"):
            replace(ONE, parameters=wrong)
