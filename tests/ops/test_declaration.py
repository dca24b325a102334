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


def number(default, kind="float"):
    return {"parameters": (Parameter("p", default, 0.0, 2.0, kind=kind),)}


HIGH = Parameter("high", 1.0)
NOT_BELOW = "'low' is meant to be below 'high'"
REFUSED = [
    ({"inputs": (Input("x"), Input("x"))}, "'x' is declared twice"),
    ({"parameters": (Parameter("x", 1.0),)}, "'x' is declared twice"),
    (number(2.5), r"the default 2.5 of 'p' is outside \[0.0, 2.0\]"),
    (number(-3, "int"), r"the default -3 of 'p' is outside \[0.0, 2.0\]"),
    (number(float("nan")), r"the default nan of 'p' is outside \[0.0, 2.0\]"),
    ({"parameters": (Parameter("mode", "c", kind="choice", choices=("a", "b")),)}, "'c' of 'mode' is not one of a, b"),
    *(
        ({"inputs": (Input("x", shape=(3, 2)),), "wrt": element}, "is not an element of its inputs")
        for element in ("y", "x[0]", "x[3,0]", "x[0,0,0]")
    ),
    ({"of": "z"}, "of='z' is not an element of its outputs"),
    ({"inputs": (Input("x", shape=(1000, 1000)),)}, "'x' has 1000000 elements, and at most 131072 can be looked at"),
    ({"inputs": (Input("x", shape=(131072,) * 9),)}, "elements, and at most 131072 can be looked at"),
    ({"inputs": (Input("x", shape=(0,), value=()),)}, "double: 'x' has no elements, so there is nothing to sweep"),
    ({"inputs": (), "parameters": (Parameter("min", -1.0),)}, "no input to sweep"),
    ({"check": "CTX-CYCLE"}, "check='CTX-CYCLE' is for a specimen, say what is broken"),
    ({"parameters": (Parameter("low", 0.0, below="high"),)}, NOT_BELOW),
    ({"parameters": (Parameter("low", 0.0, below="high"), Parameter("high", True, kind="switch"))}, NOT_BELOW),
]


@pytest.mark.parametrize(("declared", "said"), REFUSED)
def test_what_cannot_be_declared_is_named(declared, said):
    with pytest.raises(BadDeclaration, match=said):
        replace(ONE, **declared)


def test_held_values_must_fill_the_shape():
    with pytest.raises(BadDeclaration, match=r"'x' of shape \(2, 2\) needs 4 values, not 3"):
        replace(ONE, inputs=(Input("x", shape=(2, 2), value=(1.0, 2.0, 3.0)),))
    assert Input("x", shape=(2, 3), value=0.5).values == (0.5,) * 6
    assert Input("x", value=0.5).values == (0.5,)


def test_what_fits_together_may_be_declared():
    assert replace(ONE, inputs=(Input("x"), Input("e", shape=(2, 0), value=()))).inputs[1].values == ()
    bounds = Parameter("low", 0.0, below="high"), HIGH
    assert replace(ONE, parameters=bounds).parameters == bounds
    assert replace(ONE, check="CTX-CYCLE", broken="It keeps its output.").claim == "broken"


def test_an_op_that_cannot_be_described_is_named():
    with pytest.raises(BadDeclaration, match=r"ops/double\.py declares what cannot be described: ValueError: .*'a'"):
        describe_op(replace(ONE, of="y[a]"), [()])


def test_an_op_is_called_like_its_function_and_knows_its_source():
    assert ONE(3) == 6
    assert ONE.doc.startswith("What a custom Function is")
    assert ONE.source.startswith("class Double(")
    assert ONE.name == "double"


def test_a_surrogate_may_be_one_of_torchs_own_functions():
    assert not replace(ONE, surrogate=torch.exp).follows_sign
    assert replace(ONE, surrogate=lambda x, grad_output: x).follows_sign


def test_the_source_of_an_op_has_the_constants_that_its_code_needs():
    assert OPS["fake_quantize"].source.startswith("LOWEST, HIGHEST = -8, 7\n")
    assert "op = Op(" not in OPS["fake_quantize"].source
