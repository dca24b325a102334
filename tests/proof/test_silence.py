"""What is not known exactly is refused: a proof is sound or silent."""

import math
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from support.sections import op_of, section, written

from gradloupe.ops import Op
from gradloupe.server.inference.construction.op import op_of as called
from gradloupe.server.inference.recipe import parse_recipe
from gradloupe.server.proof import Proof, prove

Derivative = Callable[[torch.Tensor], torch.Tensor]
CALLS: list[int] = []
CACHE: dict[str, torch.Tensor] = {}


class Remembers(torch.autograd.Function):
    """Keeps its input on the class."""

    @staticmethod
    def forward(ctx, x):
        Remembers.x = x.detach()
        return x**2

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2 * Remembers.x


def looked_at(op: Op, grad_output: float = 1.0, **asked: Any) -> Proof:
    found = prove(section(op, **asked), None, -3.0, 3.0, grad_output)
    assert found is not None
    return found


def of_square(derivative: Derivative) -> Proof:
    """What is proved of x² with this derivative."""
    return looked_at(written(lambda x: x * x, derivative))


class Counts:
    """Keeps how often it is called, by itself and by a method."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def __call__(self, x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return self.forward(x, scale)

    def forward(self, x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return scale * torch.sin(x)


class CountingModule(torch.nn.Module):
    calls = 0
    forward = Counts.forward


class Scales(torch.nn.Module):
    """Keeps nothing but a parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.factor = torch.nn.Parameter(torch.tensor(2.0, dtype=torch.float64))

    def forward(self, x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return self.factor * scale * torch.sin(x)


@pytest.mark.parametrize("recipe", ["x: float64[3]; scale: float64[]", "x: float64[3]; scale: float64[3]"])
@pytest.mark.parametrize(
    ("function", "word"),
    [(Counts(), "nothing"), (Counts().forward, "nothing"), (CountingModule(), "nothing"), (Scales(), "proved")],
)
def test_an_object_that_keeps_something_from_one_call_to_the_next_is_refused(
    function: Any, word: str, recipe: str
) -> None:
    assert looked_at(called(function, parse_recipe(recipe), "one", "One", "yours")).word == word


def swallows(x: torch.Tensor) -> torch.Tensor:
    try:
        x.numpy()
    except BaseException:  # noqa: BLE001
        return 2 * x
    return 3 * x


def swallows_a_condition(x: torch.Tensor) -> torch.Tensor:
    try:
        return 2 * x if bool((x > 0).all()) else x + x
    except BaseException:  # noqa: BLE001
        return 2 * x


def counts(x: torch.Tensor) -> torch.Tensor:
    CALLS.append(1)
    return 2 * x


def caches(x: torch.Tensor) -> torch.Tensor:
    return CACHE.setdefault("first", 2 * x)


@torch.library.custom_op("strangers::mul", mutates_args=())
def strangers_product(a: torch.Tensor, b: float) -> torch.Tensor:
    return a * b + (a > 1).double()


REFUSED: dict[str, Derivative] = {
    "what is a plain tensor": lambda x: 3 * x if type(x) is torch.Tensor else 2 * x,
    "its class": lambda x: 3 * x if x.__class__ is torch.Tensor else 2 * x,
    "its attributes": lambda x: 2 * x if hasattr(x, "store") else 3 * x,
    "the time": lambda x: 2 * x + 0 * time.time(),
    "chance, of Python": lambda x: 2 * x + 0 * random.random(),
    "chance, of torch": lambda x: 2 * x + 0 * torch.rand_like(x),
    "chance, of numpy": lambda x: 2 * x + 0 * np.random.rand(),
    "a number": lambda x: 2 * x if float(x.sum()) < 9 else 3 * x,
    "a number, as a list": lambda x: 2 * x * (x.tolist() is not None),
    "its memory": lambda x: 2 * x if x.data_ptr() else 3 * x,
    "its data": lambda x: 2 * x.data,
    "its bits": lambda x: 2 * x + 0 * x.view(torch.int64),
    "its text": lambda x: 2 * x if "e" in str(x) else 3 * x,
    "a copy": lambda x: 2 * __import__("copy").deepcopy(x),
    "float32": lambda x: (2 * x.float()).double(),
    "half precision of a product": lambda x: (2 * x).half().double(),
    "an exception that it catches": swallows,
    "a condition that it catches": swallows_a_condition,
    "how often it was called": counts,
    "what it kept": caches,
    "memory that nobody has written": lambda x: 2 * x + 0 * torch.empty(1, dtype=torch.float64),
    "nothing times infinity": lambda x: 2 * x + 0 * torch.full_like(x, math.inf),
    "whole powers of a whole number": lambda x: 2 * x + torch.full_like(x, 2.0).long() ** x.long(),
    "an operation of somebody else that has the name of one of torch's": lambda x: torch.ops.strangers.mul(2 * x, 1.0),
    "an operation that is not known": lambda x: 2 * x + 0 * torch.special.bessel_j0(x),
    "a result that is written elsewhere": lambda x: torch.mul(x, 2, out=torch.zeros(1, dtype=torch.float64)),
    "a sum that is written elsewhere": lambda x: 2 * torch.sum(x, 0, out=torch.ones_like(x)[0]),
    "complex numbers": lambda x: (2 * x.to(torch.complex128)).real,
    "a tensor that it has not made": lambda x: torch.as_tensor([0.0]).double().copy_(2 * x),
}


@pytest.mark.parametrize("asks", REFUSED)
def test_nothing_is_proved_of_a_backward_that_asks_for(asks: str) -> None:
    found = of_square(REFUSED[asks])
    assert found.word in ("nothing", "refuted")
    assert found.share == 0


def test_what_is_made_once_and_kept_is_made_of_tensors_and_does_not_hinder_a_proof() -> None:
    made: dict[torch.Size, torch.Tensor] = {}

    def with_a_table(x: torch.Tensor) -> torch.Tensor:
        if x.shape not in made:
            made[x.shape] = torch.full(x.shape, 2.0, dtype=torch.float64)
        return made[x.shape] * x

    assert of_square(with_a_table).word == "proved"
    assert {type(each) for each in made.values()} == {torch.Tensor}


def test_what_is_kept_on_the_class_is_refused_and_put_back() -> None:
    assert (
        looked_at(Op(Remembers, inputs=op_of(torch.sin).inputs)).reason
        == "it keeps something from one call to the next"
    )
    assert not hasattr(Remembers, "x") or type(Remembers.x) is torch.Tensor


def test_a_sign_in_a_box_around_zero_is_not_taken_for_either() -> None:
    found = looked_at(written(torch.abs, torch.sign))
    assert found.word == "proved"
    assert len(found.points) == 1
    assert looked_at(written(torch.abs, lambda x: torch.ones_like(x))).word == "refuted"


def test_a_difference_at_a_single_point_is_never_called_proved() -> None:
    def but_at_one(x: torch.Tensor) -> torch.Tensor:
        return torch.where(x == 1, 5.0, 2 * x)

    found = of_square(but_at_one)
    assert any(start <= 1 <= stop for start, stop in found.points)


def test_the_share_of_grad_output_that_is_read_as_a_number_is_not_taken_for_linear() -> None:
    class Squares(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output * 2 * grad_output.item()

    op = Op(Squares, inputs=op_of(torch.sin).inputs)
    assert (looked_at(op).word, looked_at(op).grad_output) == ("proved", "this")
    assert looked_at(op, 2.0).word == "refuted"


def test_random_numbers_of_a_generator_that_goes_on_are_refused() -> None:
    generator = torch.Generator().manual_seed(1)
    found = of_square(lambda x: 2 * x + 0 * torch.rand((), generator=generator))
    assert found.word == "nothing"
