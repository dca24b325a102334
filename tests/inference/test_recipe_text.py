"""Recipes: one line of text that says how a Function is called, read and written again; what tensors hold."""

import math
import string
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gradloupe.server.inference.recipe import BadRecipe, Constant, Recipe, TensorArgument, parse_recipe

FLOATS = ("float64", "float32", "float16", "bfloat16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
WHOLE = (
    "x: float64[7]; weight: float64[5,7]; k = 2; mode = 'mean'; index: int64[7] < 3; mask: bool[7]; "
    "a: float64[4,4] spd; b: float64[7] positive; s: float64[]; f = torch.tanh; dim = None; h: float32[2] nograd"
)
NAMED = {"torch.tanh": torch.tanh, "torch.mul": torch.mul, "torch.float16": torch.float16}

names = st.text(string.ascii_letters + "_", min_size=1, max_size=6)
shapes = st.lists(st.integers(0, 4), max_size=3).map(tuple)
plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
literals = plain | st.lists(plain, max_size=3) | st.tuples(plain, plain) | st.dictionaries(st.text(max_size=3), plain)
fills = st.sampled_from(("normal", "positive", "signs"))
floating = st.builds(TensorArgument, names, shapes, st.sampled_from(FLOATS), fills, grad=st.booleans())
square = st.builds(TensorArgument, names, st.integers(1, 4).map(lambda n: (n, n)), fill=st.just("spd"))
whole = st.builds(TensorArgument, names, shapes, st.sampled_from(INTEGERS), below=st.integers(1, 99))
masks = st.builds(TensorArgument, names, shapes, st.just("bool"))
named = st.builds(lambda name, text: Constant(name, NAMED[text], text), names, st.sampled_from([*NAMED]))
arguments = floating | square | whole | masks | named | st.builds(Constant, names, literals)
swept = TensorArgument("_x_", (3,))
recipes = st.lists(arguments, max_size=5, unique_by=lambda one: one.name).map(lambda some: Recipe((*some, swept)))


@given(recipes)
def test_what_a_recipe_writes_is_read_as_the_same_recipe(recipe):
    if len(recipe.text()) <= 2000:
        assert parse_recipe(recipe.text()) == recipe


@given(st.text(max_size=60))
def test_any_text_is_a_recipe_or_refused(text):
    try:
        recipe = parse_recipe(text)
    except BadRecipe:
        return
    assert parse_recipe(recipe.text()) == recipe


@pytest.mark.parametrize(
    "text",
    [
        WHOLE,
        "x: float64[7]; target: float32[12] signs nograd; y: float64[7] binary nograd; p: int64[2,3] inverse",
        "z: complex128[2,3]; w: complex64[3] positive; v: complex128[] nograd; k = 2j",
        "x: float64[2]; low = -inf; high = inf; hole = nan",
        "x: float64[7]; cfg = types.SimpleNamespace(eps=1e-05, steps=(2, 3), mode='mean')",
        "x: float64[7]; cfg = types.SimpleNamespace(inner=types.SimpleNamespace(k=2), f=torch.tanh)",
        "x: float64[7]; cfg = types.SimpleNamespace()",
        "x: float64[7]; cfg = [torch.tanh, identity]",
        "x: float64[7]; cfg = {'f': torch.nn.Tanh(), 'low': -1e999}",
    ],
)
def test_every_kind_of_argument_is_written_as_it_is_read(text):
    assert parse_recipe(text).text() == text


def test_arguments_are_built_as_they_are_written():
    recipe = parse_recipe(WHOLE)
    values = dict(zip((each.name for each in recipe.arguments), recipe.build(), strict=True))
    tensors = {name: tuple(value.shape) for name, value in values.items() if isinstance(value, torch.Tensor)}
    weights = {"x": (7,), "weight": (5, 7), "a": (4, 4), "b": (7,), "s": ()}
    assert tensors == weights | {"index": (7,), "mask": (7,), "h": (2,)}
    assert (values["f"], values["dim"], values["k"]) == (torch.tanh, None, 2)
    assert [each.name for each in recipe.inputs] == [*weights]


def filled(text):
    """The tensor that is written so."""
    return parse_recipe(f"t: {text}; x: float64[2]").tensors()["t"]


def test_the_words_of_a_recipe_fill_as_they_say():
    assert (filled("float64[7] positive") > 0).all()
    assert (filled("float64[4] negative") < 0).all()
    assert set(filled("float32[12] signs").tolist()) == {-1.0, 1.0}
    assert set(filled("float64[7] binary").tolist()) == {0.0, 1.0}
    assert filled("float64[5] rising").tolist() == [-1, -0.5, 0, 0.5, 1]
    assert 0 < float(filled("float64[2] tiny").max()) < 1e-9
    for simplex in (filled("float64[3,4] simplex"), filled("float64[3,200] simplex")):
        assert torch.allclose(simplex.sum(-1), torch.ones(3, dtype=torch.float64))
        assert simplex.min() > 0
    assert set(filled("int64[7] < 3").tolist()) == {0, 1, 2}
    assert filled("int64[2,4] shuffled").tolist() == [[1, 2, 3, 0], [1, 2, 3, 0]]
    assert filled("int64[4] offsets").tolist() == [0, 1, 2, 3]
    assert filled("int32[2,3] lengths").tolist() == [[1, 2, 3], [1, 2, 3]]
    assert set(filled("bool[7]").tolist()) == {False, True}
    order = parse_recipe("x: float64[7]; order: int64[7] shuffled; back: int64[7] inverse").tensors()
    assert order["order"][order["back"]].tolist() == list(range(7))


@given(st.integers(1, 12), st.integers(0, 1000))
def test_what_is_symmetric_positive_definite_stays_so_when_rounded(n, seed):
    a = Recipe((TensorArgument("a", (2, n, n), fill="spd"),)).tensors(seed)["a"]
    assert (a - (a * 100).round() / 100).abs().max() < 1e-12
    assert torch.equal(a, a.mT)
    assert (torch.linalg.eigvalsh(a) > 0).all()


@given(st.integers(1, 12), st.integers(0, 1000))
def test_the_powers_of_what_is_stable_die_out_and_so_do_its_exponentials(n, seed):
    a = Recipe((TensorArgument("a", (2, n, n), fill="stable"),)).tensors(seed)["a"]
    values = torch.linalg.eigvals(a)
    assert (a - (a * 100).round() / 100).abs().max() < 1e-12
    assert (values.abs() < 0.66).all()
    assert (values.real < -0.14).all()


def test_complex_numbers_have_two_parts_of_two_decimal_places():
    z, w = filled("complex128[2,3]"), filled("complex64[3] positive")
    assert (z.dtype, w.dtype) == (torch.complex128, torch.complex64)
    assert not torch.equal(z.real, z.imag)
    assert torch.allclose(100 * z, (100 * torch.view_as_real(z)).round().view(torch.complex128).reshape(2, 3))
    assert bool((w.real > 0).all() and (w.imag > 0).all())


def test_tensors_are_always_the_same_and_have_two_decimal_places():
    first = filled("float64[40]")
    assert torch.equal(first, filled("float64[40]"))
    assert all(value == round(value, 2) for value in first.tolist())
    assert len(set(first.tolist())) > 20


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, "complex128", "complex64", "bool"])
def test_every_dtype_is_filled(dtype):
    assert str(filled(f"{dtype}[3]").dtype) == f"torch.{dtype}"


