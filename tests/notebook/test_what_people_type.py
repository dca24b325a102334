"""What a person types into a cell works, or is answered in a sentence; what is printed as a call can be pasted back."""

import re
import types
import warnings
from enum import IntEnum
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from support.written_functions import function_of

import gradloupe
from gradloupe.ops import OPS
from gradloupe.server.inference.infer import infer
from gradloupe.server.inference.recipe import parse_recipe

PRODUCT = """
    def forward(ctx, x: torch.Tensor, w: torch.Tensor, k: float = 2.0):
        ctx.save_for_backward(x, w)
        ctx.k = k
        return k * x * w
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        return grad_output * w * ctx.k, grad_output * x * ctx.k, None
"""
# Its arguments are called as options are.
WINDOW = """
    def forward(ctx, x: torch.Tensor, width: float = 2.0, left: float = 0.5):
        ctx.slope = width * left
        return x * ctx.slope
    def backward(ctx, grad_output):
        return grad_output * ctx.slope, None, None
"""
SUMMED = """
    def forward(ctx, *tensors: torch.Tensor):
        ctx.count = len(tensors)
        return sum(tensors, torch.zeros(()))
    def backward(ctx, grad_output):
        return (grad_output,) * ctx.count
"""
RIDDLE = """
    def forward(ctx, x: torch.Tensor, key, tol: float = 1e-06):
        if key * 2 != 10154:
            raise ValueError(f"no key, at -1e-06: {key}")
        return x * 1
"""
Product, Window = function_of(PRODUCT, "Product"), function_of(WINDOW, "Window")
Summed, Riddle = function_of(SUMMED, "Summed"), function_of(RIDDLE, "Riddle")


class Mode(IntEnum):
    ONE = 1


class Defaults(torch.autograd.Function):
    """Its defaults are of kinds that do not write themselves as literals."""

    @staticmethod
    def forward(
        ctx: Any,
        x: torch.Tensor,
        tol: float = np.float64(1e-06),
        eps: float = -1e-12,
        mode: int = Mode.ONE,
        kind: Any = torch.complex32,
        many: Any = frozenset((1, 2)),
    ) -> torch.Tensor:
        ctx.slope = 1 + float(tol) + eps + int(mode)
        return x * ctx.slope

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        return (grad_output * ctx.slope, *(None,) * 5)


def numbers(*shape: int, grad: bool = False) -> torch.Tensor:
    generator = torch.Generator().manual_seed(len(shape))
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_(grad)


X, W = numbers(3), numbers(3)
BOTH = "x: float64[3]; w: float64[3]; k = "

