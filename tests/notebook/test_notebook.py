"""In a notebook: the figure is live without any server, the verdict is an object, and the process is left as it was."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import Browser, Page, expect
from support.browser import curves, resized, settles
from support.course_sites import notebook_page
from support.exports import from_disk, words_astray
from support.own_worker import LAST
from support.written_functions import BENT, function_of

import gradloupe
from gradloupe.ops import OPS, Input, Op
from gradloupe.server.report.result import CheckResult


class Cube(torch.autograd.Function):
    """A cube."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return 3 * x**2 * grad_output


class Scaled(torch.autograd.Function):
    """A product whose second gradient is doubled."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor, power: int = 1) -> torch.Tensor:
        ctx.save_for_backward(x, weight)
        ctx.power = power
        return x * weight**power

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
        x, weight = ctx.saved_tensors
        slope = ctx.power * weight ** (ctx.power - 1)
        return grad_output * weight**ctx.power, 2 * grad_output * x * slope, None


QUITS = function_of("def forward(ctx, x):\n    if x.max() > 2:\n        raise SystemExit(3)\n    return x * 1")


def test_what_is_right_and_what_is_wrong_is_said_with_its_worst_point_and_its_line_in_a_terminal_and_in_a_cell(
    capsys: pytest.CaptureFixture[str],
) -> None:
    right = gradloupe.check(Cube)
    assert isinstance(right, CheckResult)
    assert (right.name, right.word, right.ok, right.worst) == ("Cube", "matches", True, None)
    assert (right.recipe, bool(right.findings), capsys.readouterr()) == ("x: float64[7]", True, ("", ""))
    wrong = gradloupe.check(Scaled)
    assert (wrong.word, wrong.ok) == ("differs", False)
    assert [each.word for each in wrong.sweeps] == ["matches", "differs"]
    assert wrong.worst is not None
    assert wrong.worst.analytical == pytest.approx(2 * (wrong.worst.numerical or 0))
    assert wrong.intervals
    assert {each.id for each in wrong.faults} == {"GRADIENT"}
    place = Path(wrong.file).resolve()
    assert place == Path(__file__).resolve()
    written = place.read_text().splitlines()
    assert {written[(each.line or 0) - 1].split()[0] for each in wrong.faults} == {"return"}
    lines = repr(wrong).splitlines()
    assert lines[0] == "Scaled: differs"
    assert max(map(len, lines)) <= 100
    assert any(line.startswith("  called as   x: float64") for line in lines)
    assert "GRADIENT" in repr(wrong)
    assert "<b>Scaled</b>" in wrong._repr_html_()
    assert "<script" not in wrong._repr_html_()


Last = function_of(LAST, "Last")


def test_one_wrong_number_in_another_input_decides_the_word_and_stands_beside_the_figure() -> None:
    found = gradloupe.check(Last)
    assert (found.word, found.ok, found.worst) == ("differs", False, None)
    assert [each.word for each in found.sweeps] == ["matches", "matches"]
    assert "in weight: for weight[6] = " in found.sentence
    assert repr(found).startswith("Last: differs\n")
    assert found.accused is not None
    assert found.accused.element == "weight[6]"
    assert b'<p class="pair-drawn">That is of y by x[' in gradloupe.look(Last).page
    assert b'<p class="pair-drawn">' not in gradloupe.look(Cube).page


def test_the_section_can_be_chosen() -> None:
    found = gradloupe.check(Scaled, x=(0, 2), wrt="weight", power=2, grad_output=-1.0)
    (swept,) = found.sweeps
    assert (swept.wrt, swept.start, swept.stop, swept.word) == ("weight", 0.0, 2.0, "differs")
    assert [each.of for each in gradloupe.check(OPS["softmax"], of="y[0,2]").sweeps] == ["y[0,2]"]
    double = gradloupe.check(Scaled, example_inputs=(torch.ones(2, 3), torch.full((2, 3), 2.0)))
    assert double.recipe == "x: float32[2,3]; weight: float32[2,3]; power = 1"


def test_a_function_of_tensors_and_an_op_are_looked_at_too() -> None:
    assert gradloupe.check(lambda x: Cube.apply(x.sin())).word == "matches"
    found = gradloupe.check(OPS["clamp_with_grad"], grad_output=-1.0)
    assert (found.name, found.word, found.claim) == ("clamp_with_grad", "matches its surrogate", "surrogate")


def test_a_function_that_ends_the_program_does_not_end_it() -> None:
    found = gradloupe.check(QUITS)
    assert not found.ok
    assert found.word in ("failed", "unsolved")


def state() -> tuple[Any, ...]:
    return (
        *(torch.get_default_dtype(), torch.get_num_threads(), torch.is_grad_enabled(), torch.is_anomaly_enabled()),
        *(torch.are_deterministic_algorithms_enabled(), torch.get_rng_state().tolist(), os.getcwd(), list(sys.path)),
        *(np.random.get_state(legacy=False)["state"]["key"].tolist(), np.geterr()),
    )


def test_the_process_is_left_as_it_was_and_a_function_called_in_one_thread() -> None:
    seen, threads = set(), torch.get_num_threads()

    def noted(x: torch.Tensor) -> torch.Tensor:
        seen.add(torch.get_num_threads())
        return 2 * x

    try:
        torch.set_num_threads(2)
        torch.set_default_dtype(torch.float16)
        with torch.no_grad():
            before = state()
            gradloupe.check(Scaled)
            gradloupe.check(noted)
            gradloupe.look(Cube)
            assert state() == before
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_num_threads(threads)
    assert seen == {1}


def test_importing_the_package_loads_nothing() -> None:
    program = "import gradloupe, sys; print(*{'torch', 'numpy', 'asyncio'} & set(sys.modules)); print(dir(gradloupe))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "\n['__version__', 'check', 'fill_tensor', 'keep_values', 'look', 'watch']\n"


def test_a_figure_has_as_many_sliders_as_there_is_room_for_and_is_saved_whole(tmp_path: Path) -> None:
    shown = gradloupe.look(Scaled)
    assert len(shown.page) < 2_500_000
    assert b'data-slider="grad_output"' in shown.page
    assert b'data-slider="power"' in shown.page
    bundle = shown._repr_mimebundle_()
    assert bundle["text/plain"] == repr(shown)
    assert bundle["text/html"].startswith("<iframe srcdoc=")
    path = shown.save(tmp_path / "scaled.html")
    assert b"<!doctype html>" in path.read_bytes()[:200]
    with pytest.raises(OSError, match="folder"):
        shown.save(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["scaled.html"]


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A notebook that defines a Function in a cell and looks at it, executed and exported by nbconvert."""
    folder = tmp_path_factory.mktemp("notebook")
    sources = BENT, "gradloupe.look(Bent, x=(-2, 2))", "gradloupe.check(Bent)", "print(repr(gradloupe.check(Bent)))"
    return folder / notebook_page(folder, *sources)