def test_what_requires_grad_is_no_leaf_and_has_one():
    (leaf, passed), (none, held) = parse_recipe("x: float64[3]; h: float64[3] nograd").leaves()
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


def test_a_number_is_read_as_a_page_shows_it():
    found = parse_recipe("x: float64[7]; tol = 10⁻⁶; k = −2; p = 2.5·10³; q = 510; low = -inf")
    assert [each.value for each in found.arguments[1:]] == [1e-6, -2, 2500.0, 510, -math.inf]


def test_objects_are_those_of_the_visitor():
    thing = object()
    recipe = parse_recipe("x: float64[2]; f = <object>", objects={"f": thing})
    assert recipe.build()[1] is thing
    assert recipe.text() == "x: float64[2]; f = <object>"


def test_a_function_that_writes_into_its_settings_writes_into_a_copy():
    recipe = parse_recipe("x: float64[7]; cfg = types.SimpleNamespace(k=2); tags = {'k': 2}")
    _, cfg, tags = recipe.build()
    cfg.k, tags["k"] = 3, 3
    assert [each.value for each in recipe.arguments[1:]] == [SimpleNamespace(k=2), {"k": 2}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no floating tensor"),
        ("i: int64[3]", "no floating tensor"),
        ("x: float64[3] nograd", "no floating tensor"),
        ("x", "'x' is not an argument of a recipe"),
        ("x: float64[-1]", "not an argument of a recipe"),
        ("x: float63[3]", "'float63' is not a dtype"),
        ("z: complex32[3]", "'complex32' is not a dtype"),
        ("z: complex128[2,2] spd", "'spd' cannot stand in"),
        ("x: float64[3,,3]", "whole numbers between commas"),
        ("x: float64[3] odd", "'odd' cannot stand in"),
        ("x: float64[3] < 3", "cannot stand in"),
        ("x: float64[3]; i: int64[3] < 0", "lie from 1 to"),
        ("x: float64[3]; i: int8[300] < 300", "lie from 1 to 127"),
        ("x: float64[3]; i: int64[3] positive", "'positive' cannot stand in"),
        ("x: float64[3,4] spd", "is not square"),
        ("x: float64[3] spd", "is not square"),
        ("x: float64[3,4] stable", "not square, as stable has to be"),
        ("x: float64[16385]", "at most 8 and 16384"),
        ("x: float64[1,1,1,1,1,1,1,1,1]", "at most 8 and 16384"),
        ("x: float64[3]; x: float64[3]", "'x' twice"),
        ("x: float64[3]; p = 1", "leaves out 'k'"),
        ("x: float64[3]; q = 1", "'q' is not an argument of forward, which takes x, k, p"),
        ("x: float64[3];" * 200, "at most 2000"),
        (";".join(f"x{i}: float64[1]" for i in range(33)), "at most 32"),
    ],
)
def test_what_is_no_recipe_is_refused_in_one_sentence(text, said):
    with pytest.raises(BadRecipe) as refused:
        parse_recipe(text, ("x", "k", "p"))
    sentence = str(refused.value)
    assert said in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence


@pytest.mark.parametrize(
    "value",
    [
        *("1 +", "10 ** 10 ** 10", "__import__('os')", "{1, 2}", "torch.load", "(" * 1900, "'\\d", "<object>"),
        *("types.SimpleNamespace(2)", "types.SimpleNamespace(**{'a': 2})", "types.SimpleNamespace(a=open('x'))"),
        *("SimpleNamespace(a=2)", "torch.nn.Linear(4, 4)", "[__import__('os')]", "{**{}}", "[x for x in (1, 2)]"),
    ],
)
def test_nothing_else_is_called_or_looked_up(value):
    with pytest.raises(BadRecipe, match="cannot stand in a recipe"):
        parse_recipe(f"x: float64[7]; k = {value}")
