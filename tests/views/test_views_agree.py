"""The judges on trial together: of Functions drawn at random, right and wrong, no two views say the opposite."""

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from functions.basics import with_backward
from functions.random_functions import random_function
from support.answers import document
from support.sampling import sampled
from support.sections import look, op_of, section, written

from gradloupe.ops import Input, Op
from gradloupe.server.contract import contract_xray
from gradloupe.server.numerics.status import Status
from gradloupe.server.protocol.question import Element

Derivative = Callable[[torch.Tensor], torch.Tensor]
PLACES = torch.tensor([-2.34, -1.23, -0.71, 0.37, 0.72, 1.83, 2.56], dtype=torch.float64)
FAULTS: dict[str, Callable[[Derivative, float], Derivative]] = {
    "right": lambda right, size: right,
    "a factor": lambda right, size: lambda x: (1 + size) * right(x),
    "an offset": lambda right, size: lambda x: right(x) + size,
    "the other sign": lambda right, size: lambda x: -right(x),
}


def derivative(value: Derivative, x: torch.Tensor) -> torch.Tensor:
    with torch.enable_grad():
        leaf = x.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(value(leaf).sum(), leaf)
    return gradient


def says(op: Op, at: float) -> dict[str, bool | None]:
    """Whether backward is right, by each view, the Jacobian's at one point; None where it does not say."""
    word = look(op, count=101)[1].word
    (level,) = [each.level for each in contract_xray(section(op)).checks if each.id == "GRADIENT"]
    header, columns = document(op, "jacobian", x=(at,))
    return {
        "curves": {"matches": True, "differs": False}.get(word),
        "X-ray": {"fine": True, "error": False}.get(level),
        "Jacobian": {"agrees": True, "differs": False}.get(header["statuses"][columns["status"][0]]),
    }


# Of a constant a multiple of its derivative is as right as another.
MOVING = [seed for seed in range(12) if random_function(seed, jumps=False).value(PLACES).std() > 1e-3]


@pytest.mark.parametrize("seed", sampled(MOVING, MOVING[::8]))
@pytest.mark.parametrize("fault", FAULTS)
def test_no_two_views_contradict_each_other(fault: str, seed: int) -> None:
    function, draw = random_function(seed, jumps=False), random.Random(seed)
    right = partial(derivative, function.value)
    wrong = FAULTS[fault](right, 10 ** draw.uniform(-5, -1))
    steepest = PLACES[right(PLACES).abs().argmax()].item()
    found = says(written(function.value, wrong), steepest)
    assert (fault != "right") not in found.values(), (function.name, found)


@pytest.mark.parametrize(("factor", "asked"), [(1 + 5e-10, {}), (1 + 1e-6, {"atol": 1e-3, "rtol": 1e-3})])
def test_a_remark_and_a_tolerance_hold_in_every_view(factor: float, asked: dict[str, float]) -> None:
    product = with_backward(
        lambda x, y: x.exp() * y.sin(), lambda g, x, y: (g * factor * x.exp() * y.sin(), g * factor * x.exp() * y.cos())
    )
    op = op_of(product.apply, Input("x", value=0.3), Input("y", value=0.7))
    assert document(op, "curves", -2.0, 2.0, **asked)[0]["verdict"]["word"] == "matches"
    assert document(op, "wide", -2.0, 2.0, **asked)[0]["intervals"] == []
    cells = document(op, "jacobian", -2.0, 2.0, at=1.0, **asked)[0]
    assert (cells["differs"], "Wrong for other tensors" in cells["sentence"]) == (0, False)
    assert "is not the numerical derivative" not in cells["influence"]["losses"][0]["sentence"]
    plane = {"wrt2": Element("y", ()), "start2": 0.5, "stop2": 1.0}
    assert document(op, "surface", -2.0, 2.0, **plane, **asked)[0]["differs"] == 0


@pytest.mark.parametrize(("grad_output", "right"), [(-8.0, False), (1.0, True), (0.125, True)])
def test_atol_is_of_what_comes_back_for_the_grad_output_in_every_view(grad_output: float, right: bool) -> None:
    op, asked = written(torch.sin, lambda x: x.cos() + 0.05), {"grad_output": grad_output, "atol": 0.1, "rtol": 1e-9}
    assert document(op, "curves", **asked)[0]["verdict"]["word"] == ("matches" if right else "differs")
    cells = document(op, "jacobian", **asked)[0]
    assert (cells["differs"] == 0) is right
    assert ("is not the numerical derivative" not in cells["influence"]["losses"][0]["sentence"]) is right


