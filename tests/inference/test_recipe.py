"""Recipes: one line of text that says how a Function is called, read and written again."""

import math
import string

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gradloupe.server.inference.recipe.grammar import parse_recipe
from gradloupe.server.inference.recipe.recipe import (
    FLOATS,
    INTEGERS,
    NAMED_VALUES,
    RECIPE_DTYPES,
    BadRecipe,
    Constant,
    Recipe,
    TensorArgument,
)

WHOLE = (
    "x: float64[7]; weight: float64[5,7]; k = 2; mode = 'mean'; index: int64[7] < 3; mask: bool[7]; "
    "a: float64[4,4] spd; b: float64[7] positive; s: float64[]; f = torch.tanh; dim = None; h: float32[2] nograd"
)

names = st.text(string.ascii_letters + "_", min_size=1, max_size=6)
shapes = st.lists(st.integers(0, 4), max_size=3).map(tuple)
plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
literals = plain | st.lists(plain, max_size=3) | st.tuples(plain, plain) | st.dictionaries(st.text(max_size=3), plain)
floating = st.builds(
    TensorArgument,
    names,
    shapes,
    st.sampled_from(FLOATS),
    st.sampled_from(("normal", "positive", "signs")),
    grad=st.booleans(),
)
square = st.builds(TensorArgument, names, st.integers(1, 4).map(lambda n: (n, n)), fill=st.just("spd"))
whole = st.builds(TensorArgument, names, shapes, st.sampled_from(INTEGERS), below=st.integers(1, 99))
masks = st.builds(TensorArgument, names, shapes, st.just("bool"))
named = st.builds(
    lambda name, text: Constant(name, NAMED_VALUES[text], text), names, st.sampled_from([*NAMED_VALUES][:-3])
)
arguments = floating | square | whole | masks | named | st.builds(Constant, names, literals)
swept = TensorArgument("_x_", (3,))
recipes = st.lists(arguments, max_size=5, unique_by=lambda each: each.name).map(lambda some: Recipe((*some, swept)))


@given(recipes)
def test_what_a_recipe_writes_is_read_as_the_same_recipe(recipe):
    if len(recipe.text()) <= 2000:
        assert parse_recipe(recipe.text()) == recipe


def test_every_kind_of_argument_can_be_written():
    recipe = parse_recipe(WHOLE)
    assert recipe.text() == WHOLE
    values = dict(zip((each.name for each in recipe.arguments), recipe.build(), strict=True))
    assert {name: tuple(value.shape) for name, value in values.items() if isinstance(value, torch.Tensor)} == {
        "x": (7,),
        "weight": (5, 7),
        "index": (7,),
        "mask": (7,),
        "a": (4, 4),
        "b": (7,),
        "s": (),
        "h": (2,),
    }
    assert values["f"] is torch.tanh
    assert values["dim"] is None
    assert [each.name for each in recipe.inputs] == ["x", "weight", "a", "b", "s"]


def test_tensors_are_what_they_are_called():
    tensors = parse_recipe(WHOLE).tensors()
    assert (tensors["b"] > 0).all()
    assert torch.equal(tensors["a"], tensors["a"].mT)
    assert (torch.linalg.eigvalsh(tensors["a"]) > 0).all()
    assert set(tensors["index"].tolist()) == {0, 1, 2}
    assert tensors["mask"].any()
    assert not tensors["mask"].all()


@given(st.integers(1, 12), st.integers(0, 1000))
def test_what_is_symmetric_positive_definite_stays_so_when_rounded(n, seed):
    a = Recipe((TensorArgument("a", (2, n, n), fill="spd"),)).tensors(seed)["a"]
    assert (a - (a * 100).round() / 100).abs().max() < 1e-12
    assert torch.equal(a, a.mT)
    assert (torch.linalg.eigvalsh(a) > 0).all()


def test_signs_are_one_or_minus_one_and_both_are_there():
    recipe = parse_recipe("x: float64[7]; target: float32[12] signs nograd")
    assert recipe.text() == "x: float64[7]; target: float32[12] signs nograd"
    assert set(recipe.tensors()["target"].tolist()) == {-1.0, 1.0}


def test_tensors_are_always_the_same_and_have_two_decimal_places():
    first, again = parse_recipe("x: float64[40]").tensors()["x"], parse_recipe("x: float64[40]").tensors()["x"]
    assert torch.equal(first, again)
    assert all(value == round(value, 2) for value in first.tolist())
    assert len(set(first.tolist())) > 20


def test_what_requires_grad_is_no_leaf_and_has_one():
    recipe = parse_recipe("x: float64[3]; h: float64[3] nograd")
    (leaf, passed), (none, held) = recipe.leaves()
    passed.mul_(2).sum().backward()
    assert leaf.grad.tolist() == [2.0, 2.0, 2.0]
    assert none is None
    assert not held.requires_grad


