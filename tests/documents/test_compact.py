"""The answer inside a page: smaller than the document, and drawn the same."""

import json
import math
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from functions.seeds import SEEDS
from support import http
from support.own_server import MY_OPS, showing
from support.sampling import sampled


@cache
def read(server: str, address: str, ending: str = "page.json") -> dict[str, Any]:
    """What a page reads of an answer; or all of it."""
    name, _, query = address.partition("?")
    found: dict[str, Any] = http.get(f"{server}/ops/{name}.{ending}?{query}").json()
    return found


@pytest.mark.parametrize("name", sampled(SEEDS))
def test_nothing_that_can_be_seen_is_lost(server: str, name: str) -> None:
    whole, small = read(server, name, "json"), read(server, name)
    for member in (small.keys() & whole.keys()) - {"columns", "marks", "verdict"}:
        assert small[member] == whole[member]
    assert small["verdict"].items() <= whole["verdict"].items()
    assert small["columns"].keys() == whole["columns"].keys()
    for column, values in whole["columns"].items():
        if values is None:
            assert small["columns"][column] is None
            continue
        finite = [value for value in values if value is not None]
        span = max(finite, default=0.0) - min(finite, default=0.0)
        for seen, true in zip(small["columns"][column], values, strict=True):
            assert (seen is None) == (true is None)
            near = 1e-2 * abs(true or 0.0) if column == "error" else 1e-6 * (span or 1.0)
            assert seen is None or math.isclose(seen, true, rel_tol=1e-7, abs_tol=near)


@pytest.mark.parametrize(
    "address", ["clipped_relu?start=-0.0333333333333&stop=2.7182818284590451", "round_straight_through"]
)
def test_a_mark_stands_where_its_point_does_and_apart_from_the_others(server: str, address: str) -> None:
    small = read(server, address)
    x = small["columns"]["x"]
    assert x == sorted(set(x))
    assert small["marks"]
    assert {mark["x"] for mark in small["marks"]} <= set(x)


def test_points_of_a_narrow_range_stay_apart(server: str) -> None:
    columns = read(server, "exp?start=1&stop=1.000000001")["columns"]
    assert len(set(columns["x"])) == len(columns["x"])
    assert len(set(columns["forward"])) > len(columns["forward"]) / 2


def test_a_page_carries_a_fraction_of_the_document(server: str) -> None:
    columns = (read(server, "exp", ending)["columns"] for ending in ("page.json", "json"))
    small, whole = (len(json.dumps(each, separators=(",", ":"))) for each in columns)
    assert small < 0.6 * whole


def test_what_a_function_says_cannot_end_the_script(tmp_path: Path) -> None:
    raising = 'raise ValueError("</script><script>alert(1)</script><!--")'
    with showing(tmp_path, text=MY_OPS.replace('raise ArithmeticError("it went off")', raising)) as own:
        assert own.get("/ops/Fused.json?grad_output=1e13").json()["failure"]
        page = own.get("/ops/Fused?grad_output=1e13").text
    (held,) = re.findall(r'<script type="application/json" id="answer">(.*?)</script>', page, re.DOTALL)
    assert "alert(1)" in json.loads(held)["failure"]["message"]
    assert "<" not in held


def test_every_process_writes_the_same_bytes(server: str) -> None:
    answer = read(server, "heaviside_sigmoid", "json")
    gaps = [name for name in answer["columns"] if name in answer["gaps"]]
    assert len(gaps) > 2
    assert list(answer["gaps"]) == gaps
