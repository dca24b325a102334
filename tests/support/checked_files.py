"""Files of Functions that are right and wrong in their ways, and the reports on them."""

import json
from collections.abc import Callable, Mapping
from contextlib import chdir
from functools import cache
from pathlib import Path
from textwrap import dedent
from types import MappingProxyType
from typing import Any

from gradloupe import __version__
from gradloupe.server.config.settings import parse_settings
from gradloupe.server.protocol.job import Job
from gradloupe.server.report.command import Wanted, examine_targets
from gradloupe.server.report.result import ExaminedFunction
from gradloupe.server.supervisor.worker_process import WorkerProcess
from support import event_loop
from support.command_line import NO_HURRY, Ran, in_every_form
from support.own_worker import LAST
from support.written_functions import class_source, formula

HEAD = "import itertools\nimport os\n\nimport torch\n\n\n"
CUBE = """
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * grad_output
"""
THROUGH = "def forward(ctx, x): return torch.round(x)\ndef backward(ctx, grad_output): return grad_output"
# Beyond 5, where 25 is the slope for ever, backward still rises.
RAMP = formula("x", "torch.where(x <= 5, x * x / 2, 5 * x - 12.5)", "g * x")
# What is told of each of these fails nobody, but for those who are strict.
WARNED = {
    "Here": formula("x, weight", "x * x * weight", "2 * g * x.clamp(-500, 500) * weight, g * x * x"),
    "Kept": """
        def forward(ctx, x):
            ctx.exp = x.exp()
            return ctx.exp.clone()
        def backward(ctx, grad_output):
            return grad_output * ctx.exp
    """,
    "Nearly": formula("x", "x.exp()", "g * x.exp() * 1.0000000001"),
    "Picky": """
        def forward(ctx, x, scale=-1.0):
            if scale < 0:
                raise ValueError("scale must be given")
            ctx.save_for_backward(x)
            ctx.scale = scale
            return scale * x * x
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            return 2 * ctx.scale * x * grad_output, None
    """,
    "Late": """
        frequency = 2.0
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.sin(Late.frequency * x)
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            return grad_output * Late.frequency * torch.cos(Late.frequency * x)
    """,
    # Noise that is added to what it is given.
    "Chance": "def forward(ctx, x): return x + torch.randn_like(x)",
    # Its backward knows one number alone in the place of s.
    "Row": """
        def forward(ctx, x, s: torch.Tensor):
            ctx.s = s
            return x * s
        def backward(ctx, g):
            if isinstance(ctx.s, torch.Tensor):
                raise RuntimeError("s has to be a number")
            return g * ctx.s, None
    """,
    # Backward knows one number alone in the place of s: that it is as long as x would be a guess.
    "Guessed": formula("x, s", "x * s", "g * s, (g * x).sum().reshape(1)"),
    # The same for as many as there are.
    "Column": formula("x, s", "x * s", "(g * s).sum_to_size(x.shape), (g * x).sum_to_size(s.shape)"),
    # Its recipe says where its domain ends.
    "Share": f'"""Gradloupe: x: float64[7] positive"""\n{dedent(RAMP)}',
}
FAILING = {
    # Backward forgets the scale, which is not seen where the scale is 1.
    "Scaled": formula("x, scale=0.5", "(scale * x * x).mean()", "g * 2 * x / x.numel(), None", saved="x"),
    # A cube whose second derivative is stated, and is half of what is right.
    "Twice": """
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3
        def backward(ctx, grad_output):
            class Slope(torch.autograd.Function):
                @staticmethod
                def forward(ctx, grad_output, x):
                    ctx.save_for_backward(grad_output, x)
                    return grad_output * 3 * x**2

                @staticmethod
                def backward(ctx, grad_grad_x):
                    grad_output, x = ctx.saved_tensors
                    return grad_grad_x * 3 * x**2, grad_grad_x * grad_output * 3 * x

            return Slope.apply(grad_output, *ctx.saved_tensors)
    """,
    # Chance that no seed repeats.
    "Luck": """
        turns = itertools.count()
        def forward(ctx, x):
            return x + (0.618 * next(Luck.turns)) % 1
    """,
    "Ramp": RAMP,
    "Last": LAST,
}
FAULTY = {
    # Right by one input and wrong by the other.
    "Product": formula("x, factor", "x * factor", "g * factor, 2 * g * x"),
    "Crash": """
        def forward(ctx, x):
            return x * 2
        def backward(ctx, grad_output):
            if grad_output.sum() < 0:
                os.kill(os.getpid(), 11)
            return 2 * grad_output
    """,
    "Riddle": "def forward(ctx, riddle): return riddle.answer_that_no_tensor_has",
}


def written(functions: Mapping[str, str]) -> str:
    """The text of a file of these Functions."""
    return HEAD + "\n\n".join(class_source(methods, name) for name, methods in functions.items())


def written_into(folder: Path) -> Path:
    """The folder with files of Functions good and bad in it, and one that cannot be read."""
    files = {
        "fine": {"Cube": CUBE, "Through": THROUGH},
        "my_ops": {"Cube": CUBE, "Through": THROUGH, **FAULTY},
        "warned": WARNED,
        "failing": FAILING,
    }
    for name, functions in files.items():
        (folder / f"{name}.py").write_text(written(functions), encoding="utf-8")
    (folder / "broken.py").write_text("import torch\n\ndef forward(:\n    pass\n")
    return folder


class Reports:
    """The reports on targets of the folder, each examined once."""

    def __init__(self, folder: Path) -> None:
        self.forms: Callable[[str], dict[str, Ran]] = cache(lambda line: in_every_form(folder, line))

    def found(self, line: str) -> MappingProxyType[str, Any]:
        """The results by the names of the Functions, as JSON."""
        functions = json.loads(self.forms(line)["json"].stdout)["functions"]
        return MappingProxyType({each["name"]: each for each in functions})


def ids(failures: list[dict[str, Any]]) -> list[str]:
    return [each["id"] for each in failures]


def checked_functions(folder: Path, *targets: str) -> list[ExaminedFunction]:
    """What `gradloupe TARGETS --check` finds of each Function."""
    chosen = parse_settings([*targets, "--check", *NO_HURRY], {}, __version__)
    with chdir(folder):
        process = WorkerProcess(Job(chosen.deadline, chosen.targets, chosen.loading, chosen.memory))
        report = event_loop.run(examine_targets(process, Wanted((), lambda *_: None, True, {})))
    assert not report.troubles, report.troubles
    return list(report.found)


def green(text: str) -> bool:
    """Whether the tests in this text pass."""
    there: dict[str, Any] = {}
    exec(text, there)  # noqa: S102
    try:
        for test in [value for name, value in there.items() if name.startswith("test_")]:
            test()
    except AssertionError:
        return False
    return True