def test_what_is_given_is_used_where_its_shape_and_dtype_are_those_of_the_recipe():
    given = {"x": torch.tensor([5.0, 6.0], dtype=torch.float64)}
    assert parse_recipe("x: float64[2]").build(given=given)[0].tolist() == [5.0, 6.0]
    assert parse_recipe("x: float64[3]").build(given=given)[0].shape == (3,)
    assert parse_recipe("x: float32[2]").build(given=given)[0].tolist() != [5.0, 6.0]


def test_arguments_are_put_in_the_order_of_forward():
    recipe = parse_recipe("k = 2; x: float64[3]", ("x", "k", "p"))
    assert [each.name for each in recipe.arguments] == ["x", "k"]
    starred = parse_recipe("args1 = 3; x: float64[3]; args0 = 2", ("x", "*args"))
    assert [each.name for each in starred.arguments] == ["x", "args0", "args1"]


def test_numbers_that_no_literal_can_write_have_words():
    recipe = parse_recipe("x: float64[2]; low = -inf; high = inf; hole = nan")
    assert [each.value for each in recipe.arguments[1:3]] == [-math.inf, math.inf]
    assert recipe.text().endswith("low = -inf; high = inf; hole = nan")


def test_a_number_is_read_as_a_page_shows_it():
    found = parse_recipe("x: float64[7]; tol = 10⁻⁶; k = −2; p = 2.5·10³; q = 510")
    assert [each.value for each in found.arguments[1:]] == [1e-6, -2, 2500.0, 510]


def test_objects_are_those_of_the_visitor():
    thing = object()
    recipe = parse_recipe("x: float64[2]; f = <object>", objects={"f": thing})
    assert recipe.build()[1] is thing
    assert recipe.text() == "x: float64[2]; f = <object>"
    with pytest.raises(BadRecipe, match="cannot stand in a recipe"):
        parse_recipe("x: float64[2]; f = <object>")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no floating tensor"),
        ("i: int64[3]", "has no floating tensor"),
        ("x: float64[3] nograd", "has no floating tensor"),
        ("x", "'x' is not an argument of a recipe"),
        ("x: float64[-1]", "is not an argument of a recipe"),
        ("x: float63[3]", "'float63' is not a dtype"),
        ("z: complex32[3]", "'complex32' is not a dtype"),
        ("z: complex128[2,2] spd", "'spd' cannot stand in"),
        ("x: float64[3,,3]", "has to be whole numbers between commas"),
        ("x: float64[3] odd", "'odd' cannot stand in"),
        ("x: float64[3] < 3", "cannot stand in"),
        ("x: float64[3]; i: int64[3] < 0", "has to lie from 1 to"),
        ("x: float64[3]; i: int64[3] positive", "'positive' cannot stand in"),
        ("x: float64[3,4] spd", "is not square"),
        ("x: float64[3] spd", "is not square"),
        ("x: float64[16385]", "at most 8 and 16384 are allowed"),
        ("x: float64[1,1,1,1,1,1,1,1,1]", "at most 8 and 16384 are allowed"),
        ("x: float64[3]; x: float64[3]", "gives 'x' twice"),
        ("x: float64[3]; p = 1", "leaves out 'k'"),
        ("x: float64[3]; q = 1", "'q' is not an argument of forward, which takes x, k, p"),
        ("x: float64[3]; k = 1 +", "cannot stand in a recipe"),
        ("x: float64[3]; k = 10 ** 10 ** 10", "cannot stand in a recipe"),
        ("x: float64[3]; k = __import__('os')", "cannot stand in a recipe"),
        ("x: float64[3]; k = {1, 2}", "cannot stand in a recipe"),
        ("x: float64[3]; k = torch.load", "cannot stand in a recipe"),
        ("x: float64[3]; k = " + "(" * 1900, "cannot stand in a recipe"),
        ("x: float64[3]; k = '\\d", "cannot stand in a recipe"),
        ("x: float64[3];" * 200, "at most 2000 are allowed"),
        (";".join(f"x{i}: float64[1]" for i in range(33)), "at most 32 are allowed"),
    ],
)
def test_what_is_no_recipe_is_refused_in_one_sentence(text, said):
    with pytest.raises(BadRecipe) as refused:
        parse_recipe(text, ("x", "k", "p"))
    sentence = str(refused.value)
    assert said in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence


@given(st.text(max_size=60))
def test_any_text_is_a_recipe_or_refused(text):
    try:
        recipe = parse_recipe(text)
    except BadRecipe:
        return
    assert parse_recipe(recipe.text()) == recipe


def test_every_dtype_is_filled():
    for dtype in RECIPE_DTYPES:
        (held, _) = parse_recipe(f"h: {dtype}[3]; x: float64[2]").build()
        assert str(held.dtype) == f"torch.{dtype}"
