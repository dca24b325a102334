"""The views of a section: what each shows of every op, as numbers, as a table, and when a Function fails."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from itertools import product
from typing import Any, get_args

import httpx2
import numpy as np
import pytest
from functions.misbehaving_op import OWN
from functions.seeds import SEEDS
from support import http
from support.answers import answer
from support.documents import validate, without_results
from support.own_server import Own, showing
from support.sections import op_of, written
from support.servers import HERE
from typing_extensions import get_type_hints

from gradloupe.ops import OPS, Input
from gradloupe.server.catalogue.op_description import parse_element
from gradloupe.server.documents.columns import DOCUMENT_COLUMNS, TEXT_COLUMNS
from gradloupe.server.protocol.question import Question
from gradloupe.server.protocol.views import VIEW_NAMES, VIEWS, AnswerRecord
from gradloupe.server.views import VIEW_FUNCTIONS

CLOSER = VIEW_NAMES[1:]


def ask(op: str, view: str, wrt: str = "x", start: float = -3.0, stop: float = 3.0, **more: Any) -> Any:
    """The header and the columns of a view."""
    return answer(Question(op, parse_element(wrt), parse_element("y"), start, stop, view=view, **more))


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
    (rows,) = re.findall(
        rf"^const {table} = {{\n(.*?)^}};", (HERE / "static" / script).read_text(), re.DOTALL | re.MULTILINE
    )
    return re.findall(r"^  (\w+):", rows, re.MULTILINE)


def test_what_is_typed_measured_and_drawn_are_the_views_of_the_table() -> None:
    headers = [view.header for view in VIEWS.values()]
    assert get_args(AnswerRecord) == tuple(headers)
    assert [get_args(get_type_hints(header)["view"]) for header in headers] == [(name,) for name in VIEW_NAMES]
    assert tuple(VIEW_FUNCTIONS) == VIEW_NAMES
    assert {*keys("js/views/companion.js", "FIGURES"), *keys("js/views/companion.js", "PANELS")} == {*CLOSER}
    template = (HERE / "templates" / "parts" / "companion.html").read_text()
    assert {*re.findall(r'(?:data-look="|{{ (?:area|line|dot|item)\(")(\w+)"', template)} < {*CLOSER}


@pytest.mark.parametrize("view", VIEW_NAMES)
def test_a_view_of_every_op_is_answered_before_the_deadline_as_numbers_and_as_a_table(
    server: str, view: str, subtests: pytest.Subtests
) -> None:
    for name in SEEDS:
        with subtests.test(name):
            document = checked(http.get(f"{server}/ops/{name}.json?view={view}"), view)
            assert document["failure"] is None
            assert document.get("sentence", "a sentence").strip()
            assert document["columns"].keys() >= set(DOCUMENT_COLUMNS[view])
            response = http.get(f"{server}/ops/{name}.csv?view={view}")
            assert response.status_code == 200
            table = csv.DictReader(io.StringIO(response.text))
            rows, columns = list(table), document["columns"]
            assert set(table.fieldnames or ()) == set(columns)
            assert len(rows) == len(columns[{"map": "ratio", "surface": "forward"}.get(view, next(iter(columns)))])


@pytest.mark.parametrize("view", VIEW_NAMES)
def test_no_state_of_the_controls_takes_a_view_out_of_its_shape(
    server: str, view: str, subtests: pytest.Subtests
) -> None:
    queries = ("dtype=float32", "dtype=float16", "grad_output=-2", "grad_output=0", "count=2")
    for name, query in product(("clamp_with_grad", "heaviside_sigmoid", "exp"), queries):
        with subtests.test(name, query=query):
            checked(http.get(f"{server}/ops/{name}.json?view={view}&{query}"), view)


@pytest.mark.parametrize("view", CLOSER)
def test_a_parameter_that_gets_no_gradient_is_an_answer_too(server: str, view: str) -> None:
    checked(http.get(f"{server}/ops/clamp_with_grad.json?view={view}&wrt=min"), view)


@pytest.mark.parametrize("view", CLOSER)
@pytest.mark.parametrize("ending", ["json", "csv"])
def test_a_view_that_is_known_is_not_sent_again(server: str, view: str, ending: str) -> None:
    address = f"{server}/ops/exp.{ending}?view={view}"
    first = http.get(address)
    again = http.get(address, headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    head = http.head(address)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["etag"] == first.headers["etag"]


def test_every_view_has_a_tag_of_its_own_and_so_has_every_place(server: str) -> None:
    addresses = [f"view={view}" for view in VIEW_NAMES] + ["view=step&at=0.5", "view=step&at=1"]
    tags = [http.head(f"{server}/ops/exp.json?{address}").headers["etag"] for address in addresses]
    assert len(set(tags)) == len(addresses)
    assert tags[0] == http.head(f"{server}/ops/exp.json").headers["etag"]


@pytest.fixture(scope="module")
def misbehaving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Own]:
    with showing(tmp_path_factory.mktemp("misbehaving"), text=OWN) as server:
        yield server


@pytest.mark.parametrize("view", VIEW_NAMES)
@pytest.mark.parametrize("deed", ["raise", "exit"])
def test_a_function_that_fails_is_told_in_the_shape_of_the_view(misbehaving: Own, view: str, deed: str) -> None:
    document = checked(misbehaving.get(f"/ops/Misbehaving.json?view={view}&deed={deed}&x=2.5"), view)
    assert document["failure"]["phase"] == ("forward" if deed == "raise" else "worker")
    if view == "precision" and deed == "raise":
        assert not any(row["supported"] for row in document["rows"])
        assert "half of a surrogate pair" in document["rows"][0]["message"]
        return
    if view == "contract" and deed == "raise":
        assert "half of a surrogate pair" in next(row["seen"] for row in document["checks"] if row["level"] == "error")
        return
    said = document["verdict"]["sentence"] if view == "curves" else document["sentence"]
    measured = without_results(view, said, document["failure"])
    assert {name: document[name] for name in measured} == json.loads(json.dumps(measured))
    assert not any(document["columns"].values())
    table = misbehaving.get(f"/ops/Misbehaving.csv?view={view}&deed={deed}&x=2.5")
    names, why = table.text.splitlines()
    assert names.split(",") == list(DOCUMENT_COLUMNS[view])
    assert why.startswith(f"# {document['failure']['phase']} failed")


def test_a_place_is_named_where_it_is_looked_at(server: str) -> None:
    assert http.get(f"{server}/ops/exp.json?view=step&start=0&stop=1").json()["at"] == 0.5
    document = http.get(f"{server}/ops/exp.json?view=step&at=2").json()
    assert (document["at"], document["address"]) == (2, "/ops/exp?view=step&at=2")
    assert "at" not in http.get(f"{server}/ops/exp.json?view=area").json()


def test_the_areas_of_a_right_backward_add_up_to_what_forward_rises_by() -> None:
    header, columns = ask("exp", "area", start=-1.0, stop=2.0)
    assert columns["left"][0] == -1
    assert columns["right"][-1] == 2
    assert columns["area"].sum() == pytest.approx(np.exp(2) - np.exp(-1), rel=1e-12)
    assert (np.abs(columns["residual"]) <= columns["allowed"]).all()
    assert header["intervals"] == []
    assert "forward changes by the integral of what backward returned" in header["sentence"]


def test_an_area_that_is_another_is_named_with_both_numbers() -> None:
    header, columns = ask("incorrect_clipped_relu", "area", "input", start=-1.0)
    assert header["intervals"] == [(-1, 0), (2, 3)]
    assert "from input = −1 to 0 forward changes by 0, and the integral is 1" in header["sentence"]
    words = np.array(header["statuses"])[columns["status"]]
    assert set(words[columns["right"] <= 0]) == {"differs"}
    assert set(words[(columns["left"] >= 0) & (columns["right"] <= 2)]) == {"agrees"}


def test_the_curves_count_the_cells_that_the_areas_show() -> None:
    header, columns = ask("incorrect_clipped_relu", "area", "input", start=-1.0)
    curves, _ = ask("incorrect_clipped_relu", "curves", "input", start=-1.0)
    assert curves["area"]["cells"] == columns["left"].size
    assert curves["area"]["differs"] == (columns["status"] == header["statuses"].index("differs")).sum()
    assert curves["area"]["intervals"] == header["intervals"]
    worst = curves["area"]["worst"]
    assert abs(worst["rise"] - worst["area"]) == pytest.approx(np.nanmax(np.abs(columns["residual"])))


def test_areas_that_are_meant_to_differ_are_said_to_be_meant() -> None:
    header, _ = ask("heaviside_sigmoid", "area")
    assert header["sentence"].endswith("It equals the change of the surrogate, as intended.")


def test_a_map_has_a_row_for_every_grad_output_and_its_own_among_them() -> None:
    header, columns = ask("clamp_with_grad", "map", "input", grad_output=-0.3)
    rows, across = header["shape"]
    assert across <= 201
    assert columns["ratio"].size == rows * across == columns["grad_output"].size * columns["x"].size
    assert -0.3 in columns["grad_output"]
    assert 0 in columns["grad_output"]


def test_a_backward_that_looks_at_the_sign_of_grad_output_shows_it_in_its_map() -> None:
    header, columns = ask("clamp_with_grad", "map", "input")
    ratio = columns["ratio"].reshape(header["shape"])
    beyond = columns["x"] > 1.1
    assert (ratio[columns["grad_output"] > 0][:, beyond] == 1).all()
    assert (ratio[columns["grad_output"] < 0][:, beyond] == 0).all()
    assert any("sign" in finding["sentence"] for finding in header["findings"])


def test_the_map_of_a_linear_backward_is_the_same_from_top_to_bottom() -> None:
    header, columns = ask("exp", "map")
    ratio = columns["ratio"].reshape(header["shape"])
    assert header["findings"] == []
    assert np.nanmax(np.abs(ratio / np.exp(columns["x"]) - 1)) < 1e-12


def test_a_table_of_a_map_has_one_line_for_every_pair(server: str) -> None:
    document = http.get(f"{server}/ops/exp.json?view=map&count=5").json()
    rows = list(csv.DictReader(io.StringIO(http.get(f"{server}/ops/exp.csv?view=map&count=5").text)))
    x, grad_output = document["columns"]["x"], document["columns"]["grad_output"]
    pairs = [(float(row["x"]), float(row["grad_output"])) for row in rows]
    assert pairs == [(t, g) for g in grad_output for t in x]
    assert [float(row["ratio"]) if row["ratio"] else None for row in rows] == document["columns"]["ratio"]


def test_every_dtype_has_a_row_and_the_double_one_is_the_measure() -> None:
    header, columns = ask("exp", "precision")
    cpu = [row for row in header["rows"] if row["device"] == "cpu"]
    assert [row["dtype"] for row in cpu] == ["float64", "float32", "bfloat16", "float16"]
    assert all(row["supported"] for row in cpu)
    for dtype in ("float32", "bfloat16", "float16"):
        assert columns[f"forward_{dtype}"].size == columns["x"].size
        assert 0 < np.nanmax(columns[f"forward_{dtype}"]) < 4


def test_a_wide_look_reaches_far_beyond_the_range_and_says_how_far() -> None:
    header, columns = ask("exp", "wide")
    assert header["reach"][0] < -1e300
    assert header["reach"][1] > 1e300
    assert 700 < header["finite"][1] < 720
    assert (np.diff(columns["x"]) > 0).all()
    assert columns["x"].size <= 400
    assert header["intervals"] == []


def test_what_differs_far_away_is_found_without_being_in_sight() -> None:
    header, _ = ask("incorrect_clipped_relu", "wide", "input", start=0.5, stop=1.5)
    assert header["intervals"]
    curves, _ = ask("incorrect_clipped_relu", "curves", "input", start=0.5, stop=1.5)
    assert curves["verdict"]["word"] == "matches here"
    assert curves["wide"]["intervals"] == header["intervals"]
    assert curves["wide"]["sentence"]


def test_the_error_of_a_difference_falls_and_rises_again_with_its_step() -> None:
    header, columns = ask("exp", "step", at=1.0)
    assert (np.diff(columns["step"]) < 0).all()
    assert header["best"]["value"] == pytest.approx(np.e, rel=1e-11)
    assert header["analytical"] == pytest.approx(np.e, rel=1e-15)
    assert header["central_order"] == pytest.approx(2, abs=0.05)
    assert header["taylor_order"] == pytest.approx(2, abs=0.05)
    least = int(np.argmin(columns["central"]))
    assert 0 < least < columns["step"].size - 1
    assert "that line is its tangent" in header["sentence"]


def test_a_wrong_backward_is_no_tangent_at_the_place() -> None:
    header, _ = ask("incorrect_clipped_relu", "step", "input", at=-0.5)
    assert header["taylor_order"] == pytest.approx(1, abs=0.05)
    assert "that line is not its tangent" in header["sentence"]


@pytest.mark.parametrize("grad_output", [1.0, -3.0])
def test_the_slopes_at_a_place_are_those_of_forward_whatever_grad_output_is(grad_output: float) -> None:
    header, _ = ask("clipped_relu", "step", "input", at=0.0, grad_output=grad_output)
    assert header["kind"] == "kink"
    assert (header["left"], header["right"]) == pytest.approx((0, 1), abs=1e-6)
    assert "backward returns 0, one of those between" in header["sentence"]


def test_a_function_whose_domain_ends_nearby_can_be_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def picky(x):
        if (x < 0).any():
            raise ValueError("negative")
        return x.sqrt()

    monkeypatch.setitem(OPS, "picky", op_of(picky, Input("x", domain=(0.0, 1.0)), name="picky"))
    for view in CLOSER:
        header, columns = ask("picky", view, start=0.0, stop=1.0)
        assert header["failure"] is None
        assert columns or view in (*TEXT_COLUMNS, "surface")  # whose rows are words, and which wants two elements
    header, _ = ask("picky", "step", start=0.0, stop=1.0, at=0.25)
    assert header["best"]["value"] == pytest.approx(1, rel=1e-9)
    header, columns = ask("picky", "step", start=0.0, stop=1.0, at=-0.25)
    assert (header["failure"]["kind"], columns) == ("ValueError", {})


def test_a_backward_that_raises_leaves_what_forward_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    def raising(x):
        raise RuntimeError("no derivative today")

    monkeypatch.setitem(OPS, "raising", written(lambda x: x**2, raising, name="raising"))
    for view in ("area", "map", "wide", "step"):
        header, _ = ask("raising", view)
        json.dumps(header, allow_nan=False)
        assert (header["failure"]["phase"], header["failure"]["message"]) == ("backward", "no derivative today")
    header, columns = ask("raising", "step", at=1.0)
    assert header["best"]["value"] == pytest.approx(2)
    assert header["analytical"] is None
    assert columns["central"].size


def test_a_surrogate_that_jumps_has_no_value_there_either() -> None:
    header, columns = ask("clamp_with_grad", "curves", "input", order=2)
    jumps = header["gaps"]["forward"]["jump"]
    assert jumps
    assert header["gaps"]["surrogate"]["jump"] == jumps
    assert np.isnan(columns["surrogate"][jumps]).all()
    header, columns = ask("round_straight_through", "curves", "x")
    assert header["gaps"]["forward"]["jump"]
    assert np.isfinite(columns["surrogate"]).all()
