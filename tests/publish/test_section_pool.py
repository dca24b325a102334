"""The sections of a figure take little room, and their numbers read as those that were measured."""

import json
import math
from typing import Any

import pytest
from support.exports import whole

from gradloupe.server.publish.section_pool import SectionPool

ROWS = [i / 20 - 10 for i in range(401)]
COLUMNS = {
    "smooth": [math.sin(x) for x in ROWS],
    "wide": [math.exp(x) for x in ROWS],
    "small": [1e-12 * x**3 for x in ROWS],
    "large": [1e200 * x for x in ROWS],
    "still": [0.0] * 401,
    "gaps": [None if abs(x) < 1 else 1 / x for x in ROWS],
    "whole": [float(round(x)) for x in ROWS],
}


def stored(*sections: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What a pool keeps of sections, each with columns by name for a ``grad_output``, and the sections read from it."""
    pool = SectionPool()
    for section in sections:
        pool.add({"words": {"verdict": ""}, **section})  # type: ignore[typeddict-item]
    kept = json.loads(f"{{{pool.json()}}}")
    return kept, [whole(kept["pool"], each) for each in kept["sections"]]


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_kept_to_what_can_be_seen_and_read(name: str) -> None:
    column = COLUMNS[name]
    _, (found,) = stored({"columns": {name: column}, "grad_output": 1.0})
    values = [value for value in column if value is not None]
    extent = max(values) - min(values)
    assert [value is None for value in found["columns"][name]] == [value is None for value in column]
    for one, other in zip(found["columns"][name], column, strict=True):
        if one is not None and other is not None:
            assert abs(one - other) <= 1e-5 * extent
            assert one == pytest.approx(other, rel=1e-3)  # each has four digits


def test_a_gradient_for_another_grad_output_is_kept_as_a_multiple_only_where_it_is_one() -> None:
    slope = COLUMNS["smooth"]
    sections = [{"columns": {"analytical": [g * y for y in slope]}, "grad_output": g} for g in (-1.0, 1.0, 3.0)]
    bent = {"columns": {"analytical": [max(y, 0.0) for y in slope]}, "grad_output": 3.0}
    kept, found = stored(*sections, bent)
    assert sum("$of" in section["columns"]["analytical"] for section in kept["sections"]) == 2
    for section, read in zip((*sections, bent), found, strict=True):
        assert read["columns"]["analytical"] == pytest.approx(section["columns"]["analytical"], abs=1e-4)


def test_an_error_bound_is_kept_as_one_that_is_no_smaller() -> None:
    bounds = [3.1e-12, 9.99e-7, 0.0, 2e-300, 1.0, None]
    _, (found,) = stored({"columns": {"error": bounds}, "grad_output": 1.0})
    assert found["columns"]["error"] == [4e-12, 1e-6, 0.0, 2e-300, 1.0, None]


def test_what_sections_share_is_kept_once() -> None:
    marks = [{"kind": "jump", "x": i / 7, "rows": list(range(9))} for i in range(12)]
    section = {"columns": {"x": ROWS}, "grad_output": 1.0, "marks": marks, "readings": {"rows": {"3": "a" * 70}}}
    kept, found = stored(section, {**section, "grad_output": 2.0})
    assert len({json.dumps(each) for each in kept["pool"]}) == len(kept["pool"])
    assert kept["sections"][0] | {"grad_output": 2.0} == kept["sections"][1]
    for read in found:
        assert read["readings"] == section["readings"]
        assert [mark["rows"] for mark in read["marks"]] == [mark["rows"] for mark in marks]
        assert [mark["x"] for mark in read["marks"]] == pytest.approx([mark["x"] for mark in marks], abs=1e-5)
