"""The sections of a figure take little room, and their numbers read as those that were measured."""

import json
import math
from typing import Any

import pytest

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


def stored(*sections: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, list[float | None]]]]:
    """What a pool keeps of sections, each of columns by name for a ``grad_output``, and the columns read from it."""
    pool = SectionPool()
    for section in sections:
        pool.add({"words": {"verdict": ""}, **section})  # type: ignore[typeddict-item]
    kept = json.loads(f"{{{pool.json()}}}")
    names = [part.removeprefix("columns.") for part in kept["parts"]]
    return kept, [{name: read(kept, spot) for name, spot in zip(names, each, strict=True)} for each in kept["sections"]]


def read(kept: dict[str, Any], spot: int) -> Any:
    """A part as static/js/state/stored.js reads it."""
    part = kept["pool"][spot]
    if isinstance(part, dict) and "of" in part:
        return [value if value is None else value * part["times"] for value in read(kept, part["of"])]
    if not isinstance(part, dict) or "second" not in part:
        return part
    step, whole, column = 0, 0, list[float | None]()
    for row, change in enumerate(part["second"]):
        step += change
        whole += step
        column.append(None if row in part["gaps"] else whole / 10 ** part["decimals"])
    return column


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_kept_to_what_can_be_seen_and_read(name: str) -> None:
    column = COLUMNS[name]
    _, (found,) = stored({"columns": {name: column}, "grad_output": 1.0})
    values = [value for value in column if value is not None]
    extent = max(values) - min(values)
    assert [value is None for value in found[name]] == [value is None for value in column]
    for one, other in zip(found[name], column, strict=True):
        if one is not None and other is not None:
            assert abs(one - other) <= 1e-5 * extent
            if name == "wide":  # no number is small beside its neighbours: each has four digits
                assert one == pytest.approx(other, rel=1e-3)


def test_a_gradient_for_another_grad_output_is_kept_as_a_multiple_only_where_it_is_one() -> None:
    slope = COLUMNS["smooth"]
    sections = [{"columns": {"analytical": [g * y for y in slope]}, "grad_output": g} for g in (-1.0, 1.0, 3.0)]
    bent = {"columns": {"analytical": [max(y, 0.0) for y in slope]}, "grad_output": 3.0}
    kept, found = stored(*sections, bent)
    assert sum("of" in part for part in kept["pool"] if isinstance(part, dict)) == 2
    for section, columns in zip((*sections, bent), found, strict=True):
        assert columns["analytical"] == pytest.approx(section["columns"]["analytical"], abs=1e-4)


def test_an_error_bound_is_kept_as_one_that_is_no_smaller() -> None:
    bounds = [3.1e-12, 9.99e-7, 0.0, 2e-300, 1.0, None]
    _, (found,) = stored({"columns": {"error": bounds}, "grad_output": 1.0})
    assert found["error"] == [4e-12, 1e-6, 0.0, 2e-300, 1.0, None]


def test_what_sections_share_is_kept_once() -> None:
    section = {"columns": {"x": ROWS}, "grad_output": 1.0}
    kept, _ = stored(section, {**section, "grad_output": 2.0})
    place = kept["parts"].index("columns.x")
    assert len({each[place] for each in kept["sections"]}) == 1
