"""Every view by its address: as numbers and as a table, whatever the controls say, and when a Function fails."""

import csv
import io
import json
import re
from collections.abc import Iterator
from itertools import cycle, product
from typing import Any

import httpx2
import pytest
from functions.misbehaving_op import OWN
from functions.seeds import SEEDS
from support import http
from support.documents import validate, without_results
from support.own_server import Own, showing
from support.servers import HERE

from gradloupe.server.protocol.views import DRAWN_VIEWS, VIEW_NAMES, WRITTEN_VIEWS

OPS_OF_A_PUSH = ("functional_linear", "image_alpha", "replace_grad")
STATES = ("dtype=float32", "dtype=float16", "grad_output=-2", "grad_output=0", "count=2", "order=2", "wrt=min")
CONTROLLED = "clamp_with_grad", "heaviside_sigmoid", "exp"


def asked(view: str, when: str) -> list[tuple[str, str]]:
    """Ops and queries: on each push some ops, and every other state of the controls with one of three in turn."""
    if when == "nightly":
        return [(op, "") for op in SEEDS if op not in OPS_OF_A_PUSH] + list(product(CONTROLLED, STATES[:-1]))
    turn = VIEW_NAMES.index(view)
    ops = CONTROLLED[turn % 3 :] + CONTROLLED[: turn % 3]
    states = zip(cycle(ops), STATES[turn % 2 : -1 : 2], strict=False)
    return [*((op, "") for op in OPS_OF_A_PUSH), *states, (CONTROLLED[0], STATES[-1])]


def refused(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def checked(response: httpx2.Response, view: str) -> dict[str, Any]:
    """The document, which is strict JSON and has the shape that the description of the API gives it."""
    assert response.status_code == 200, response.text
    document: dict[str, Any] = json.loads(response.content, parse_constant=refused)
    validate(document, view)
    return document


def keys(script: str, table: str) -> list[str]:
    """The keys of an object of names in a script."""
    text = (HERE / "static" / script).read_text()
    (rows,) = re.findall(rf"^const {table} = {{\n(.*?)^}};", text, re.DOTALL | re.MULTILINE)
    return re.findall(r"^  (\w+):", rows, re.MULTILINE)


def test_what_is_drawn_on_the_page_are_the_views_that_there_are() -> None:
    pictures = {*DRAWN_VIEWS} & {*WRITTEN_VIEWS}  # of the server
    assert {*VIEW_NAMES[1:]} - pictures <= {*keys("js/views/companion.js", "PANELS")} < {*VIEW_NAMES[1:]}
    template = (HERE / "templates" / "parts" / "companion.html").read_text()
    assert {*re.findall(r'data-look="(\w+)"', template)} < {*VIEW_NAMES[1:]}


@pytest.mark.parametrize("when", ["push", pytest.param("nightly", marks=pytest.mark.nightly)])
@pytest.mark.parametrize("view", VIEW_NAMES)
def test_a_view_is_answered_before_the_deadline_as_numbers_and_as_a_table(
    server: str, view: str, when: str, subtests: pytest.Subtests
) -> None:
    for name, query in asked(view, when):
        with subtests.test(name, query=query):
            document = checked(http.get(f"{server}/ops/{name}.json?view={view}&{query}"), view)
            assert document["failure"] is None
            assert document.get("sentence", "a sentence").strip()
            table = http.get(f"{server}/ops/{name}.csv?view={view}&{query}")
            assert table.status_code == 200
            rows, columns = list(csv.DictReader(io.StringIO(table.text))), document["columns"]
            assert len(rows) == len(columns[{"map": "ratio", "surface": "forward"}.get(view, next(iter(columns)))])
            assert not rows or set(rows[0]) == set(columns)


@pytest.fixture(scope="module")
def misbehaving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Own]:
    with showing(tmp_path_factory.mktemp("misbehaving"), text=OWN) as server:
        yield server


FAILURES = [
    *((view, "raise") for view in VIEW_NAMES),
    *((view, "exit") for view in ("curves", "contract", "descent")),
    *(pytest.param(view, "exit", marks=pytest.mark.nightly) for view in ("area", "map", "wide", "step", "jacobian")),
]


@pytest.mark.parametrize(("view", "deed"), FAILURES)
def test_a_function_that_fails_is_told_in_the_shape_of_the_view(misbehaving: Own, view: str, deed: str) -> None:
    query = f"view={view}&deed={deed}&x=2.5"
    document = checked(misbehaving.get(f"/ops/Misbehaving.json?{query}"), view)
    assert document["failure"]["phase"] == ("forward" if deed == "raise" else "worker")
    if deed == "raise" and view in ("precision", "contract"):
        rows = {"precision": "message", "contract": "seen"}
        told = [row[rows[view]] for row in document.get("rows") or document["checks"]]
        assert any("half of a surrogate pair" in each for each in told if each)
        assert not any(row.get("supported") for row in document.get("rows", ()))
        return
    said = document["verdict"]["sentence"] if view == "curves" else document["sentence"]
    measured = without_results(view, said, document["failure"])
    assert {name: document[name] for name in measured} == json.loads(json.dumps(measured))
    assert not any(document["columns"].values())
    names, why = misbehaving.get(f"/ops/Misbehaving.csv?{query}").text.splitlines()
    assert names.split(",") == list(document["columns"])
    assert why.startswith(f"# {document['failure']['phase']} failed")


def test_a_place_is_named_where_it_is_looked_at(server: str) -> None:
    assert http.get(f"{server}/ops/exp.json?view=step&start=0&stop=1").json()["at"] == 0.5
    document = http.get(f"{server}/ops/exp.json?view=step&at=2").json()
    assert (document["at"], document["address"]) == (2, "/ops/exp?view=step&at=2")
    assert "at" not in http.get(f"{server}/ops/exp.json?view=area").json()


@pytest.mark.parametrize("view", ["map", "surface"])
def test_a_table_of_a_plane_has_one_line_for_every_pair(server: str, view: str) -> None:
    address = f"{server}/ops/abs_product.{{}}?view={view}&count=5"
    columns = http.get(address.format("json")).json()["columns"]
    rows = list(csv.DictReader(io.StringIO(http.get(address.format("csv")).text)))
    up, value = {"map": ("grad_output", "ratio"), "surface": ("y", "forward")}[view]
    pairs = [(float(row["x"]), float(row[up])) for row in rows]
    assert pairs == [(x, y) for y in columns[up] for x in columns["x"]]
    assert [float(row[value]) if row[value] else None for row in rows] == columns[value]
