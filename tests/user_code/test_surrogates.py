from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import Ran, ran
from support.written_functions import class_source

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
    first, second = hint.split("`")[1:4:2]
    assert first in IMPORTS
    assert checked(tmp_path, f"{class_source(ROUND, 'Round')}\n{second}\n").returncode == 0
