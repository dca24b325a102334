"""What the addresses answer: numbers, tables, and what is said where there is nothing."""

import csv
import io
from pathlib import Path

from support import http
from support.own_server import showing


def test_the_numbers_name_the_shortest_address_that_asks_for_them(server: str) -> None:
    answer = http.get(f"{server}/ops/clamp_with_grad.json?grad_output=-1.0&count=401&min=-1").json()
    assert answer["address"] == "/ops/clamp_with_grad?grad_output=-1"
    assert (answer["op"], answer["claim"], answer["grad_output"]) == ("clamp_with_grad", "surrogate", -1)
    lengths = {len(column) for column in answer["columns"].values() if column is not None}
    assert lengths == {len(answer["columns"]["x"])}


def test_a_gap_travels_as_null_and_its_reason_beside_it(server: str) -> None:
    answer = http.get(f"{server}/ops/exp.json?start=700&stop=720&count=21").json()
    forward = answer["columns"]["forward"]
    assert forward[0] > 0
    assert forward[-1] is None
    assert len(forward) - 1 in answer["gaps"]["forward"]["+inf"]


def test_the_table_has_the_columns_of_the_numbers(server: str) -> None:
    address = f"{server}/ops/heaviside_sigmoid"
    columns = http.get(f"{address}.json?count=11").json()
    response = http.get(f"{address}.csv?count=11")
    rows = list(csv.DictReader(io.StringIO(response.text)))
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    assert set(rows[0]) == set(columns["columns"])
    for name, column in columns["columns"].items():
        if name == "status":
            assert [row[name] for row in rows] == [columns["statuses"][code] for code in column]
        else:
            expected = ["" if value is None else repr(value) for value in column or [None] * len(rows)]
            assert [row[name].replace("inf", "") for row in rows] == expected


def test_a_second_op_can_be_chosen_beside_a_function_of_ones_own(tmp_path: Path) -> None:
    with showing(tmp_path) as server:
        page = server.get("/compare?left=Clamp&low=-2")
        assert page.status_code == 200
        assert 'name="low" value="-2"' in page.text


def test_where_there_is_nothing_the_nearest_that_there_is_is_named(server: str) -> None:
    problem = http.get(f"{server}/ops/clamp_with_gard.json")
    assert (problem.status_code, problem.headers["content-type"]) == (404, "application/problem+json")
    said = problem.json()
    assert (said["type"], said["title"], said["status"]) == ("about:blank", "Not Found", 404)
    assert "clamp_with_grad?" in said["detail"]
    page = http.get(f"{server}/ops/clamp_with_gard")
    assert page.status_code == 404
    assert 'href="/ops/clamp_with_grad"' in page.text
    unknown = http.get(f"{server}/ops/exp.xml")
    assert unknown.status_code == 404
    assert ".html and .py" in unknown.text


def test_a_page_for_a_browser_and_a_problem_for_a_program_where_there_is_nothing(server: str) -> None:
    page = http.get(f"{server}/nothing", headers={"accept": "text/html"})
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert http.get(f"{server}/nothing").json()["status"] == 404


def test_a_strangers_text_is_escaped_on_the_page(server: str) -> None:
    for address in ("/ops/<script>alert(1)</script>", "/ops/exp?<script>=1", '/ops/exp?count="><script>'):
        assert "<script>" not in http.get(server + address).text