FORMS: dict[str, tuple[tuple[Any, ...], dict[str, Any], str]] = {
    "a tuple": ((Product, (X, W)), {}, "2.0"),
    "a list": ((Product, [X, W]), {}, "2.0"),
    "one after the other": ((Product, X, W), {}, "2.0"),
    "a dict": ((Product, {"w": W, "x": X}), {}, "2.0"),
    "with a plain value": ((Product, (X, W, 3.0)), {}, "3.0"),
    "a plain value by name": ((Product, (X, W)), {"k": 3.0}, "3.0"),
    "tensors by name": ((Product,), {"x": X, "w": W}, "2.0"),
    "some by place and some by name": ((Product, (X,)), {"w": W, "k": 3.0}, "3.0"),
    "the rest goes with what is given": ((Product,), {"w": W}, "2.0"),
    "example_inputs": ((Product,), {"example_inputs": (X, W)}, "2.0"),
    "example_inputs by argument": ((Product,), {"example_inputs": {"x": X, "w": W}}, "2.0"),
    "example_inputs by Function": ((Product,), {"example_inputs": {"Product": (X, W)}}, "2.0"),
    "apply": ((Product.apply, (X, W)), {}, "2.0"),
    "a recipe": ((Product, BOTH + "2.0"), {}, "2.0"),
    "a function of tensors": ((lambda x, w, k=2.0: Product.apply(x, w, k), (X, W)), {}, "2.0"),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_way_to_write_a_call_is_that_call(form: str) -> None:
    arguments, named, k = FORMS[form]
    found = gradloupe.check(*arguments, **named)
    assert (found.word, found.recipe) == ("matches", BOTH + k)
    assert {each.wrt for each in found.sweeps} == {"x", "w"}


def test_tensors_are_used_as_they_are() -> None:
    seen: list[torch.Tensor] = []

    def noted(x: torch.Tensor) -> torch.Tensor:
        seen.append(x.detach().clone())
        return x.sum()

    gradloupe.check(noted, (X,))
    assert any(torch.equal(each, X) for each in seen)


def test_what_requires_grad_is_differentiated_and_the_rest_is_held() -> None:
    for found in (
        gradloupe.check(Product, (numbers(3, grad=True), W)),
        gradloupe.check(Product, x=numbers(3, grad=True)),
        gradloupe.check(Product, x=torch.nn.Parameter(X), w=W),
    ):
        assert found.recipe == "x: float64[3]; w: float64[3] nograd; k = 2.0"
        assert [each.wrt.partition("[")[0] for each in found.sweeps] == ["x"]
        assert found.ok


def test_a_tensor_in_the_place_of_a_number_is_differentiated_only_where_it_asks_for_it() -> None:
    assert gradloupe.check(Product, k=torch.tensor(3.0)).word == "matches"
    assert gradloupe.check(Product, (X, W, torch.tensor(3.0))).recipe == BOTH[:-4] + "k: float32[] nograd"
    asked = gradloupe.check(Product, (X, W, torch.tensor(3.0, requires_grad=True)))
    assert [each.wrt for each in asked.sweeps] == ["k"]
    assert not asked.ok


def test_a_star_takes_one_tensor_after_the_other() -> None:
    found = gradloupe.check(Summed, numbers(2), numbers(2), numbers(2))
    assert found.recipe == "tensors0: float64[2]; tensors1: float64[2]; tensors2: float64[2]"
    assert found.word == "matches"


def test_two_numbers_for_x_are_its_interval_and_a_tensor_is_the_argument() -> None:
    assert (gradloupe.check(Product, x=(0, 2)).sweeps[0].stop) == 2.0
    assert gradloupe.check(Product, (X, W), x=(0, 2)).sweeps[0].stop == 2.0
    assert gradloupe.check(OPS["exp"], x=torch.tensor([0.5])).ok
    refused = gradloupe.check(Product, x=(1.0, 1.0001), dtype="float16")
    assert refused.sentence.startswith("start: float16 cannot tell ")


def test_a_name_that_no_option_has_is_that_of_the_argument() -> None:
    assert gradloupe.check(Window, left=3.0).recipe == "x: float64[7]; width = 2.0; left = 3.0"
    assert gradloupe.check(Window, width_=3.0).recipe.startswith("x: float64[7]; width = 3.0")
    assert gradloupe.check(Window, width=torch.tensor(3.0)).recipe.startswith("x: float64[7]; width: float32[] nograd")


def test_what_is_given_stands_above_what_the_docstring_says() -> None:
    declared = function_of("def forward(ctx, x):\n    return x * 1", doc="Gradloupe: x: float64[5]")
    assert gradloupe.check(declared).recipe == "x: float64[5]"
    assert gradloupe.check(declared, (X,)).recipe == gradloupe.check(declared, x=X).recipe == "x: float64[3]"


def an_object() -> Any:
    with warnings.catch_warnings(action="ignore"):
        return Product()


OWN = types.ModuleType("own")
OWN.Product = Product  # type: ignore[attr-defined]

ANSWERS: dict[str, tuple[tuple[Any, ...], dict[str, Any], str]] = {
    "a string": (("Product",), {}, "'Product' is a string; "),
    "a module": ((OWN,), {}, "own is a module; pass one of its Functions: own.Product."),
    "a module without any": ((types,), {}, "types is a module; pass a Function, "),
    "what a call returned": ((Product.apply(X, W), (X,)), {}, "A tensor was passed"),
    "an object": ((an_object(), (X, W)), {}, "pass the class itself: check(Product)."),
    "its forward": ((Product.forward,), {}, "Product.forward is one method of Product"),
    "its backward": ((Product.backward,), {}, "Product.backward is one method of Product"),
    "nothing": ((None,), {}, "NoneType cannot be called"),
    "too few": ((Product, X), {}, "leaves out 'w', and Product takes x, w, k"),
    "too many": ((Product, (X, W, 1, 2)), {}, "4 arguments, and forward takes x, w, k"),
    "no tensor": ((Product, (1.0, 2.0)), {}, "no floating tensor"),
    "a name it does not know": ((Product, {"v": X}), {}, "'v' is not an argument of forward"),
    "twice": ((Product, (X, W)), {"w": W}, "w is given twice"),
    "two calls": ((Product, (X, W)), {"recipe": "x: float64[7]"}, "is given twice"),
    "a recipe and a tensor": ((Product, BOTH + "2"), {"x": X}, "is given twice"),
    "shapes that do not fit": ((Product, (numbers(3), numbers(2))), {}, "forward raised RuntimeError"),
    "one for which there is no other": ((Riddle,), {"tol": numbers(2)}, "'key'"),
    "an option and an argument": ((Window,), {"width": 3.0}, "write width_=3.0 for the argument"),
    "no recipe": ((Product,), {"recipe": 3}, "recipe=3 is not a text"),
    "no element": ((Product,), {"wrt": X}, "wrt=tensor of [3] is not a text"),
    "no interval": ((Product,), {"x": 1.0}, "x=1.0 is not an interval"),
    "words for numbers": ((Product,), {"grad_output": ["a"]}, "grad_output=['a'] cannot be asked for"),
    "a tensor for an Op": ((OPS["exp"], (X,)), {}, "An Op declares itself"),
    "no function": ((3,), {}, "int"),
    "a recipe that cannot be read": ((Product, "x: float63[7]"), {}, "float63"),
    "a recipe of another Function": ((Product, "z: float64[7]"), {}, "'z'"),
    "an argument that there is not": ((Product,), {"zz": 1}, "no argument zz; it has x, w, k."),
    "an argument that an op has not": ((OPS["exp"],), {"zz": 1}, "no argument zz; it has "),
    "a word of an address": ((Product,), {"grad_outptu": 1}, "did you mean grad_output?"),
    "a value that forward refuses": ((Product,), {"k": "two"}, "raised TypeError"),
    "an element that there is not": ((Product,), {"wrt": "y[3]"}, "wrt=y[3]"),
    "an empty interval": ((Product,), {"x": (1, 1)}, "start"),
    "an interval of words": ((Product,), {"x": ("a", "b")}, "start"),
    "a value of no kind": ((Product,), {"grad_output": object()}, "grad_output"),
    "a device that is not there": ((Product,), {"device": "mps"}, "device"),
    "an Op with a recipe": ((OPS["exp"], "x: float64[7]"), {}, "Op"),
    "an object that no recipe writes": ((Product, (X.to("meta"), W)), {}, "give it other arguments."),
}


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls are looked for during half a second."""
    monkeypatch.setattr("gradloupe.server.user_code.usual_call.infer", partial(infer, budget=0.5))


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("answer", ANSWERS)
def test_what_does_not_work_is_answered_in_a_sentence(answer: str) -> None:
    arguments, named, said = ANSWERS[answer]
    found = gradloupe.check(*arguments, **named)
    assert (found.word, found.ok) == ("unsolved", False)
    assert said in found.sentence
    assert found.sentence.endswith(".")
    assert "Looking at it raised" not in found.sentence


def test_a_figure_takes_the_same_and_says_what_has_no_slider_and_why_there_is_none() -> None:
    shown = gradloupe.look(Product.apply, (X, W), k=3.0)
    assert (shown.checked.recipe, shown.remark) == (BOTH + "3.0", "")
    assert b'data-slider="k"' in shown.page
    refused = gradloupe.look(Product, height="tall")
    assert "height='tall' is not a number" in refused.checked.sentence
    assert (refused.page, refused.checked.word) == (b"", "unsolved")
    assert "unsolved" in refused.checked._repr_html_()
    with pytest.raises(ValueError, match="There is no figure"):
        refused.save("nowhere.html")
    alone = gradloupe.look(lambda x: x.sin())
    assert alone.remark.startswith("Only grad_output has ")
    assert alone.remark in alone.page.decode().replace("<code>", "").replace("</code>", "")
    assert 'save("figure.html")' in repr(alone)
    none = gradloupe.look(lambda x, k=1.0: k * (99 * x).sin() * (1e3 * x).cos(), count=5001)  # no two rows alike
    assert re.match(r"There are no sliders: .* \d+ kB", none.remark)
    assert b'type="range"' not in none.page


def test_the_call_that_is_printed_is_read_again_from_its_lines() -> None:
    names = ", ".join(f"a{place}=(1e-06, -{place})" for place in range(12))
    space: dict[str, Any] = {}
    exec(f"def long(x, {names}, word='a; b - c'): return x * 1", space)  # noqa: S102
    found = gradloupe.check(space["long"], (X,))
    lines = repr(found).splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith("  called as"))
    last = next(place for place, line in enumerate(lines) if line.startswith("  swept"))
    pasted = "\n".join([lines[first].removeprefix("  called as"), *lines[first + 1 : last]])
    assert last - first > 2
    assert parse_recipe(pasted).text() == found.recipe
    assert gradloupe.check(space["long"], pasted).recipe == found.recipe


@pytest.mark.parametrize("function", [Product, Window, Summed, Defaults, torch.nn.Linear(2, 2)])
def test_a_recipe_that_is_found_is_read_as_the_same(function: Any) -> None:
    recipe = infer(function).recipe
    assert parse_recipe(recipe.text()) == recipe


def codes(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


@pytest.mark.usefixtures("hurried")
def test_a_cell_is_told_what_to_write_into_it_and_the_call_that_failed_is_no_advice() -> None:
    sentence = gradloupe.check(Riddle).sentence
    (failed,) = codes(sentence)
    assert parse_recipe(failed, ("x", "key", "tol")).text() == failed
    assert f"called with `{failed}`; " in sentence
    assert 'recipe="..."' in sentence
    assert "example_inputs=(...)" in sentence
    assert "such as" not in sentence
    again = gradloupe.check(Riddle, failed).sentence
    assert f"`{failed}`; correct that recipe." in again
    assert gradloupe.check(Riddle, "x: float64[3]; key = 5077").word == "matches"
