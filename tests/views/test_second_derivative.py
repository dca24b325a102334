"""``order=2`` in an address: columns, verdict, views and picture of what backward returns and its derivative."""

import re
from typing import Any

import pytest
from support import http
from support.sampling import sampled

from gradloupe.server.protocol.views import VIEW_NAMES


def got(server: str, address: str) -> dict[str, Any]:
    answer = http.get(server + address)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_the_first_derivative_goes_without_saying_and_there_is_no_third(server: str) -> None:
    said = got(server, "/ops/sinh.json?order=1")
    assert (said["address"], said["order"], said["gradgradcheck"]) == ("/ops/sinh", 1, None)
    said = got(server, "/ops/sinh.json?order=2")
    assert (said["address"], said["order"], said["of"], said["wrt"]) == ("/ops/sinh?order=2", 2, "y", "x")
    assert said["gradgradcheck"]["passed"] is True
    for order in ("0", "3", "second", "", "2.0"):
        refused = http.get(f"{server}/ops/sinh.json?order={order}")
        assert refused.status_code == 422
        assert refused.json()["detail"].startswith(f"order={order} ")


# By the address: the word of the verdict, and what its sentence and its explanation have to say.
SAID = {
    "sinh_on_ctx.json?order=2": (
        "differs",
        ("first derivative is right", "second derivative is 0 anywhere", "3.627"),
        ("ctx.rising and ctx.falling", "declare @once_differentiable"),
    ),
    "cube_wrong_double_backward.json?order=2": (
        *("differs", ("first derivative is right", "does not return"), ("0.5 times the slope of grad_x",)),
    ),
    "clamp_with_grad_that_works.json?order=2": ("matches", ("jumps at −1 and 1", "no path"), ()),
    "incorrect_clipped_relu.json?order=2": ("matches", ("the first derivative differs",), ()),
    "cube.json?order=2&grad_output=0": ("matches", ("says little",), ()),
    "clamp_with_grad.json?wrt=min&order=2": ("no gradient", ("no second derivative", "no gradient for min"), ()),
    "tanh_once_differentiable.json?order=2": (
        *("unsupported", ("@once_differentiable", "raises", "silently gives 0", "−0.7698 to 0.7698"), ()),
    ),
}


@pytest.mark.parametrize("address", SAID)
def test_the_verdict_on_double_backward_says_what_it_is_of(server: str, address: str) -> None:
    word, sentence, explanation = SAID[address]
    verdict = got(server, f"/ops/{address}")["verdict"]
    assert verdict["word"] == word
    assert [each for each in sentence if each not in verdict["sentence"]] == []
    assert bool(verdict["explanation"]) == bool(explanation)
    assert [each for each in explanation if each not in verdict["explanation"]["sentence"]] == []


def test_what_is_declared_unsupported_is_neither_drawn_nor_accused(server: str) -> None:
    said = got(server, "/ops/tanh_once_differentiable.json?order=2")
    assert (said["columns"]["analytical"], said["verdict"]["intervals"]) == (None, [])
    assert said["gradgradcheck"]["passed"] is False
    for view in ("area", "wide"):
        other = got(server, f"/ops/tanh_once_differentiable.json?order=2&view={view}")
        assert "declared unsupported" in other["sentence"]
    assert got(server, "/ops/clamp_with_grad.json?wrt=min&order=2")["columns"]["x"] == []
    assert got(server, "/ops/sinh_on_ctx.json?order=2")["verdict"]["explanation"]["kind"] == "no history"


@pytest.mark.parametrize("name", sampled(["sinh_on_ctx", "clamp_with_grad", "gradient_none_added"], ["sinh_on_ctx"]))
@pytest.mark.parametrize("view", VIEW_NAMES)
def test_every_view_has_something_true_to_say(server: str, name: str, view: str) -> None:
    said = got(server, f"/ops/{name}.json?order=2&view={view}")
    assert (said["view"], said["order"]) == (view, 2)
    text = said["verdict"]["sentence"] if view == "curves" else said["sentence"]
    if said["failure"] or view in ("contract", "node"):
        return
    assert text
    if view in ("area", "wide", "step", "curves"):
        ours = re.sub(r"\.backward\(\)|with @once.*|backward is decorated|What backward", "", text)
        assert not re.search(r"\bforward\b|(?<!ouble )\bbackward\b", ours), text
    else:
        assert text.startswith("Shown for the first derivative")


def test_the_picture_says_what_it_shows(server: str) -> None:
    text = http.get(f"{server}/ops/sinh_on_ctx.svg?order=2").text
    for said in (">grad_x<", ">second grad of x<", ">returned by backward<", "analytical, by double backward"):
        assert said in text
    assert " · second derivative · float64" in text
    assert ">forward<" not in text
