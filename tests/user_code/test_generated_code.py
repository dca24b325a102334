"""A declaration that is copied from a page makes the same op; what a file says of the call is read."""

import pytest
import torch
from functions import user_written
from support.sections import section

from gradloupe.server.catalogue.op_description import default_elements
from gradloupe.server.catalogue.output_shapes import measured_shapes
from gradloupe.server.inference.construction.op import op_of
from gradloupe.server.inference.recipe import BadRecipe, Constant, Recipe, parse_recipe
from gradloupe.server.user_code.codegen import declaration_source
from gradloupe.server.user_code.example_inputs import override_for

OWN = [
    ("Log", "x: float64[7] positive"),
    ("Clamp", "x: float64[7]; min = -1.0; max = 1.0"),
    ("Pooled", "x: float64[7]; mode = 'sum'; dim = None; twice = True"),
    ("Rows", "index: int64[5] < 2; table: float64[6,4]; weight: float64[5,4] nograd; then = identity"),
    ("Line", "x: float64[7]; start: float64[7]; stop: float64[7]"),
    ("Single", "x: float32[7]"),
    ("Polar", "r: float64[7]; theta: float64[7]"),
    ("Powered", "x: float64[7]; power = 3"),
    ("Doubled", "x: float64[7]"),
    ("Inverse", "a: float64[3,3] spd"),
    ("Turned", "z: complex128[3]; turn: complex128[3] nograd; k = 2.0"),
    ("smooth", "x: float64[7]; k = 2.0"),
    ("logged", "x: float64[7]"),
]


def own(name, text):
    recipe = parse_recipe(text)
    return op_of(getattr(user_written, name), recipe, name, name, "user_written.py"), recipe


@pytest.mark.parametrize(("name", "text"), OWN)
def test_a_block_makes_the_same_op(name, text):
    op, recipe = own(name, text)
    there = vars(user_written).copy()
    exec(declaration_source(op, recipe), there)  # noqa: S102
    again = there[f"op_{name.lower()}"]
    for word in ("function", "title", "group", "inputs", "parameters", "outputs", "wrt", "of", "dtype"):
        assert getattr(again, word) == getattr(op, word), word
    dtype = getattr(torch, op.dtype)
    given = [torch.tensor(each.values, dtype=dtype).reshape(each.shape or (1,)) for each in op.inputs]
    given += [each.default for each in op.parameters]
    fresh = [each.clone() if isinstance(each, torch.Tensor) else each for each in given]
    for one, other in zip(several(op(*given)), several(again(*fresh)), strict=True):
        assert torch.equal(one, other)


def several(outputs):
    return outputs if isinstance(outputs, tuple | list) else (outputs,)


def test_a_block_behind_the_function_needs_no_import():
    op, recipe = own("Rows", OWN[3][1])
    text = declaration_source(op, recipe)
    assert text.startswith("from gradloupe import fill_tensor\nfrom gradloupe.ops import Input, Op\n\n\ndef call_rows(")
    assert "user_written" not in text.replace('group="user_written.py"', "")
    assert "return Rows.apply(index, table, weight, lambda x: x)" in text


def test_an_object_of_the_visitor_is_left_to_be_filled_in():
    recipe = Recipe((*parse_recipe("x: float64[7]").arguments, Constant("f", torch.nn.Tanh(), "<object>")))
    op = op_of(lambda x, f: f(x), recipe, "own", "own", "own")
    assert "f = ...  # an object of your program" in declaration_source(op, recipe)


def total(*given):
    return sum(each.double().sum() for each in given)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("a: float64[20,20] spd", 'Input("a", shape=(20, 20), value=fill_tensor((20, 20), "spd"))'),
        ("x: float64[7]; y: float32[300] positive", '"positive", dtype="float32", seed=1)'),
        (
            "x: float64[7]; y: int64[300] < 9",
            'fill_tensor((300,), "index", dtype="int64", below=9, seed=1).to(x.device)',
        ),
        ("x: float64[7]; y: int64[4] < 3", "torch.tensor([0, 1, 2, 0], device=x.device)"),
        ("x: float64[7]; y: float64[2,3] binary nograd", 'fill_tensor((2, 3), "binary", seed=1).to(x)'),
        ("x: float64[7]; y: bool[3]", "torch.tensor([True, False, True], device=x.device)"),
    ],
)
def test_tensors_are_filled_from_the_same_seed_and_not_written_out(text, source):
    recipe = parse_recipe(text)
    op = op_of(total, recipe, "own", "own", "own")
    block = declaration_source(op, recipe)
    assert source in block
    assert max(map(len, block.splitlines())) <= 88


