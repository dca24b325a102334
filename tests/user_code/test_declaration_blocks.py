from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from functions import user_written
from support.own_worker import Worker, worker, written
from support.written_functions import class_source

from gradloupe.server.inference.construction.op import op_of
from gradloupe.server.inference.recipe import parse_recipe

OWN = {
    "Log": "x: float64[7] positive",
    "Clamp": "x: float64[7]; min = -1.0; max = 1.0",
    "Pooled": "x: float64[7]; mode = 'sum'; dim = None; twice = True",
    "Rows": "index: int64[5] < 2; table: float64[6,4]; weight: float64[5,4] nograd; then = identity",
    "Line": "x: float64[7]; start: float64[7]; stop: float64[7]",
    "Single": "x: float32[7]",
    "Polar": "r: float64[7]; theta: float64[7]",
    "Powered": "x: float64[7]; power = 3",
    "Doubled": "x: float64[7]",
    "Inverse": "a: float64[3,3] spd",
    "Turned": "z: complex128[3]; turn: complex128[3] nograd; k = 2.0",
}
PLAIN = {"smooth": "x: float64[7]; k = 2.0", "logged": "x: float64[7]"}


@pytest.fixture(scope="module")
def loaded() -> Iterator[Worker]:
    """A worker on the Functions that visitors write."""
    file = str(Path(user_written.__file__))
    with worker(file, *(f"{file}:{name}" for name in PLAIN)) as loaded:
        yield loaded


def block(loaded: Worker, name: str, recipe: str) -> str:
    """The declaration that a page offers for this call."""
    said: str = loaded.describe(name, recipe)["op"]["block"]
    return said


@pytest.mark.parametrize("name", OWN | PLAIN)
def test_a_block_makes_the_same_op(name: str, loaded: Worker) -> None:
    text = (OWN | PLAIN)[name]
    op = op_of(getattr(user_written, name), parse_recipe(text), name, name, "user_written.py")
    there = vars(user_written).copy()
    exec(block(loaded, name, text), there)  # noqa: S102
    again = there[f"op_{name.lower()}"]
    for word in ("function", "title", "inputs", "parameters", "outputs", "wrt", "of", "dtype"):
        assert getattr(again, word) == getattr(op, word), word
    dtype = getattr(torch, op.dtype)
    given = [torch.tensor(each.values, dtype=dtype).reshape(each.shape or (1,)) for each in op.inputs]
    given += [each.default for each in op.parameters]
    fresh = [each.clone() if isinstance(each, torch.Tensor) else each for each in given]
    for one, other in zip(several(op(*given)), several(again(*fresh)), strict=True):
        assert torch.equal(one, other)


def several(outputs: Any) -> Any:
    return outputs if isinstance(outputs, tuple | list) else (outputs,)


def test_a_block_behind_the_function_needs_no_import_of_it(loaded: Worker) -> None:
    text = block(loaded, "Rows", OWN["Rows"])
    assert text.startswith("from gradloupe import fill_tensor\nfrom gradloupe.ops import Input, Op\n\n\ndef call_rows(")
    assert "import user_written" not in text
    assert "return Rows.apply(index, table, weight, lambda x: x)" in text


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("x: float64[20,20] spd", 'Input("x", shape=(20, 20), value=fill_tensor((20, 20), "spd"))'),
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
def test_tensors_are_filled_from_the_same_seed_and_not_written_out(
    text: str, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(
        written(tmp_path, {"own": "def total(x, y=None):\n    return x.sum() + (y is not None and y.sum())"})
    )
    with worker("own.py:total") as loaded:
        said = block(loaded, "total", text)
    assert source in said
    assert max(map(len, said.splitlines())) <= 88


def test_what_has_no_name_of_its_own_is_called_as_the_file_calls_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "import functools\ndef scaled(x, k):\n    return x * k\nhalf = functools.partial(scaled, k=0.5)\n"
    monkeypatch.chdir(written(tmp_path, {"own": source}))
    with worker("own.py:half") as loaded:
        assert "return half(x)" in block(loaded, "half", "x: float64[2,3]")


def test_what_the_user_gave_is_written_out_and_an_object_left_to_be_filled_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    examples = "\nexample_inputs = (torch.tensor([0.5, 1.25]), torch.nn.ReLU())\n"
    called = class_source("def forward(ctx, x, f):\n    return x * 1 + 0 * f(x)")
    monkeypatch.chdir(written(tmp_path, {"own": f"import torch\n\n\n{called}{examples}"}))
    with worker("own.py") as loaded:
        text = block(loaded, "Own", "")
    assert "value=0.5" in text
    assert "f = ...  # an object of your program" in text
