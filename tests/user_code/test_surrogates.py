from pathlib import Path

import pytest
import torch
from support.command_line import Ran, ran
from support.written_functions import class_source, formula, function_of

from gradloupe import check
from gradloupe.server.user_code.surrogates import antiderivative

ROUND = "def forward(ctx, x, scale=1.0):\n    return torch.round(x * scale) / scale"
IMPORTS = "import torch\nfrom gradloupe.ops import Op\n\n"


def checked(folder: Path, text: str) -> Ran:
    (folder / "my_ops.py").write_text(IMPORTS + text, encoding="utf-8")
    return ran(folder, "my_ops.py --check")


@pytest.mark.parametrize(("surrogate", "code"), [("lambda x: x", 0), ("lambda x, scale: 2 * x", 1)])
def test_an_op_of_a_function_and_its_surrogate_is_enough(surrogate: str, code: int, tmp_path: Path) -> None:
    done = checked(tmp_path, f"{class_source(ROUND, 'Round')}\nop = Op(Round, surrogate={surrogate})\n")
    assert done.returncode == code
    assert "x: float64[7]; scale = 1.0" in done.stdout


def test_the_hint_of_a_difference_can_be_pasted(tmp_path: Path) -> None:
    done = checked(tmp_path, class_source(ROUND, "Round"))
    hint = " ".join(done.stdout.split("If a difference is meant")[1].split())
    line, first, second = hint.split("`")[1:6:2]
    assert first in IMPORTS
    assert checked(tmp_path, f"{class_source(ROUND, 'Round')}\n{second}\n").returncode == 0
    assert checked(tmp_path, class_source(ROUND, "Round", line)).returncode == 0


SPIKE = formula("x, slope=25.0", "(x > 0).to(x)", "g / (1 + ctx.slope * x.abs()) ** 2, None", saved="x", kept="slope")
WINDOW = formula("x", "(x > 0).to(x)", "g * (x.abs() < 0.37).to(g)")
GRADIENTS = [
    (SPIKE, "1 / (1 + slope * x.abs()) ** 2", True),
    (WINDOW, "(x.abs() < 0.38).to(x)", False),
    pytest.param(SPIKE, "1 / (1 + 25 * x.abs()) ** 2", True, marks=pytest.mark.nightly),
    pytest.param(SPIKE, "1 / (1 + 24 * x.abs()) ** 2", False, marks=pytest.mark.nightly),
    pytest.param(WINDOW, "(x.abs() < 0.37).to(x)", True, marks=pytest.mark.nightly),
]


@pytest.mark.parametrize(("methods", "gradient", "right"), GRADIENTS)
def test_a_gradient_without_its_antiderivative_is_enough(methods: str, gradient: str, right: bool) -> None:
    takes = "x, slope" if "slope *" in gradient and "slope" in methods else "x"
    found = check(function_of(methods), surrogate_gradient=eval(f"lambda {takes}: {gradient}"))  # noqa: S307
    assert found.claim == "surrogate"
    assert found.ok is right, found


def test_a_line_of_the_docstring_says_the_gradient(tmp_path: Path) -> None:
    line = "Gradloupe surrogate gradient: 1 / (1 + {} * x.abs()) ** 2"
    for factor, code in (("slope", 0), ("24", 1)):
        assert checked(tmp_path, class_source(SPIKE, "Spike", line.format(factor))).returncode == code
    done = checked(tmp_path, class_source(SPIKE, "Spike", "Gradloupe surrogate: x +"))
    assert done.returncode == 2
    assert "“Gradloupe surrogate: x +”" in done.stdout


def test_an_antiderivative_is_exact_across_jumps_and_for_large_numbers() -> None:
    window = antiderivative(lambda x, width: (x.abs() < width).to(x))
    x = torch.tensor([-1e4, -1.0, -0.1, 0.0, 0.2, 0.37, 5.0], dtype=torch.float64)
    torch.testing.assert_close(window(x, 0.37), x.clamp(-0.37, 0.37), atol=1e-12, rtol=0)
    torch.testing.assert_close(antiderivative(torch.cos)(x[1:]), x[1:].sin(), atol=1e-14, rtol=0)


def test_what_is_no_function_is_no_surrogate() -> None:
    for said in ({"surrogate": 2}, {"surrogate": torch.tanh, "surrogate_gradient": torch.tanh}):
        found = check(function_of(WINDOW), **said)
        assert (found.word, "surrogate" in found.sentence) == ("unsolved", True)


def test_a_line_in_a_class_that_takes_no_call_costs_no_other_function(tmp_path: Path) -> None:
    line = "Gradloupe surrogate: x"
    unfit = class_source("def forward(ctx, *, x):\n    return x", "KeywordOnly", line)
    done = checked(tmp_path, f"{unfit}\n\n{class_source(formula('x', 'x * x', 'g * 2 * x', saved='x'), 'Square')}")
    assert "KeywordOnly" in done.stdout
    assert "Square  x: float64" in " ".join(done.stdout.split()).replace("Square x", "Square  x")