def test_tensors_that_the_user_gave_are_written_out():
    x = torch.tensor([0.5, 1.25])
    op = op_of(user_written.Log, parse_recipe("x: float32[2]"), "own", "own", "own", {"x": x})
    assert "value=0.5" in declaration_source(op, op.recipe)


class Documented(user_written.Clamp):
    """A clamp that says how it is called.

    Gradloupe: x: float64[5]; min = -2.0; max = 2.0
    """


NAMES = ("x", "min", "max")


def test_a_line_in_the_docstring_is_the_recipe():
    found = override_for(Documented, NAMES, {})
    assert found.recipe.text() == "x: float64[5]; min = -2.0; max = 2.0"
    assert override_for(user_written.Clamp, NAMES, {}) is None


def test_a_bad_line_in_the_docstring_is_told():
    class Bad(user_written.Clamp):
        """Gradloupe: x: float64[5]; limit = 3"""

    with pytest.raises(BadRecipe, match="The line “Gradloupe: …” in the docstring cannot be used"):
        override_for(Bad, NAMES, {})


@pytest.mark.parametrize("key", [user_written.Clamp, "Clamp"])
def test_example_inputs_are_used_as_they_are(key):
    x = torch.tensor([[0.123456, 5.0]])
    found = override_for(user_written.Clamp, NAMES, {"example_inputs": {key: (x, -1, 1.5), "Other": (3,)}})
    assert found.recipe.text() == "x: float32[1,2]; min = -1; max = 1.5"
    assert torch.equal(found.given["x"], x)
    op = op_of(user_written.Clamp, found.recipe, "own", "own", "own", found.given)
    assert op.dtype == "float32"
    assert op.inputs[0].values[0] == pytest.approx(0.123456)
    assert default_elements(op, measured_shapes(op))[0].name == "x"
    assert section(op).wrt == "x"


def test_example_inputs_may_be_one_tensor_one_tuple_a_dict_or_a_recipe():
    x = torch.ones(3, dtype=torch.float64)
    alone = {"alone": True}
    assert override_for(user_written.Log, ("x",), {"example_inputs": x}, **alone).recipe.text() == "x: float64[3]"
    assert override_for(user_written.Log, ("x",), {"example_inputs": (x,)}, **alone).recipe.text() == "x: float64[3]"
    assert override_for(user_written.Log, ("x",), {"example_inputs": (x,)}) is None  # of which of several?
    by_name = {"example_inputs": {"Clamp": {"max": 1.0, "x": x, "min": 0.0}}}
    assert override_for(user_written.Clamp, NAMES, by_name).recipe.text() == "x: float64[3]; min = 0.0; max = 1.0"
    text = {"example_inputs": {"Log": "x: float64[2] positive"}}
    assert override_for(user_written.Log, ("x",), text).recipe.text() == "x: float64[2] positive"


def test_example_inputs_may_hold_objects_and_tensors_that_do_not_learn():
    thing = torch.nn.Tanh()
    x, h = torch.ones(3, requires_grad=True), torch.ones(3)
    values = (torch.tensor([2, 0]), x, h, thing)
    found = override_for(user_written.Rows, ("index", "table", "weight", "then"), {"example_inputs": {"Rows": values}})
    assert found.recipe.text() == ("index: int64[2] < 3; table: float32[3]; weight: float32[3] nograd; then = <object>")
    assert found.objects == {"then": thing}
    assert parse_recipe(found.recipe.text(), objects=found.objects) == found.recipe
    menu = override_for(user_written.Rows, ("index", "table", "f"), {"example_inputs": {"Rows": (x, h, torch.tanh)}})
    assert menu.recipe.text().endswith("f = torch.tanh")


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ((torch.ones(2), 1, 2, 3), "It gives 4 arguments, and forward takes x, min, max"),
        ((torch.arange(3),), "It gives no floating tensor that can be swept"),
        ({"x": torch.ones(2), "limit": 3}, "'limit' is not an argument of forward"),
        ({"x": torch.ones(2), "max": 3}, "It leaves out 'min'"),
        ((torch.ones(20_000),), "'x' has 20000 elements, and at most 16384"),
    ],
)
def test_example_inputs_that_do_not_fit_are_told_in_a_sentence(said, sentence):
    with pytest.raises(BadRecipe) as refused:
        override_for(user_written.Clamp, NAMES, {"example_inputs": {"Clamp": said}})
    assert str(refused.value).startswith("example_inputs cannot be used.")
    assert sentence in str(refused.value)
