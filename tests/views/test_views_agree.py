"""The judges on trial together: of Functions drawn at random, right and wrong, no two views say the opposite."""

import random
from collections.abc import Callable

import pytest
import torch
from functions.random_functions import random_function
from support.answers import document
from support.sampling import each_fourth
from support.sections import look, section, written

from gradloupe.ops import Op
from gradloupe.server.contract import contract_xray

Derivative = Callable[[torch.Tensor], torch.Tensor]
PLACES = torch.tensor([-2.34, -1.23, -0.71, 0.37, 0.72, 1.83, 2.56], dtype=torch.float64)
FAULTS: dict[str, Callable[[Derivative, float], Derivative]] = {
    "right": lambda right, size: right,
    "a factor": lambda right, size: lambda x: (1 + size) * right(x),
    "an offset": lambda right, size: lambda x: right(x) + size,
    "the other sign": lambda right, size: lambda x: -right(x),
}


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


@pytest.mark.parametrize("seed", each_fourth(MOVING))
@pytest.mark.parametrize("fault", FAULTS)
def test_no_two_views_contradict_each_other(fault: str, seed: int) -> None:
    function, draw = random_function(seed, jumps=False), random.Random(seed)

    def derivative(x: torch.Tensor) -> torch.Tensor:
        with torch.enable_grad():
            leaf = x.detach().requires_grad_()
            (gradient,) = torch.autograd.grad(function.value(leaf).sum(), leaf)
        return gradient

    wrong = FAULTS[fault](derivative, 10 ** draw.uniform(-5, -1))
    steepest = PLACES[derivative(PLACES).abs().argmax()].item()
    found = says(written(function.value, wrong), steepest)
    assert (fault != "right") not in found.values(), (function.name, found)
