"""An edited Function gets the verdict that it would get in this process, and cannot write it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from psutil import STATUS_STOPPED, Process
from support import event_loop
from support.edits import BACKWARD_LINE, FORWARD_LINE, answer_of_text, edited, engine_of_text, first_answer
from support.engines import engine_of, question_of
from support.servers import HERE
from support.waiting import until

from gradloupe.ops import OPS
from gradloupe.server.protocol import BadQuestion, EngineBroken, Unsolved

# What is told of tensors that are saved for nothing, which only ctx knows; and what draws random numbers in backward.
SAVED_FOR_NOTHING, DRAWN = {"incorrect_clipped_relu"}, {"noisy_backward"}
SAMPLE = (
    "clamp_with_grad",
    "input_changed_in_place",
    "polar_to_cartesian",
    "softmax",
    "swapped_gradients",
    "stochastic_round",
)


def sampled(names: Any) -> list[Any]:
    return [pytest.param(each, marks=[] if each in SAMPLE else [pytest.mark.nightly]) for each in names]


@pytest.mark.parametrize("name", sampled(sorted(set(OPS) - DRAWN)))
def test_the_text_of_an_op_is_judged_as_the_op(name: str) -> None:
    async def both() -> tuple[Any, Any]:
        async with (
            engine_of() as gallery,
            engine_of_text((HERE / "ops" / f"{name}.py").read_text(), deadline=60.0) as edit,
        ):
            return await gallery.answer(await question_of(gallery, name)), await first_answer(edit)

    one, other = event_loop.run(both())
    mine, yours = one.header["verdict"], other.header["verdict"]
    if name in SAVED_FOR_NOTHING:
        assert mine.pop("explanation")["kind"] == yours.pop("explanation")["kind"]
    assert mine == yours
    assert {name: bytes(column) for name, column in one.columns.items()} == {
        name: bytes(column) for name, column in other.columns.items()
    }
    for part in ("linearity", "wide", "area", "marks", "failure"):
        assert one.header[part] == other.header[part]


def test_a_backward_that_draws_is_told_to_be_random() -> None:
    found = answer_of_text((HERE / "ops" / "noisy_backward.py").read_text()).header["verdict"]
    assert found["word"] == "differs"
    assert found["explanation"]["kind"] == "random"


@pytest.mark.parametrize(
    ("backward", "word", "kind"),
    [
        ("return grad_output * ctx.k * x ** (ctx.k - 1), None", "matches", None),
        ("return grad_output * x ** (ctx.k - 1), None", "differs", "constant factor"),
        ("return ctx.k * x ** (ctx.k - 1), None", "differs", "grad_output forgotten"),
    ],
)
def test_an_edit_is_judged_and_explained(backward: str, word: str, kind: str | None) -> None:
    found = answer_of_text(edited(backward=backward)).header["verdict"]
    assert found["word"] == word
    assert (found["explanation"] or {}).get("kind") == kind


@pytest.mark.parametrize(
    ("forward", "backward", "kind", "line"),
    [
        ("return x**k if x.max() < 50 else x.oops()", "return grad_output, None", "AttributeError", FORWARD_LINE),
        ("return x**k", "raise KeyError('w')", "KeyError", BACKWARD_LINE),
        ("return x**k", "while x.max() > 50: pass\n        return grad_output, None", "TimedOut", BACKWARD_LINE),
        (
            "return x**k",
            "import os; x.max() > 50 and os._exit(3)\n        return grad_output, None",
            "ProcessEnded",
            None,
        ),
    ],
)
def test_what_fails_is_told_with_its_line(forward: str, backward: str, kind: str, line: int | None) -> None:
    failure = answer_of_text(edited(forward, backward), start=40.0, stop=80.0).header["failure"]
    assert failure["kind"] == kind
    assert failure["line"] == (line and line - 3)  # in the source of the class


def broken(text: str) -> Any:
    """The load error of a text."""

    async def asked() -> Any:
        async with engine_of_text(text) as engine:
            with pytest.raises(EngineBroken):
                await engine.wait_ready()
            return engine.trouble

    return event_loop.run(asked())


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("import torch\nclass A(\n", 2, "cannot be read as Python"),
        ("import torch\nx = 1 / 0\n", 2, "raised ZeroDivisionError: division by zero"),
        ("import torch\nimport scipy\n", 2, "imports scipy, which is not there for edited code"),
        ("x = 1\nwhile True:\n    x = 2\n", None, "did not return within 2 s"),
        ("x = 1\n", None, "The text defines no torch.autograd.Function"),
        ("(" * 9999, 1, "cannot be read as Python"),
        ("\0", 1, "null byte"),
    ],
)
def test_a_text_that_cannot_be_loaded_is_told_with_its_line(text: str, line: int | None, words: str) -> None:
    trouble = broken(text)
    assert words in trouble["sentence"]
    assert line is None or trouble["line"] == line


def test_a_second_derivative_is_taken_in_the_guest() -> None:
    assert answer_of_text(edited(), order=2).header["verdict"]["word"] == "matches"
    once = "from torch.autograd.function import once_differentiable\n" + edited().replace(
        "    @staticmethod\n    def backward", "    @staticmethod\n    @once_differentiable\n    def backward"
    )
    assert answer_of_text(once, order=2).header["verdict"]["word"] == "unsupported"


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("surrogate: x", "matches its surrogate"),
        ("surrogate: 2 * x", "differs"),
        ("surrogate gradient: torch.ones_like(x)", "matches its surrogate"),
        ("surrogate: __import__('os').listdir('/') and x", "failed"),
    ],
)
def test_what_an_edit_claims_in_its_docstring_is_read_in_the_guest(line: str, word: str) -> None:
    text = edited("return torch.round(x)", "return grad_output, None")
    found = answer_of_text(text.replace('k = 2.0"', f'k = 2.0\n    Gradloupe {line}\n    "', 1)).header
    assert (found["verdict"]["word"], found["claim"]) == (word, "surrogate")


def test_a_claim_that_is_no_expression_is_an_error_of_the_text() -> None:
    text = edited().replace('k = 2.0"', 'k = 2.0\n    Gradloupe surrogate: x +\n    "', 1)
    assert "“Gradloupe surrogate: x +” of Edited is no expression" in broken(text)["sentence"]


def test_views_that_look_into_the_process_of_a_function_say_that_they_cannot() -> None:
    with pytest.raises(BadQuestion, match="view: contract is unsupported for edited code"):
        answer_of_text(edited(), view="contract")


def test_a_call_that_always_fails_is_told_with_what_was_tried() -> None:
    with pytest.raises(
        Unsolved, match=r"forward raises ValueError: no \(edit.py, line 11\), whatever it is called with"
    ):
        answer_of_text(edited("raise ValueError('no')"))


# ruff: noqa: E501 what is forged stands beside its name
FORGERIES = {
    "patched torch": "torch.allclose = torch.equal = torch.Tensor.__eq__ = lambda *_, **__: True",
    "patched numpy": "import numpy\nnumpy.abs = numpy.isfinite = lambda x, *_: x * 0",
    "patched time": "import time\ntime.monotonic = time.time = lambda: 0.0",
    "patched gc": "import gc\ngc.get_objects = lambda: []\ngc.disable()",
    "patched modules": "import sys\nfor name in list(sys.modules):\n    if 'numerics' in name:\n        del sys.modules[name]",
    "patched judge": "from gradloupe.server.numerics.verdict import verdict\nverdict.judge = None\nverdict.Verdict.word = 'matches'",
    "patched wire": "from gradloupe.server.sandbox import stand_in, wire\nwire.BadReply = stand_in.StandIn = None",
    "patched answer": "from gradloupe.server.views import VIEW_FUNCTIONS\nVIEW_FUNCTIONS.clear()",
    "poisoned caches": "from gradloupe.server.runtime import remembered, batching\nbatching._shuffle.cache_clear()\nbatching._equal = lambda *_: True",
    "patched builtins": "import builtins\nbuiltins.abs = builtins.max = lambda *_, **__: 0",
    "a tensor that lies": "torch.Tensor.__sub__ = lambda a, b: a * 0",
    "another default": "torch.set_default_dtype(torch.float16)\ntorch.set_grad_enabled(False)\ntorch.manual_seed(1)",
    "a patched engine": "torch.autograd.Function.apply = classmethod(lambda *_: None)",
}


def word(text: str) -> str:
    """What is said of a text; without its ``apply`` a Function returns nothing that could be looked at."""
    try:
        return str(answer_of_text(text).header["verdict"]["word"])
    except Unsolved:
        return "unsolved"


@pytest.mark.parametrize("name", sampled(FORGERIES))
def test_code_that_alters_the_judge_alters_its_own_copy(name: str) -> None:
    wrong = edited(backward="return grad_output * x, None")
    forged = wrong.replace("import torch\n", f"import torch\n{FORGERIES[name]}\n", 1)
    assert word(forged) in (("unsolved",) if name == "a patched engine" else ("differs", "failed"))
    assert word(wrong) == "differs"


def test_an_answer_that_is_no_answer_is_a_failure_and_the_worker_lives_on() -> None:
    async def asked() -> AsyncIterator[Any]:
        noise = edited("import os; x.max() > 50 and os.write(200, b'z' * 99)\n        return x**k")
        async with engine_of_text(noise, deadline=60.0) as engine:
            first = await first_answer(engine, start=40.0, stop=80.0)
            worker = engine.worker
            again = await first_answer(engine)
            return first.header["failure"]["kind"], again.header["verdict"]["word"], worker == engine.worker

    assert event_loop.run(asked()) == ("BadReply", "matches", True)


def test_an_edit_finds_nothing_of_the_environment_of_the_server(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TELLTALE_KEY", "a secret of the operator")
    (tmp_path / "my_ops.py").write_text(edited())
    looks = (
        "import ctypes, os\n"
        "block = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), 'environ')\n"
        "found, place = [*os.environ], 0\n"
        "while block and block[place]:\n"
        "    found.append(block[place].decode())\n"
        "    place += 1\n"
        "raise ValueError('found ' + ' '.join(found))\n"
    )

    async def neighbour() -> None:
        async with engine_of(tmp_path / "my_ops.py") as engine:
            await engine.wait_ready()

    event_loop.run(neighbour())  # whose worker has the environment
    said = broken(looks)["sentence"]
    assert "found" in said
    assert "TELLTALE" not in said
    assert "GRADLOUPE" not in said


def test_between_two_questions_edited_code_uses_no_processor() -> None:
    async def asked() -> None:
        async with engine_of_text(edited(), deadline=60.0) as engine:
            await first_answer(engine)
            (guest,) = Process(engine.worker).children()
            assert until(lambda: guest.status() == STATUS_STOPPED)

    event_loop.run(asked())