@pytest.fixture
def notebook(browser: Browser, executed: Path) -> Iterator[Page]:
    """The exported notebook from a disk, without any network; nothing may go wrong in it."""
    with from_disk(browser, executed) as page:
        yield page


@pytest.mark.nightly
def test_an_exported_notebook_draws_the_live_figure_and_shows_the_verdict_and_the_text(notebook: Page) -> None:
    card, outer = notebook.locator("div.gradloupe"), notebook.locator("iframe")
    expect(card).to_contain_text("Bent: differs")
    expect(card).to_contain_text("GRADIENT")
    expect(notebook.locator("pre").last).to_contain_text("Bent: differs")
    assert (outer.get_attribute("sandbox"), outer.get_attribute("height")) == ("allow-scripts", "560")
    frame = outer.content_frame
    expect(frame.locator("html")).to_have_attribute("data-ready", "/ops/Bent?start=-2&stop=2")
    expect(frame.locator("#verdict .word")).to_have_text("differs")
    expect(frame.locator("#verdict .explanation")).to_contain_text("factor 2")
    outer.scroll_into_view_if_needed()
    steep = frame.locator("input[data-slider=steepness]")
    expect(steep).to_be_in_viewport()
    inside = next(each for each in notebook.frames if each is not notebook.main_frame)
    for width in (1280, 390):
        resized(notebook, width, 1000)
        settles(lambda: words_astray(inside), [])
    assert curves(inside)["forward"][1][0] == pytest.approx(4.0)
    steep.press("End")
    expect(frame.locator("html")).not_to_have_attribute("data-ready", "/ops/Bent?start=-2&stop=2")
    assert curves(inside)["forward"][1][0] != pytest.approx(4.0)


def test_a_class_that_its_module_declares_is_checked_as_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    declared = Op(Cube, "A declared cube", "", "", "", (Input("x", domain=(-1.0, 1.0)),))
    assert not gradloupe.check(Cube).declared
    monkeypatch.setattr(sys.modules[__name__], "declared", declared, raising=False)
    checked = gradloupe.check(Cube)
    assert checked.declared
    assert (checked.sweeps[0].start, checked.sweeps[0].stop) == (-1, 1)
    assert not gradloupe.check(Cube, "x: float64[3]").declared


POWER = function_of(
    """
    def forward(ctx, x, k, shift=0.0):
        ctx.save_for_backward(x)
        ctx.k = k
        return x**k + shift
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return ctx.k * x ** (ctx.k - 1) * grad_output, None, None
    """
)


@pytest.mark.parametrize(("value", "written"), [(3, "k = 3"), (np.float64(1.5), "k = 1.5")])
def test_the_recipe_that_is_told_has_the_values_that_were_used(value: Any, written: str) -> None:
    found = gradloupe.check(POWER, k=value)
    assert found.recipe.startswith(f"x: float64[7]; {written}")
    assert found.word == "matches"
    assert f"called as   x: float64[7]; {written}" in repr(found)
    assert "k" not in dict(found.assumed)
    assert gradloupe.check(POWER, found.recipe).sweeps == found.sweeps


def test_values_stand_above_a_recipe_and_are_numbers_of_its_kind() -> None:
    assert gradloupe.check(POWER, "x: float64[3]; k = 0.5", k=2).recipe == "x: float64[3]; k = 2.0"
    assert gradloupe.check(POWER, "x: float64[3]; k = 2", shift=1.5).recipe == "x: float64[3]; k = 2; shift = 1.5"
    found = gradloupe.check(POWER, "x: float64[3]; k = 2", k=3, grad_output=-1.0, x=(0, 1))
    assert (found.recipe, found.sweeps[0].stop) == ("x: float64[3]; k = 3", 1.0)
