"""What is copied from a page asks its question again: a test is green exactly where the verdict is, and what is pasted
into the file is the same call.
"""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

import pytest
from functions import user_written
from support import event_loop
from support.command_line import NO_HURRY, bare_pytest

from gradloupe import __version__
from gradloupe.ops import OPS
from gradloupe.server.config import parse_settings
from gradloupe.server.documents.pytest_file import pytest_source
from gradloupe.server.protocol.job import Job
from gradloupe.server.report.result import ExaminedFunction
from gradloupe.server.report.runner import examine_targets
from gradloupe.server.supervisor.worker_process import WorkerProcess
from gradloupe.server.url import default_address

FUNCTIONS = Path(user_written.__file__).parent
# A softmax over the wrong dimension, a power that is right for its default, and what is None in backward; each with a
# right one beside it. Neither curves nor gradcheck at the call that is shown find the first two.
OTHERS = '''
import torch
from torch.autograd import Function


class Softmax(Function):
    """Over the last dimension."""

    @staticmethod
    def forward(ctx, x):
        y = x.softmax(-1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return y * (g - (g * y).sum(-1, keepdim=True))


class SoftmaxOverRows(Softmax):
    """Its backward is that of another dimension."""

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return y * (g - (g * y).sum(0, keepdim=True))


class Power(Function):
    """A whole power."""

    @staticmethod
    def forward(ctx, x, p=2):
        ctx.save_for_backward(x)
        ctx.p = p
        return x**p

    @staticmethod
    def backward(ctx, g):
        return ctx.p * ctx.saved_tensors[0] ** (ctx.p - 1) * g, None


class PowerOfTwoAlone(Power):
    """Right for its default alone."""

    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g, None


class Weighted(Function):
    """A gradient for the weights, too."""

    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        return g * weight, g * x


class WeightForgotten(Weighted):
    """None for what moves the output."""

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[1], None


class InSinglePrecision(Function):
    """Computes in float32 whatever it is given."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.float().sin().to(x.dtype)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].cos()


class Raises(Function):
    """A backward that runs nowhere."""

    @staticmethod
    def forward(ctx, x):
        return x.exp()

    @staticmethod
    def backward(ctx, g):
        raise RuntimeError("not yet")


class Constants(Function):
    """Words, switches and indices among the arguments."""

    @staticmethod
    def forward(ctx, x, index, mask, mode="mean", scale=0.5, keep=True):
        ctx.save_for_backward(index, mask)
        ctx.shape, ctx.scale = x.shape, scale
        return scale * x[index] * mask[index]

    @staticmethod
    def backward(ctx, g):
        index, mask = ctx.saved_tensors
        grad = g.new_zeros(ctx.shape).index_add(0, index, ctx.scale * g * mask[index])
        return grad, None, None, None, None, None
'''
# Of the gallery: surrogates that are meant, also one for either sign; kinks; several inputs; specimens of every kind.
GALLERY = (
    *("clamp_with_grad", "guided_relu", "kill_head", "learned_step_size", "clipped_relu", "cross_entropy", "relu"),
    *("max_pool_with_indices", "one_gradient_too_few", "noisy_backward", "incorrect_clipped_relu"),
)
# A sample of the breaches that are errors: a backward that raises, gradients of a wrong shape, dtype or number, …
BREACHES = (
    *("OnTheClass", "OneTooMany", "Raises", "ChangesWhatItKept", "DiagonalOfSoftmax"),
    *("HoleAtZero", "InAList", "WrongByGradOutput", "WrongForwardMode"),
)
# And of wrong gradients, one of each kind: in place, for None, beyond what is first seen, now and then, complex.
MISTAKES = (
    *("Sine", "LosesTheSign", "WritesToGradOutput", "WrongBeyondThree", "Noisy", "ReturnsNone", "ForgetsTheConjugate"),
)


def examined(folder: Path, *targets: str) -> list[ExaminedFunction]:
    """What `gradloupe TARGETS --check` finds of each Function."""
    chosen = parse_settings([*targets, "--check", *NO_HURRY], {}, __version__)
    with chdir(folder):
        process = WorkerProcess(Job(chosen.deadline, chosen.targets, chosen.loading, chosen.memory))
        report = event_loop.run(examine_targets(process, (), lambda *_: None, True, {}))
    assert not report.troubles, report.troubles
    return list(report.found)


def copied(each: ExaminedFunction) -> str:
    """The test that its page offers."""
    return pytest_source(each.op, default_address(each.op))


