"""One verdict through all doors: command line, check, look, the copied test, the data of the page and its contract."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.checked_files import checked_functions, green
from support.own_server import Own, showing
from support.sampling import sampled
from support.written_functions import class_source

import gradloupe
from gradloupe.server.documents.pytest_file import pytest_source
from gradloupe.server.url.parse import parse_query, read_address
from gradloupe.server.worker.answer import device_summary

SWISH = """
    def forward(ctx, x, beta=1.0):
        ctx.save_for_backward(x)
        ctx.beta = beta
        return x * torch.sigmoid(beta * x)
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(ctx.beta * x)
        return g * (s + ctx.beta * x * s * (1 - s)), None
"""
EXP = """
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y * 1
"""
SOFTMAX = """
    def forward(ctx, x):
        y = x.softmax(-1)
        ctx.save_for_backward(y)
        return y
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return y * (g - (g * y).sum(-1, keepdim=True))
"""
# The first two wrong ones are right in the call that is shown, and wrong in another.
FUNCTIONS = {
    "Swish": (SWISH, True),
    "SwishOfBetaOne": (SWISH.replace("s + ctx.beta * x", "s + x"), False),
    "SoftmaxOverRows": (SOFTMAX.replace("sum(-1", "sum(0"), False),
    "ExpInTenDigits": (EXP.replace("y * 1", "y * (1 + 1e-10)"), True),
    "ExpInSixDigits": (EXP.replace("y * 1", "y * (1 + 1e-6)"), False),
}
# What an address allows: a tenth excuses a millionth, and a trillionth does not excuse a ten-billionth.
ALLOWED = {("ExpInSixDigits", "rtol", 0.1): "matches", ("ExpInTenDigits", "rtol", 1e-12): "differs"}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Own]:
    folder = tmp_path_factory.mktemp("one_verdict")
    text = "\n\n".join(["import torch\n", *(class_source(body, name) for name, (body, _) in FUNCTIONS.items())])
    with showing(folder, text=text) as server, pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.chdir(folder)
        yield server


@pytest.fixture(scope="module")
def reports(own: Own) -> dict[str, Any]:
    """What ``--check`` finds, by name."""
    return {each.op["name"]: each for each in checked_functions(Path(), "my_ops.py")}


@pytest.mark.parametrize("name", sampled(FUNCTIONS, ("Swish", "SwishOfBetaOne", "SoftmaxOverRows")))
def test_a_function_has_one_verdict_through_all_doors(own: Own, reports: dict[str, Any], name: str) -> None:
    function, found = getattr(importlib.import_module("my_ops"), name), reports[name]
    page = own.get(f"/ops/{name}.json").json()["verdict"]["word"] == "matches"
    elsewhere = own.get(f"/ops/{name}.page.json?view=contract").json()["wrong"]
    query = read_address(found.op, device_summary(), parse_query(""))
    verdicts = (
        found.checked.ok,
        gradloupe.check(function).ok,
        gradloupe.look(function).checked.ok,
        green(pytest_source(found.op, query)),
        page and not elsewhere,  # what the page says beside its verdict
    )
    assert verdicts == (FUNCTIONS[name][1],) * 5


@pytest.mark.parametrize("name", ["ExpInTenDigits", "ExpInSixDigits"])
def test_what_an_address_allows_holds_through_all_doors(own: Own, reports: dict[str, Any], name: str) -> None:
    option, value, word = next((at[1], at[2], word) for at, word in ALLOWED.items() if at[0] == name)
    function, query = getattr(importlib.import_module("my_ops"), name), f"{option}={value}"
    op = reports[name].op
    answer = own.get(f"/ops/{name}.json?{query}").json()
    area = own.get(f"/ops/{name}.json?{query}&view=area").json()
    assert answer["verdict"]["word"] == word
    assert gradloupe.check(function, **{option: value}).word == word
    assert gradloupe.look(function, **{option: value}).checked.word == word
    assert green(pytest_source(op, read_address(op, device_summary(), parse_query(query)))) == (word == "matches")
    assert bool(area["intervals"]) == (word == "differs")
