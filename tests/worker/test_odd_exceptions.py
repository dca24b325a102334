from collections.abc import Iterator

import pytest
from support.own_server import Own, showing
from support.written_functions import class_source

CLASSES = """import asyncio

import torch


class Odd(BaseException):
    pass


class Meta(type):
    @property
    def __name__(cls):
        raise ValueError("no name")

    def __hash__(cls):
        raise ValueError("no hash")


class Nameless(Exception, metaclass=Meta):
    pass


class Speechless(Exception):
    def __str__(self):
        raise GeneratorExit
"""


def raising(name: str, error: str) -> str:
    """A Function that raises this in forward, and one that does in backward."""
    doubles = f"def forward(ctx, x): return 2 * x\ndef backward(ctx, grad_output):\n    raise {error}"
    raises = f"def forward(ctx, x):\n    raise {error}"
    return f"\n\n{class_source(raises, name + 'Forward')}\n\n{class_source(doubles, name + 'Backward', RECIPE)}"


RECIPE = "Gradloupe: x: float64[]"
# What is raised, and its message.
ERRORS = {
    "GeneratorExit": ("GeneratorExit", "no message"),
    "CancelledError": ('asyncio.CancelledError("not now")', "not now"),
    "Odd": ('Odd("of our own")', "of our own"),
    "Nameless": ('Nameless("of a class without a name")', "of a class without a name"),
    "Speechless": ("Speechless", "no message"),
}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Own]:
    text = CLASSES + "".join(raising(name, error) for name, (error, _) in ERRORS.items())
    with showing(tmp_path_factory.mktemp("odd"), "--deadline", "60", text=text) as server:
        yield server


@pytest.mark.parametrize("kind", ERRORS)
def test_what_is_raised_is_told_as_what_it_is_and_costs_no_worker(own: Own, kind: str) -> None:
    worker = own.door.workers[0]
    failure = own.get(f"/ops/{kind}Backward.json").json()["failure"]
    assert (failure["phase"], failure["kind"], failure["message"]) == ("backward", kind, ERRORS[kind][1])
    assert failure["line"] == 8
    answer = own.get(f"/ops/{kind}Forward.json")  # whatever it is called with
    assert answer.status_code == 422
    assert f"raises {kind}" in answer.json()["detail"]
    assert own.door.workers[0] == worker


@pytest.mark.parametrize("view", ["contract", "jacobian", "descent", "step", "node", "map"])
def test_each_view_tells_what_backward_raises(own: Own, view: str) -> None:
    worker = own.door.workers[0]
    for kind in ("Odd", "CancelledError"):
        answer = own.get(f"/ops/{kind}Backward.json?view={view}")
        assert answer.status_code == 200
        assert kind in answer.text
    assert own.door.workers[0] == worker
