"""The answer inside a page: smaller than the document, and drawn the same."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from functions.seeds import SEEDS
from support.answers import answer

from gradloupe.server.catalogue.op_description import op_descriptions
from gradloupe.server.documents.compact import compact_document, script_json
from gradloupe.server.documents.json_document import json_document
from gradloupe.server.protocol.frames import Frame, pack, unpack
from gradloupe.server.url import canonical_address, default_address

OPS = {each["name"]: each for each in op_descriptions()}


def frame(name: str, **given: Any) -> Frame:
    question = default_address(OPS[name]).question
    header, columns = answer(type(question)(**(vars(question) | given)))
    data = pack(Frame(header, columns))
    size = int.from_bytes(data[:4], "big")
    return unpack(data[8 : 8 + size], data[8 + size :])


def read(measured: Frame) -> dict[str, Any]:
    """What a page reads of an answer."""
    found: dict[str, Any] = json.loads(script_json(compact_document(measured, "")))
    return found


@pytest.mark.parametrize("name", SEEDS)
def test_nothing_that_can_be_seen_is_lost(name: str) -> None:
    measured = frame(name)
    whole = json.loads(json_document(measured, ""))
    small = read(measured)
    for member in small.keys() - {"columns", "marks", "verdict"}:
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


def test_a_mark_stands_where_its_point_does() -> None:
    small = read(frame("clipped_relu", start=-0.1 / 3, stop=2.7182818284590451))
    assert small["marks"]
    assert {mark["x"] for mark in small["marks"]} <= set(small["columns"]["x"])


def test_points_of_a_narrow_range_stay_apart() -> None:
    small = read(frame("exp", start=1.0, stop=1.0 + 1e-9))
    x = small["columns"]["x"]
    assert len(set(x)) == len(x)
    forward = small["columns"]["forward"]
    assert len(set(forward)) > len(forward) / 2


def test_a_page_carries_a_fraction_of_the_document() -> None:
    measured = frame("exp")
    assert len(script_json(compact_document(measured, ""))) < 0.6 * len(json_document(measured, ""))


def test_what_an_op_says_cannot_end_the_script() -> None:
    measured = frame("exp")
    hostile = Frame(measured.header | {"title": "</script><script>alert(1)</script><!--"}, measured.columns)
    assert "<" not in script_json(compact_document(hostile, canonical_address(OPS["exp"], default_address(OPS["exp"]))))


def test_the_points_beside_a_jump_stay_apart_from_it() -> None:
    small = read(frame("round_straight_through"))
    x = small["columns"]["x"]
    assert x == sorted(set(x))
    assert {mark["x"] for mark in small["marks"]} <= set(x)


def test_every_process_writes_the_same_bytes() -> None:
    header = frame("heaviside_sigmoid").header
    columns = [name for name in frame("heaviside_sigmoid").columns if name in header["gaps"]]
    assert len(columns) > 2
    assert list(header["gaps"]) == columns
