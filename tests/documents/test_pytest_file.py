"""The test that is copied from a page asks for the section that is drawn there."""

import re
from typing import Any

import pytest
from functions import learned_scalars, user_written

import gradloupe
from gradloupe.ops import OPS
from gradloupe.server.catalogue.op_description import describe_op, measured_shapes
from gradloupe.server.documents.pytest_file import pytest_source
from gradloupe.server.inference.construction.op import op_of
from gradloupe.server.inference.recipe import parse_recipe
from gradloupe.server.url.parse import parse_query, read_address
from gradloupe.server.worker.answer import device_summary


def gallery(name: str) -> dict[str, Any]:
    return describe_op(OPS[name], measured_shapes(OPS[name]))


def own(function: Any, text: str, **fields: Any) -> dict[str, Any]:
    """A Function of a visitor's file that is called so."""
    recipe = parse_recipe(text)
    op = op_of(function, recipe, function.__name__, function.__name__, "own.py")
    told = {"recipe": recipe.text(), "usual_recipe": recipe.text(), "like": recipe.like, "written": False}
    import_line = f"from {function.__module__} import {function.__name__}"
    told |= {"own": True, "bound": function.__name__, "import_line": import_line}
    return describe_op(op, measured_shapes(op)) | told | fields


def copied(op: dict[str, Any], query: str = "") -> str:
    return pytest_source(op, read_address(op, device_summary(), parse_query(query)))


def called(text: str) -> str:
    """The arguments of `check` in a test."""
    found = re.search(r"gradloupe\.check\((.*)\)\n    ", text, re.DOTALL)
    assert found is not None
    return " ".join(found[1].split()).rstrip(",")


CLAMP = "like x: float64[7]; min = -1.0; max = 1.0"


@pytest.mark.parametrize(
    ("op", "query", "arguments"),
    [
        (gallery("clamp_with_grad"), "", "op"),
        (gallery("clamp_with_grad"), "view=descent&lr=0.1&theme=dark&device=cpu", "op"),
        (gallery("clamp_with_grad"), "min=-0.5&grad_output=-1&stop=2", "op, x=(-3, 2), min=-0.5, grad_output=-1"),
        (gallery("functional_linear"), "wrt=weight[0,1]&dtype=float32", 'op, wrt="weight[0,1]", dtype="float32"'),
        (own(user_written.Clamp, CLAMP), "", f'Clamp, "{CLAMP}"'),
        (own(user_written.Clamp, CLAMP), "max=2.5&start=0", f'Clamp, "{CLAMP[:-3]}2.5", x=(0, 3)'),
        (own(user_written.Clamp, CLAMP[5:]), "order=2", f'Clamp, "{CLAMP[5:]}", order=2'),
        (own(user_written.Clamp, CLAMP[5:], written=True), "max=2.5", "Clamp, max=2.5"),
        (own(user_written.Pooled, "x: float64[7]; mode = 'mean'"), "", "Pooled, \"x: float64[7]; mode = 'mean'\""),
    ],
)
def test_a_copied_test_asks_for_what_the_address_asks(op: dict[str, Any], query: str, arguments: str) -> None:
    assert called(copied(op, query)) == arguments


@pytest.mark.parametrize(
    ("op", "query", "section"),
    [
        (gallery("clamp_with_grad"), "min=-0.5&grad_output=-1&stop=2", ("input", "y", -3.0, 2.0)),
        (own(learned_scalars.Scale, "like x: float64[7]; s: float64[]"), "wrt=s&x=0.25&stop=2", ("s", "y", -3.0, 2.0)),
    ],
)
def test_it_looks_at_that_section(op: dict[str, Any], query: str, section: tuple[str, str, float, float]) -> None:
    space: dict[str, Any] = {}
    exec(copied(op, query).replace("    assert", "    return found\n    assert"), space)  # noqa: S102
    (test,) = (each for name, each in space.items() if name.startswith("test_"))
    found = test()
    assert [(each.wrt, each.of, each.start, each.stop) for each in found.sweeps] == [section]
    assert found.ok


def test_a_check_is_true_where_all_is_well() -> None:
    assert gradloupe.check(user_written.Doubled)
    assert not gradloupe.check(user_written.Centred)


def test_an_example_leaves_open_what_a_recipe_declares() -> None:
    shown = {text: gradloupe.check(TimesItsSum, text) for text in ("x: float64[7]", "like x: float64[7]")}
    assert [each.recipe for each in shown.values()] == ["x: float64[7]"] * 2
    assert [each.ok for each in shown.values()] == [True, False]


class TimesItsSum(learned_scalars.Scale):
    """Right for vectors alone."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x.sum(0, keepdim=True)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * x.sum() + (g * x).sum()


@pytest.mark.parametrize("text", ["like  x: float64[3]; k = 2", "like x: float64[3];\nk = 2"])
def test_like_is_read_before_a_recipe(text: str) -> None:
    recipe = parse_recipe(text)
    assert (recipe.like, recipe.text(), recipe.source) == (True, "x: float64[3]; k = 2", "like x: float64[3]; k = 2")


def test_like_may_be_the_name_of_an_argument() -> None:
    recipe = parse_recipe("like: float64[3]; k = 2")
    assert (recipe.like, recipe.text()) == (False, "like: float64[3]; k = 2")
