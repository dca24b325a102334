"""An edited Function gets the verdict that it would get in this process, and cannot write it."""

import asyncio
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
from support.written_functions import class_source

from gradloupe.ops import OPS
from gradloupe.server.protocol.errors import BadQuestion, EngineBroken, Unsolved
from gradloupe.server.supervisor.edits import EditLimits, Edits

# What is told of tensors that are saved for nothing, which only ctx knows; and what draws random numbers in backward.
SAVED_FOR_NOTHING, DRAWN = {"incorrect_clipped_relu"}, {"noisy_backward"}
ENDLESS = "def forward(ctx, {}):\n    while True: pass\ndef backward(ctx, g): return g, None"
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
    failure = answer_of_text(edited(forward, backward), start=55.0, stop=80.0).header["failure"]
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


@pytest.mark.parametrize("given", ["x", "x, k=2"])
def test_what_never_comes_back_is_not_the_fault_of_its_call_unless_a_number_is_given(given: str) -> None:
    async def asked() -> Unsolved:
        async with engine_of_text("import torch\n" + class_source(ENDLESS.format(given), "A")) as engine:
            await engine.wait_ready()
            with pytest.raises(Unsolved) as refused:
                await engine.op("A")
            return refused.value

    refused = event_loop.run(asked())
    assert str(refused).startswith("A does not come to an end: called with `x: float64[7]")
    assert ", forward did not return within 2 s; last line: " in str(refused)
    assert refused.told["sayable"] is ("k" in given)
    assert str(refused).endswith("; say how it is called instead.") is ("k" in given)


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
    "a patched judge of the guest": "from gradloupe.server.sandbox import guest\nguest.Guest._written = guest._positions = lambda *_: ()",
    "a patched tensor": "torch.tensor = torch.frombuffer = torch.as_tensor = lambda *_, **__: torch.zeros(())",
    "a patched repr of numbers": "import json.encoder\njson.encoder.FLOAT_REPR = float.__repr__\njson.encoder.c_make_encoder = None",
    "a class of tensors that lies": "class Lie(torch.Tensor):\n    @classmethod\n    def __torch_function__(cls, function, types, given=(), named=None):\n        return super().__torch_function__(function, types, given, named or {})\n    __sub__ = __rsub__ = lambda a, b: a * 0\n    allclose = equal = lambda *_: True\ntorch.ones_like = lambda x: x.as_subclass(Lie)",
    "a class that is called otherwise": "Function, torch.autograd.Function = torch.autograd.Function, type('Function', (torch.autograd.Function,), {'__module__': 'torch.autograd.function'})",
    "another environment": "import os\nos.environ |= {'PYTHONPATH': '/', 'LD_PRELOAD': '/x', 'GRADLOUPE_DEADLINE': '9', 'OMP_NUM_THREADS': '9'}",
    "what runs at the end": "import atexit, weakref\natexit.register(print)\nweakref.finalize(torch, print)",
    "a hook on every module": "import sys\nsys.settrace(lambda *_: None)\nsys.setprofile(lambda *_: None)\nsys.addaudithook(lambda *_: None)",
    "a collector with hooks": "import gc\ngc.callbacks.append(lambda *_: torch.manual_seed(1))\ngc.set_threshold(1)",
    "tampered caches of Python": "import functools, linecache\nlinecache.cache.clear()\nlinecache.getlines = lambda *_: ['return grad_output * ctx.k * x ** (ctx.k - 1), None']",
    "hooks on tensors": "import torch.utils.hooks\ntorch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x * 0).__enter__()",
    "a mode of torch": "from torch.overrides import TorchFunctionMode\nclass Mode(TorchFunctionMode):\n    def __torch_function__(self, function, types, given=(), named=None):\n        return function(*given, **(named or {}))\nMode().__enter__()",
    "a patched engine": "torch.autograd.Function.apply = classmethod(lambda *_: None)",
}


def word(text: str) -> str:
    """What is said of a text; without its ``apply`` a Function returns nothing that could be looked at."""
    try:
        return str(answer_of_text(text).header["verdict"]["word"])
    except Unsolved:
        return "unsolved"
    except EngineBroken:
        return "broken"


@pytest.mark.parametrize("name", sampled(FORGERIES))
def test_code_that_alters_the_judge_alters_its_own_copy(name: str) -> None:
    wrong = edited(backward="return grad_output * x, None")
    forged = wrong.replace("import torch\n", f"import torch\n{FORGERIES[name]}\n", 1)
    assert word(forged) in ("differs", "failed", "unsolved", "broken")
    assert word(wrong) == "differs"


# What is beside the others, and does its worst: to its worker, its neighbours, the machine, and the answers of all.
NEIGHBOURS = {
    "kills": "import os\nfor pid in (os.getppid(), 0, -1):\n    try: os.kill(pid, 9)\n    except OSError: pass",
    "forges": "import os, struct\nos.write(200, struct.pack('!II', 2, 0) + b'{}')\nos.write(201, b'x' * 9999)",
    "fills": "kept = []\nwhile True: kept.append(bytearray(2**20))",
    "loops": "while True: pass",
    "dies": "import ctypes\nctypes.string_at(0)",
    "closes": "import os\nos.close(200)\nwhile True: pass",
    "touches": "import gc\nfor _ in range(9):\n    kept = [[each] for each in gc.get_objects()]",
}


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[pytest.mark.nightly] * (each != "kills")) for each in NEIGHBOURS]
)
def test_whatever_others_do_the_answer_to_an_edit_is_the_same(name: str) -> None:
    async def asked(edits: Edits, text: str) -> Any:
        async with edits.engine(text, text[-3:]) as engine:
            return await first_answer(engine)

    async def all_of_them() -> tuple[Any, Any]:
        edits = Edits(EditLimits(at_once=4, deadline=30.0))
        try:
            alone = await asked(edits, edited())
            bad = [asked(edits, f"{NEIGHBOURS[name]}\n{edited()}\n# {number}") for number in range(4)]
            good = [asked(edits, f"{edited()}\n# {number}") for number in range(2)]
            _, *together = await asyncio.gather(asyncio.gather(*bad, return_exceptions=True), *good)
            return alone, together
        finally:
            await edits.close()

    alone, together = event_loop.run(all_of_them())
    for each in together:
        assert each.header["verdict"] == alone.header["verdict"]
        assert {key: bytes(column) for key, column in each.columns.items()} == {
            key: bytes(column) for key, column in alone.columns.items()
        }


def test_an_answer_that_is_no_answer_is_a_failure_and_the_worker_lives_on() -> None:
    async def asked() -> AsyncIterator[Any]:
        noise = edited("import os; x.max() > 50 and os.write(200, b'z' * 99)\n        return x**k")
        async with engine_of_text(noise, deadline=60.0) as engine:
            first = await first_answer(engine, start=40.0, stop=80.0)
            worker = engine.workers[0]
            again = await first_answer(engine)
            return first.header["failure"]["kind"], again.header["verdict"]["word"], worker == engine.workers[0]

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
            (guest,) = Process(engine.workers[0]).children()
            assert until(lambda: guest.status() == STATUS_STOPPED)

    event_loop.run(asked())
