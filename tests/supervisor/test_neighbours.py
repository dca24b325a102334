"""What one Function does to the process that it shares with others reaches none of them."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
from support.own_server import Own, showing
from support.sampling import sampled
from support.written_functions import class_source, formula

SINE = formula("x", "torch.sin(x)", "g * torch.cos(x)")
NOISY = """
    def forward(ctx, x):
        noise = torch.rand(x.shape)
        warnings.warn("noise")
        ctx.save_for_backward(noise)
        return x * noise
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0]
"""
IMPORTS = "import sys\nimport warnings\n\nimport numpy as np\nimport torch"
NEIGHBOURS = "\n\n\n".join((IMPORTS, class_source(SINE, "Sine"), class_source(NOISY, "Noisy")))
SPOILER = """
    def forward(ctx, x):
        {}
        ctx.save_for_backward(x)
        return x * x
    def backward(ctx, grad_output):
        {}
        return 2 * ctx.saved_tensors[0] * grad_output
"""
# What is done for all, and a word of the note on it; without one there is none.
DEEDS = {
    "Dtype": ("torch.set_default_dtype(torch.float16)", "default dtype to float16"),
    "Anomalies": ("torch.autograd.set_detect_anomaly(True)", "detection of anomalies on"),
    "Flush": ("torch.set_flush_denormal(True)", "flushing of tiny numbers to 0 on"),
    "Deterministic": ("torch.use_deterministic_algorithms(True)", "deterministic algorithms on"),
    "Errors": ('np.seterr(all="raise")', ""),
    "Warnings": ('warnings.simplefilter("error")', ""),
    "Threads": ("torch.set_num_threads(3)", ""),
    "Recursion": ("sys.setrecursionlimit(150)", "recursion limit to 150"),
    "Path": ("sys.path.clear()", "takes folders off sys.path"),
    "Sine_": ("torch.sin = torch.tan", "replaces torch.sin"),
    "Method": ("torch.Tensor.double = torch.Tensor.float", "replaces torch.Tensor.double"),
}
# What leaves the Function itself without a result.
FATAL = {
    "Inference": "global MODE; MODE = torch.inference_mode(); MODE.__enter__()",
    "Numpy": "torch.Tensor.numpy = None",
    "Device": 'torch.set_default_device("meta")',
}
# What nobody puts back, and only the view descent needs.
FAULT = {"Norm": "np.linalg.norm = None"}
QUESTIONS = ("Sine.json?", "Sine.json?grad_output=1e-320&", "Sine.json?order=2&", "Noisy.json?")


def spoilers() -> str:
    """Each does its deed in forward; of what is undone every other one in backward."""
    deeds = {name: deed for name, (deed, _) in DEEDS.items()} | FATAL | FAULT
    later = set(islice(DEEDS, 0, None, 2))
    pairs = {name: ("pass", deed) if name in later else (deed, "pass") for name, deed in deeds.items()}
    return "".join(f"\n\n{class_source(SPOILER.format(*pair), name)}" for name, pair in pairs.items())


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Own]:
    """The server on which nobody does anything."""
    with showing(tmp_path_factory.mktemp("alone"), text=NEIGHBOURS) as server:
        yield server


@pytest.fixture(scope="module")
def spoiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Own]:
    with showing(tmp_path_factory.mktemp("spoiled"), text=NEIGHBOURS + spoilers()) as server:
        yield server


def found(server: Own, address: str) -> dict[str, Any]:
    answer = server.get(f"/ops/{address}")
    assert answer.status_code == 200
    return {key: value for key, value in answer.json().items() if key not in ("digest", "source")}


def assert_spared(alone: Own, spoiled: Own, count: int) -> None:
    """The neighbours have the answers that they have where they are alone, which nobody has asked for yet.

    Two of the questions in turn.
    """
    for question in QUESTIONS[count % 2 :: 2]:
        assert found(spoiled, f"{question}count={count}") == found(alone, f"{question}count={count}")


@pytest.mark.parametrize("name", sampled(DEEDS, [*DEEDS][::2]))
def test_what_a_function_changes_for_all_is_undone_and_said(alone, spoiled, name):
    answer = found(spoiled, f"{name}.json")
    assert answer["verdict"]["word"] == "matches"
    word = DEEDS[name][1]
    assert ["for other Functions" in each and word in each for each in answer["notes"]] == [True] * bool(word)
    assert_spared(alone, spoiled, 101 + list(DEEDS).index(name))


@pytest.mark.parametrize("name", FATAL)
def test_what_keeps_a_function_from_being_looked_at_is_said_of_it_alone(alone, spoiled, name):
    answer = spoiled.get(f"/ops/{name}.json")
    assert name in (answer.json()["verdict"]["sentence"] if answer.status_code == 200 else answer.json()["detail"])
    assert answer.status_code in (200, 422)
    assert_spared(alone, spoiled, 201 + list(FATAL).index(name))


def test_a_worker_that_had_a_fault_is_replaced_and_asked_once_more(alone, spoiled):
    assert found(spoiled, "Norm.json")["verdict"]["word"] == "matches"
    assert found(spoiled, "Sine.json?view=descent") == found(alone, "Sine.json?view=descent")
    workers = spoiled.workers()
    assert spoiled.get("/ops/Norm.json?view=descent").status_code == 500
    assert_spared(alone, spoiled, 301)
    assert spoiled.workers() != workers


INFERENCE = "torch.inference_mode().__enter__()", "MODE = torch.inference_mode()\nMODE.__enter__()"


@pytest.mark.parametrize("text", sampled(INFERENCE, INFERENCE[1:]))
def test_a_file_that_enters_inference_mode_is_measured_outside_of_it(alone, tmp_path, text):
    with showing(tmp_path, text=NEIGHBOURS.replace("\n\n\n", f"\n\n{text}\n\n\n", 1)) as server:
        for question in QUESTIONS:
            answer, expected = found(server, f"{question}count=101"), found(alone, f"{question}count=101")
            notes = answer.pop("notes")
            assert answer == {name: value for name, value in expected.items() if name != "notes"}
            assert [each.partition(" when")[0] for each in notes] in ([], ["my_ops.py switches inference mode on"])
            assert bool(notes) == ("MODE" in text)
