"""The answer of the view of a Jacobian: every cell by name and number, and what reaches what."""

import csv
import io
from typing import Any

import numpy as np
import pytest
from support import http
from support.answers import answer

from gradloupe.server.catalogue.op_description import parse_element
from gradloupe.server.protocol.question import Question


def ask(op: str, wrt: str, of: str, **more: Any) -> Any:
    """The header and the columns of the view."""
    return answer(Question(op, parse_element(wrt), parse_element(of), -3.0, 3.0, view="jacobian", **more))


def test_the_answer_has_every_cell_by_name_and_number(server: str) -> None:
    header, columns = ask("kill_head", "x[0,3]", "y[0,3]")
    assert (header["rows"]["shape"], header["across"]["count"], header["pattern"]) == ([3, 8], 24, "diagonal")
    killed = np.diag(np.tile([0.0, 0.0, 1, 1, 1, 1, 1, 1], 3)).ravel()
    assert columns["numerical"] == pytest.approx(killed, abs=1e-12)
    assert (columns["returned"] == killed).all()
    assert (columns["row"][25], columns["column"][25]) == (1, 1)
    assert (header["differs"], header["worst"], header["elsewhere"]) == (0, None, None)
    table = list(csv.DictReader(io.StringIO(http.get(f"{server}/ops/kill_head.csv?view=jacobian").text)))
    assert len(table) == 576
    assert (table[25]["row"], table[25]["column"], table[25]["status"]) == ("y[0,1]", "x[0,1]", "agrees")
    for grad_output in (-2.0, 0.0, 5.0):  # numbers are per unit of it
        _, columns = ask("kill_head", "x[0,3]", "y[0,3]", grad_output=grad_output)
        assert columns["returned"].max() == 1


def test_the_place_moves_the_swept_element_and_nothing_else() -> None:
    header, columns = ask("softmax", "x[0,1]", "y[0,0]", at=2.0)
    held, _ = ask("softmax", "x[0,1]", "y[0,0]")
    assert header["at"] == 2
    assert held["at"] != 2
    assert columns["numerical"].reshape(4, 4).sum(axis=0) == pytest.approx(0, abs=1e-12)


def test_image_and_alpha_reach_what_they_depend_on() -> None:
    header, _ = ask("image_alpha", "b", "img")
    seen = header["influence"]
    told = {each["name"]: each for each in seen["losses"]}
    for loss, arrives, silent in (("img", "abc", ""), ("alpha", "b", "ac"), ("both", "abc", "")):
        rows = told[loss]["links"]
        by_input = {name: {row[place] for row in rows} for place, name in enumerate(seen["inputs"])}
        assert {name for name, links in by_input.items() if "arrives" in links} == set(arrives)
        assert {name for name, links in by_input.items() if links == {"nothing"}} == set(silent)
        assert told[loss]["failure"] is None


def test_gradients_that_are_dropped_or_unfounded_are_told_apart() -> None:
    header, _ = ask("replace_grad", "x_backward", "y")
    (loss,) = header["influence"]["losses"]
    assert loss["links"] == [["dropped", "unfounded"]]
    assert loss["returned"] == ["None", "gradient"]
    assert "y moves with x_forward" in loss["sentence"]
    assert header["designed"] is True


def test_an_integer_output_and_a_parameter_are_answers() -> None:
    header, _ = ask("max_pool_with_indices", "x[0,0]", "index[0,0]")
    assert "carry no gradient" in header["sentence"]
    header, columns = ask("clamp_with_grad", "min", "y")
    assert "numerical sensitivity only" in header["sentence"]
    assert "returned" not in columns