def test_what_only_the_whole_range_meets_within_the_range_differs_in_the_curves() -> None:
    place = 10**0.0137
    narrow = written(torch.exp, lambda x: torch.exp(x) * torch.where((x - place).abs() < 1e-3, 1.5, 1.0))
    verdict = document(narrow, "curves", -4.0, 4.0)[0]["verdict"]
    assert verdict["word"] == "differs"
    assert verdict["intervals"][0] == pytest.approx((1.031, 1.033), abs=1e-3)


START, STOP, COUNT = -3.0, 3.0, 121
CELL = (STOP - START) / COUNT


def drawn(seed: int) -> tuple[Op, dict[str, Any]]:
    """A sum of two Functions, one of ``x``, right or wrong, and one of ``y``; and how it is asked for."""
    draw = random.Random(seed)
    function, other = random_function(seed, jumps=False), random_function(seed + 10**6, jumps=False)
    size, place, width = 10 ** draw.uniform(-9, 0), draw.uniform(-2.5, 2.5), 10 ** draw.uniform(-2, 0.5)
    share: Derivative = draw.choice(
        (
            lambda x: 1.0,
            lambda x: 1 + size,
            lambda x: -1.0,
            lambda x: torch.where(x > place, 1 + size, 1.0),
            lambda x: torch.where((x - place).abs() < width, 1 + size, 1.0),
            lambda x: (x < place).to(x.dtype),
        )
    )
    offset = draw.choice((0.0, 0.0, size))

    def backward(g: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return g * (share(x) * derivative(function.value, x) + offset), g * derivative(other.value, y)

    both = with_backward(lambda x, y: function.value(x) + other.value(y), backward)
    asked: dict[str, Any] = {"grad_output": draw.choice((1.0, -2.5, 0.01))}
    asked["dtype"] = draw.choice(("float64", "float64", "float32"))
    if draw.random() < 0.25:
        asked |= {"atol": 10 ** draw.uniform(-8, -2), "rtol": 10 ** draw.uniform(-8, -2)}
    return op_of(both.apply, Input("x", value=0.5), Input("y", value=round(draw.uniform(-1, 1), 1))), asked


@pytest.mark.parametrize("seed", sampled(range(300), range(0, 300, 60)))
def test_no_closer_look_says_the_opposite_of_the_curves(seed: int) -> None:
    op, asked = drawn(seed)
    header, rows = document(op, "curves", START, STOP, count=COUNT, **asked)
    verdict = header["verdict"]
    intervals, worst = verdict["intervals"], verdict["worst"]
    assert not (verdict["word"].startswith("matches") and intervals)
    assert worst is None or any(low - CELL <= worst["x"] <= high + CELL for low, high in intervals)

    looked, area = document(op, "area", START, STOP, count=COUNT, **asked)
    for low, high in looked["intervals"]:
        assert any(high >= first - CELL and low <= last + CELL for first, last in intervals)
    differs = dict(zip(rows["x"].tolist(), rows["status"] == Status.DIFFERS, strict=True))
    for low, high, status in zip(*(area[name].tolist() for name in ("left", "right", "status")), strict=True):
        assert not (status == Status.AGREES and differs.get(low) and differs.get(high))

    _, plane = document(op, "surface", START, STOP, wrt2=Element("y", ()), start2=-1.0, stop2=1.0, **asked)
    assert not (verdict["word"] == "matches" and (plane["status_x"] == Status.DIFFERS).any())

    _, wide = document(op, "wide", START, STOP, count=COUNT, **asked)
    for x, status in zip(wide["x"].tolist(), wide["status"].tolist(), strict=True):
        inside = [low <= x <= high for low, high in intervals]
        assert not (status == Status.AGREES and any(inside)), x
        seen = status == Status.DIFFERS and START < x < STOP
        assert not seen or any(low - CELL <= x <= high + CELL for low, high in intervals), x