def passed(folder: Path) -> dict[str, bool]:
    """Whether each of the tests in a folder is green."""
    ran = bare_pytest(folder, "-rA", "--tb=no")
    outcomes = re.findall(r"^(PASSED|FAILED|ERROR) test_(\w+)\.py", ran.stdout, re.MULTILINE)
    return {name: outcome == "PASSED" for outcome, name in outcomes}


@pytest.fixture(scope="module", params=["one of each kind", pytest.param("all", marks=pytest.mark.nightly)])
def whole(request: pytest.FixtureRequest) -> bool:
    """Whether all of them are tried, or one of each kind: right, wrong, one that raises, a surrogate."""
    return bool(request.param == "all")


@pytest.fixture(scope="module")
def folder(whole: bool, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One with the Functions that are right and wrong here and there, where their tests are written."""
    folder = tmp_path_factory.mktemp("copied")
    (folder / "functions").mkdir()
    for path in FUNCTIONS.glob("*.py"):
        (folder / "functions" / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "others.py").write_text(OTHERS, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def found(whole: bool, folder: Path) -> list[ExaminedFunction]:
    """The Functions, with the tests of those that can be called."""
    broken = (f"functions/contract_broken.py:{name}" for name in BREACHES[: None if whole else 1])
    mistaken = (f"functions/mistakes.py:{name}" for name in MISTAKES[: None if whole else 1])
    gallery = (
        f"gradloupe.ops.{name}" for name in (dict.fromkeys((*GALLERY, *list(OPS)[::24])) if whole else GALLERY[:1])
    )
    found = examined(folder, "others.py", *mistaken, *broken, *gallery)
    called = [each for each in found if each.curves]
    for each in called:
        (folder / f"test_{each.op['name'].replace('.', '_')}.py").write_text(copied(each), encoding="utf-8")
    return called


def test_a_copied_test_is_green_exactly_where_the_verdict_is(
    whole: bool, folder: Path, found: list[ExaminedFunction]
) -> None:
    verdicts = {each.op["name"].replace(".", "_"): each.checked.ok for each in found}
    assert sum(verdicts.values()) >= (12 if whole else 4)
    assert len(verdicts) - sum(verdicts.values()) >= (12 if whole else 4)
    green = passed(folder)
    assert green.keys() == verdicts.keys()
    assert [name for name in verdicts if green[name] != verdicts[name]] == []


def test_copied_tests_are_as_a_formatter_leaves_them(folder: Path, found: list[ExaminedFunction]) -> None:
    tests = sorted(folder.glob("test_*.py"))
    for command in (("format", "--check"), ("check", "--select", "E4,E5,E7,E9,F,I")):
        ruff = [sys.executable, "-m", "ruff", *command, "--isolated", *tests]
        done = subprocess.run(ruff, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout
    assert max(len(path.read_text(encoding="utf-8").splitlines()) for path in tests) <= 24


def others(found: list[ExaminedFunction]) -> list[ExaminedFunction]:
    return [each for each in found if each.op["group"] == "others.py"]


def judged(found: list[ExaminedFunction]) -> dict[str, tuple[str, str, bool]]:
    return {each.op["title"]: (each.op["recipe"], each.checked.word, each.checked.ok) for each in found}


def test_a_line_pasted_into_the_docstring_is_the_same_call(folder: Path, found: list[ExaminedFunction]) -> None:
    text = OTHERS
    for each in others(found):
        line = f"Gradloupe: {'like ' * each.op['like']}{each.op['recipe']}"
        text = text.replace(f'"""{each.op["doc"]}"""', f'"""{each.op["doc"]}\n\n    {line}\n    """')
    assert text.count("Gradloupe: like ") == len(others(found))
    (folder / "pasted.py").write_text(text, encoding="utf-8")
    pasted = examined(folder, "pasted.py")
    assert judged(pasted) == judged(others(found))
    assert all(each.op["written"] for each in pasted)
    assert copied(pasted[0]).count("gradloupe.check(Softmax)\n") == 1


def test_a_declaration_pasted_behind_its_function_is_the_same_call(folder: Path, found: list[ExaminedFunction]) -> None:
    text = "\n\n".join([OTHERS, *(each.op["block"] for each in others(found))])
    (folder / "declared.py").write_text(text, encoding="utf-8")
    declared = examined(folder, "declared.py")
    assert all(each.op["declared"] for each in declared)
    words = {title: said[1:] for title, said in judged(declared).items()}
    before = {title: said[1:] for title, said in judged(others(found)).items()}
    # An Op says in which shapes and with which values its Function is called, and these two are right so.
    differ = {title for title in before if words[title] != before[title]}
    assert differ <= {"SoftmaxOverRows", "PowerOfTwoAlone"}
