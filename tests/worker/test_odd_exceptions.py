"""Whatever a Function raises is a result, with the name of its class, its message and its line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.own_server import Own, showing

CLASSES = """import asyncio

import torch
from torch.autograd import Function


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
RAISES = """

class {name}Forward(Function):
    @staticmethod
    def forward(ctx, x):
        raise {error}

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


class {name}Backward(Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad_output):
        raise {error}
"""
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
    text = CLASSES + "".join(RAISES.format(name=name, error=error) for name, (error, _) in ERRORS.items())
    with showing(tmp_path_factory.mktemp("odd"), text=text) as server:
        yield server


@pytest.mark.parametrize("kind", ERRORS)
def test_what_is_raised_is_told_as_what_it_is_and_costs_no_worker(own: Own, kind: str) -> None:
    worker = own.door.worker
    failure = own.get(f"/ops/{kind}Backward.json").json()["failure"]
    assert (failure["phase"], failure["kind"], failure["message"]) == ("backward", kind, ERRORS[kind][1])
    assert failure["line"] == 8
    answer = own.get(f"/ops/{kind}Forward.json")  # whatever it is called with
    assert answer.status_code == 422
    assert f"raises {kind}" in answer.json()["detail"]
    assert own.door.worker == worker


@pytest.mark.parametrize("view", ["contract", "jacobian", "descent", "step", "node", "map"])
def test_each_view_tells_what_backward_raises(own: Own, view: str) -> None:
    worker = own.door.worker
    for kind in ("Odd", "CancelledError"):
        answer = own.get(f"/ops/{kind}Backward.json?view={view}")
        assert answer.status_code == 200
        assert kind in answer.text
    assert own.door.worker == worker
