"""What a file says of how its Functions are called is taken before inference, or it is said why it cannot be."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.own_worker import SQUARE, worker, written
from support.written_functions import class_source, formula

CLAMP = formula("x, min, max", "x.clamp(min, max)", "g * (x.abs() < 9), None, None", saved="x")
CALLED = """
    def forward(ctx, index, table, weight, then):
        ctx.shape = table.shape
        return then(table[index]) * weight
    def backward(ctx, g):
        return None, g.new_zeros(ctx.shape), None, None
"""
FILE = "\n\n".join(["import torch\n", class_source(CLAMP, "Clamp"), class_source(CALLED, "Called"), SQUARE])
ONES, ROWS = "torch.ones(3)", "torch.tensor([2, 0]), torch.ones(3, requires_grad=True), torch.ones(2)"

Described = Callable[[str, str], dict[str, Any]]


@pytest.fixture
def described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Described:
    """What a worker says of one Function of a file with this text."""
    monkeypatch.chdir(tmp_path)

    def told(text: str, name: str) -> dict[str, Any]:
        written(tmp_path, {"own": text})
        with worker("own.py") as loaded:
            op: dict[str, Any] = loaded.describe(name)["op"]
        return op

    return told


@pytest.mark.parametrize(
    ("examples", "name", "recipe"),
    [
        (f"{{Clamp: ({ONES}, -1, 1.5), 'Other': (3,)}}", "Clamp", "x: float32[3]; min = -1; max = 1.5"),
        (f"{{'Clamp': {{'max': 1.0, 'x': {ONES}, 'min': 0.0}}}}", "Clamp", "x: float32[3]; min = 0.0; max = 1.0"),
        ("{'Square': 'x: float64[2] positive'}", "Square", "x: float64[2] positive"),
        (
            f"{{'Called': ({ROWS}, torch.nn.ReLU())}}",
            "Called",
            "index: int64[2] < 3; table: float32[3]; weight: float32[2] nograd; then = <object>",
        ),
        (
            f"{{'Called': ({ROWS}, torch.tanh)}}",
            "Called",
            "index: int64[2] < 3; table: float32[3]; weight: float32[2] nograd; then = torch.tanh",
        ),
        (f"({ONES},)", "Square", "x: float64[7]"),  # of which of several?
    ],
)
def test_example_inputs_are_the_call(described: Described, examples: str, name: str, recipe: str) -> None:
    op = described(f"{FILE}\n\nexample_inputs = {examples}\n", name)
    assert op["recipe"] == recipe
    if recipe != "x: float64[7]":
        assert {because for _, because in op["assumed"]} == {"example_inputs says so"}


def test_a_function_that_they_name_is_looked_at_wherever_it_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    theirs = f"import torch\n\n\n{class_source(CLAMP, 'Clamp')}"
    examples = "example_inputs = {theirs.Clamp: (torch.ones(3), -1, 1), 'Called': ()}\n"
    mine = f"import theirs\nfrom others import Called, Unnamed\n\n\n{SQUARE}\n\n{examples}"
    others = f"import torch\n\n\n{class_source(CALLED, 'Called')}\n\n{class_source(CLAMP, 'Unnamed')}"
    written(tmp_path, {"theirs": theirs, "others": others, "mine": mine})
    with worker("mine.py") as loaded:
        assert sorted(loaded.names) == ["Called", "Clamp", "Square"]
        assert loaded.describe("Clamp")["op"]["recipe"] == "x: float32[3]; min = -1; max = 1"


@pytest.mark.parametrize("examples", ["torch.tensor([0.123456])", "(torch.tensor([0.123456]),)"])
def test_for_a_function_that_is_alone_they_need_no_name_and_tensors_are_used_as_they_are(
    described: Described, examples: str
) -> None:
    op = described(f"{SQUARE}\n\nexample_inputs = {examples}\n", "Square")
    assert (op["recipe"], op["dtype"]) == ("x: float32[1]", "float32")
    assert op["inputs"][0]["values"] == pytest.approx([0.123456])


def test_a_line_in_the_docstring_is_the_recipe_and_another_may_be_asked_for(described: Described) -> None:
    line = "each element.\n\n    Gradloupe: x: float64[3] positive"
    op = described(SQUARE.replace("each element.", line), "Square")
    assert (op["recipe"], op["written"]) == ("x: float64[3] positive", True)
    with worker("own.py") as loaded:
        assert loaded.describe("Square", "x: float64[2]")["op"]["recipe"] == "x: float64[2]"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("(torch.ones(2), 1, 2, 3)", "4 arguments, and forward takes x, min, max"),
        ("(torch.arange(3),)", "no floating tensor"),
        ("{'x': torch.ones(2), 'limit': 3}", "'limit' is not an argument of forward"),
        ("{'x': torch.ones(2), 'max': 3}", "leaves out 'min'"),
        ("(torch.ones(200_000),)", "200000 elements, and at most 131072"),
    ],
)
def test_example_inputs_that_do_not_fit_are_told_in_a_sentence(described: Described, said: str, words: str) -> None:
    sentence = described(f"{FILE}\n\nexample_inputs = {{'Clamp': {said}}}\n", "Clamp")["sentence"]
    assert sentence.startswith("example_inputs ")
    assert words in sentence


def test_a_bad_line_in_the_docstring_is_told(described: Described) -> None:
    sentence = described(SQUARE.replace("each element.", "each element.\n\n    Gradloupe: y: float64[3]"), "Square")[
        "sentence"
    ]
    assert "docstring cannot be used" in sentence
    assert "'y'" in sentence
