import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from functions import user_written
from support.checked_files import checked_functions, green
from support.command_line import bare_pytest
from support.written_functions import class_source, formula

from gradloupe.ops import OPS
from gradloupe.server.documents.pytest_file import pytest_source
from gradloupe.server.report.result import ExaminedFunction
from gradloupe.server.url.address import default_address

SOFTMAX = formula("x", "x.softmax(-1)", "y * (g - (g * y).sum(-1, keepdim=True))", saved="y")
POWER = formula("x, p=2", "x**p", "ctx.p * x ** (ctx.p - 1) * g, None", saved="x", kept="p")
WEIGHTED = formula("x, weight", "x * weight", "g * weight, g * x")
# A softmax over the wrong dimension, a power that is right for its default, and what is None in backward; each with a
# right one beside it. Neither curves nor gradcheck at the call that is shown find the first two.
OTHERS = {
    "Softmax": SOFTMAX,
    "SoftmaxOverRows": SOFTMAX.replace("sum(-1", "sum(0"),
    "Power": POWER,
    "PowerOfTwoAlone": POWER.replace("ctx.p * x ** (ctx.p - 1)", "2 * x"),
    "Weighted": WEIGHTED,
    "WeightForgotten": WEIGHTED.replace("g * weight, g * x", "g * weight, None"),
    "InSinglePrecision": formula("x", "x.float().sin().to(x.dtype)", "g * x.cos()"),
    "Raises": """
        def forward(ctx, x):
            return x.exp()
        def backward(ctx, g):
            raise RuntimeError("not yet")
    """,
    # Words, switches and indices among the arguments.
    "Constants": """
        def forward(ctx, x, index, mask, mode="mean", scale=0.5, keep=True):
            ctx.save_for_backward(index, mask)
            ctx.shape, ctx.scale = x.shape, scale
            return scale * x[index] * mask[index]
        def backward(ctx, g):
            index, mask = ctx.saved_tensors
            grad = g.new_zeros(ctx.shape).index_add(0, index, ctx.scale * g * mask[index])
            return grad, None, None, None, None, None
    """,
}
TEXT = "\n\n".join(["import torch\n", *(class_source(text, name, f"{name}.") for name, text in OTHERS.items())])
# Wrong, one that raises, a right one with constants; with them a surrogate.
SAMPLE = ("PowerOfTwoAlone", "Raises", "Constants")
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


def copied(function: ExaminedFunction) -> str:
    """The test that its page offers."""
    return pytest_source(function.op, default_address(function.op))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One with the Functions that are right and wrong here and there."""
    folder = tmp_path_factory.mktemp("copied")
    shutil.copytree(Path(user_written.__file__).parent, folder / "functions", ignore=lambda *_: ["__pycache__"])
    (folder / "others.py").write_text(TEXT, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def sample(folder: Path) -> list[ExaminedFunction]:
    return checked_functions(folder, *(f"others.py:{name}" for name in SAMPLE), "gradloupe.ops.clamp_with_grad")


def test_a_copied_test_is_green_where_the_verdict_is(
    folder: Path, sample: list[ExaminedFunction], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(folder)
    verdicts = {each.op["title"]: each.checked.ok for each in sample}
    assert list(verdicts.values()) == [False, False, True, True]
    assert {each.op["title"]: green(copied(each)) for each in sample} == verdicts


@pytest.mark.nightly
def test_each_copied_test_is_green_exactly_where_the_verdict_is_and_as_a_formatter_leaves_it(folder: Path) -> None:
    functions = [f"functions/contract_broken.py:{name}" for name in BREACHES]
    functions += [f"functions/mistakes.py:{name}" for name in MISTAKES]
    gallery = [f"gradloupe.ops.{name}" for name in dict.fromkeys((*GALLERY, *list(OPS)[::24]))]
    found = [each for each in checked_functions(folder, "others.py", *functions, *gallery) if each.curves]
    tests = {folder / f"test_{each.op['name'].replace('.', '_')}.py": each for each in found}
    for path, function in tests.items():
        path.write_text(copied(function), encoding="utf-8")
    ran = bare_pytest(folder, "-rA", "--tb=no")
    ended = set(re.findall(r"^(?:PASSED|FAILED|ERROR) (test_\w+\.py)", ran.stdout, re.MULTILINE))
    passed = set(re.findall(r"^PASSED (test_\w+\.py)", ran.stdout, re.MULTILINE))
    assert ended == {path.name for path in tests}
    assert passed == {path.name for path, function in tests.items() if function.checked.ok}
    assert 12 <= len(passed) <= len(tests) - 12
    for command in (("format", "--check"), ("check", "--select", "E4,E5,E7,E9,F,I")):
        ruff = [sys.executable, "-m", "ruff", *command, "--isolated", *tests]
        done = subprocess.run(ruff, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout
    assert max(len(path.read_text(encoding="utf-8").splitlines()) for path in tests) <= 24


def judged(found: list[ExaminedFunction]) -> dict[str, tuple[str, str, bool]]:
    own = [each for each in found if each.op["group"].endswith(".py")]
    return {each.op["title"]: (each.op["recipe"], each.checked.word, each.checked.ok) for each in own}


def test_a_line_pasted_into_the_docstring_is_the_same_call(folder: Path, sample: list[ExaminedFunction]) -> None:
    text = TEXT
    for each in sample[:-1]:
        line = f"Gradloupe: {'like ' * each.op['like']}{each.op['recipe']}"
        text = text.replace(f'"""{each.op["doc"]}"""', f'"""{each.op["doc"]}\n\n    {line}\n    """')
    assert text.count("Gradloupe: like ") == len(SAMPLE)
    (folder / "pasted.py").write_text(text, encoding="utf-8")
    pasted = checked_functions(folder, *(f"pasted.py:{name}" for name in SAMPLE))
    assert judged(pasted) == judged(sample)
    assert all(each.op["written"] for each in pasted)
    assert copied(pasted[0]).count("gradloupe.check(PowerOfTwoAlone)\n") == 1


@pytest.mark.nightly
def test_a_declaration_pasted_behind_its_function_is_the_same_call(
    folder: Path, sample: list[ExaminedFunction]
) -> None:
    (folder / "declared.py").write_text("\n\n".join([TEXT, *(each.op["block"] for each in sample[:-1])]))
    declared = checked_functions(folder, *(f"declared.py:{name}" for name in SAMPLE))
    assert all(each.op["declared"] for each in declared)
    words, before = judged(declared), judged(sample)
    # An Op says in which shapes and with which values its Function is called, and these two are right so.
    differ = {title for title in before if words[title][1:] != before[title][1:]}
    assert differ <= {"SoftmaxOverRows", "PowerOfTwoAlone"}
