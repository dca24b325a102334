import pytest
import torch

from gradloupe.server.html import example_inputs_code
from gradloupe.server.inference.recipe import parse_recipe


@pytest.mark.parametrize(
    "recipe",
    [
        "x: float64[7]; p: int32[7] shuffled; q: int64[2,3] shuffled; a: float64[2,3] rising",
        "x: float64[7]; eps: float64[] tiny; low: float64[3] negative",
        "x: float64[7]; k = 2; mode = 'a;b'; flag = True; nothing = None",
        "weight: float32[5,7]; s: float64[]; index: int64[7] < 3; mask: bool[2,2]; scalar: bool[]",
        "b: float64[7] positive; a: float64[4,4] spd; held: float64[3] nograd; f = torch.tanh",
    ],
)
def test_example_inputs_are_the_arguments_of_the_recipe(recipe: str) -> None:
    arguments = parse_recipe(recipe, None).build()
    scope = {"torch": torch}
    exec(example_inputs_code("Mine", recipe), scope)  # noqa: S102
    given = scope["example_inputs"]["Mine"]  # type: ignore[index]
    for ours, theirs in zip(given, arguments, strict=True):
        if isinstance(theirs, torch.Tensor):
            assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        else:
            assert ours == theirs


def test_example_inputs_leave_open_what_a_recipe_does_not_say() -> None:
    assert example_inputs_code("Mine", "") == 'example_inputs = {"Mine": (torch.randn(7, dtype=torch.float64),)}'
    for recipe in ("x: float64[7]; config", "x: float64[7]; config = 2", "x: float64[7]; config: float64[7]"):
        assert example_inputs_code("Mine", recipe, "config").endswith("dtype=torch.float64), ...)}")
    long = example_inputs_code("Mine", "; ".join(f"x{i}: float64[7]" for i in range(9)))
    assert max(map(len, long.splitlines())) < 60
    compile(long, "my_ops.py", "exec")
