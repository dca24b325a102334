"""The addresses: what each answers, in which format, and with which headers."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

import pytest
from functions.misbehaving_op import OWN
from support import http
from support.halted_worker import halted, metric, wait_for
from support.own_server import showing
from support.raw_http import connected, read, send
from support.servers import InThread, Server, serving_in_thread, torch_loading

from gradloupe.server.http.security_headers import HEADERS, SHARED, SOURCES, headers_for
from gradloupe.server.supervisor.engine import QUEUE_SIZE

PAGES = ("/", "/ops/exp", "/docs", "/ops/nope", "/ops/exp?min=1")
DATA = ("/ops/exp.json", "/ops/exp.csv", "/healthz", "/openapi.json", "/ops/nope.json", "/static/0/none.js", "/nothing")
KEPT = ("/", "/ops/exp", "/docs", "/ops/exp.json", "/ops/exp.csv?count=11")


def computed(server: str) -> None:
    """Has what the pages show at first computed: they wait a moment for it, and are not kept where it comes later."""
    assert http.get(f"{server}/ops/exp.json").status_code == 200
    while "card measuring" in http.get(server).text:
        pass


@pytest.mark.parametrize("address", PAGES + DATA)
def test_every_response_carries_the_security_headers(server: str, address: str) -> None:
    headers = http.get(server + address).headers
    expected = headers_for(address.partition("?")[0])
    assert {name: headers[name] for name in expected} == expected
    assert expected.keys() >= HEADERS.keys()
    assert "server" not in headers


def test_other_pages_may_not_read_the_page_of_a_figure(server: str) -> None:
    headers = http.get(f"{server}/embed/exp", headers={"origin": "https://school.example"}).headers
    assert "access-control-allow-origin" not in headers


def test_a_picture_keeps_its_policy_when_it_is_not_sent_again(server: str) -> None:
    first = http.get(f"{server}/ops/exp.svg")
    again = http.get(f"{server}/ops/exp.svg", headers={"if-none-match": first.headers["etag"]})
    assert again.status_code == 304
    assert "style-src 'unsafe-inline'" in first.headers["content-security-policy"]
    assert again.headers["content-security-policy"] == first.headers["content-security-policy"]


@pytest.mark.parametrize("place", ["/ops/exp", "/embed/exp", "/ops/exp.json", "/ops/exp.svg"])
def test_what_the_dtype_cannot_tell_apart_is_refused_everywhere(server: str, place: str) -> None:
    refused = http.get(f"{server}{place}?dtype=float16&start=1&stop=1.0001&count=2")
    assert refused.status_code == 422
    assert "float16" in refused.text


PLACES = ("/ops/exp.{}", "/compare.{}?left=exp&right=double")
PICTURES = [place.format(ending) for place in PLACES for ending in ("svg", "png", "pdf")]


@pytest.mark.parametrize("address", [*PICTURES, "/ops/exp.json", "/ops/exp.csv", "/static/0/x.js"])
def test_other_pages_may_read_what_is_everybodys(server: str, address: str) -> None:
    headers = http.get(server + address, headers={"origin": "https://school.example"}).headers
    assert {name: headers[name] for name in SHARED} == SHARED
    assert "access-control-allow-credentials" not in headers


@pytest.mark.parametrize(
    "address",
    ["/", "/ops/exp", "/docs", "/healthz", "/metrics", "/openapi.json", "/ops/exp.html", PLACES[1].format("json")],
)
def test_other_pages_may_not_read_or_frame_the_rest(server: str, address: str) -> None:
    headers = http.get(server + address).headers
    assert "access-control-allow-origin" not in headers
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["content-security-policy"].endswith("; frame-ancestors 'self'")


def test_a_figure_may_be_framed_by_everybody_and_keeps_the_policy_of_a_page(server: str) -> None:
    headers = http.get(f"{server}/embed/exp").headers
    assert headers["content-security-policy"] == SOURCES
    assert "cross-origin-opener-policy" not in headers
    assert headers["cross-origin-resource-policy"] == "cross-origin"


@pytest.mark.parametrize("address", PICTURES)
def test_a_picture_runs_nothing_and_fetches_nothing(server: str, address: str) -> None:
    policy = http.get(server + address).headers["content-security-policy"]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


def test_the_policy_admits_no_inline_script_and_no_other_host() -> None:
    policy = HEADERS["content-security-policy"]
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "default-src 'none'; script-src 'self';" in policy


@pytest.mark.parametrize("address", PAGES)
def test_pages_have_no_inline_script_style_or_handler(server: str, address: str) -> None:
    page = http.get(server + address).text
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", page)
    assert all("src=" in tag or "application/json" in tag for tag in re.findall(r"<script[^>]*>", page))
    page = page.replace("http://www.w3.org/", "").replace(f'href="{server}', "")
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page)


@pytest.mark.parametrize("address", PAGES)
def test_pages_are_html(server: str, address: str) -> None:
    assert http.get(server + address).headers["content-type"] == "text/html; charset=utf-8"


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


@pytest.mark.parametrize("address", KEPT)
@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_what_is_known_is_not_sent_again(server: str, address: str, encoding: str) -> None:
    computed(server)
    accept = {"accept-encoding": encoding}
    first = http.get(server + address, headers=accept)
    assert first.headers["cache-control"] == "public, max-age=0, s-maxage=60"
    again = http.get(server + address, headers=accept | {"if-none-match": f'"x", W/{first.headers["etag"]}'})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]


def test_another_section_has_another_tag_and_the_same_one_the_same(server: str) -> None:
    tags = [
        http.get(f"{server}/ops/exp{rest}").headers["etag"]
        for rest in (
            ".json",
            ".json?count=401",
            ".json?count=400",
            ".csv",
            ".json?grad_output=-1",
            ".json?dtype=float32",
        )
    ]
    assert tags[0] == tags[1]
    assert len(set(tags)) == 5


def test_a_section_that_failed_is_not_kept(tmp_path: Path) -> None:
    with showing(tmp_path, text=OWN) as server:
        for ending in (".json", ".csv"):
            failed = server.get(f"/ops/Misbehaving{ending}?deed=raise")
            assert (failed.status_code, failed.headers["cache-control"]) == (200, "no-store")
            assert "etag" not in failed.headers


def test_a_second_op_can_be_chosen_beside_a_function_of_ones_own(tmp_path: Path) -> None:
    with showing(tmp_path) as server:
        page = server.get("/compare?left=Clamp&low=-2")
        assert (page.status_code, "Two Functions side by side" in page.text) == (200, True)
        assert 'name="low" value="-2"' in page.text


def test_bytes_that_differ_by_compression_differ_by_tag(server: str) -> None:
    plain = http.get(f"{server}/ops/exp.json", headers={"accept-encoding": "gzip;q=0"})
    packed = http.get(f"{server}/ops/exp.json", headers={"accept-encoding": "br;q=0.1, gzip;q=0.5"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["vary"] == "Accept-Encoding"
    assert plain.headers["etag"] != packed.headers["etag"]
    assert plain.content == packed.content


@pytest.mark.parametrize("address", [*KEPT, "/healthz", "/nothing"])
def test_head_answers_like_get_without_a_body(server: str, address: str) -> None:
    computed(server)
    got, head = http.get(server + address), http.head(server + address)
    assert head.status_code == got.status_code
    assert head.content == b""
    assert {name: value for name, value in head.headers.items() if name != "date"} == {
        name: value for name, value in got.headers.items() if name != "date"
    }


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("address", ["/", "/ops/exp.json", "/healthz", "/static/0/none.js"])
def test_only_get_and_head_are_allowed(server: str, method: str, address: str) -> None:
    response = http.request(method, server + address)
    assert response.status_code == 405
    assert response.headers["allow"] == "GET, HEAD"
    assert "use GET" in response.text


def test_an_unknown_op_is_answered_with_the_closest_name(server: str) -> None:
    problem = http.get(f"{server}/ops/clamp_with_gard.json")
    assert problem.status_code == 404
    assert problem.headers["content-type"] == "application/problem+json"
    assert problem.json() == {
        "type": "about:blank",
        "title": "Not Found",
        "status": 404,
        "detail": "There is no op 'clamp_with_gard'; did you mean clamp_with_grad? The gallery at / shows them all.",
    }
    page = http.get(f"{server}/ops/clamp_with_gard")
    assert page.status_code == 404
    assert '<a href="/ops/clamp_with_grad">Open clamp_with_grad</a>' in page.text


def test_an_unknown_format_is_answered_with_the_known_ones(server: str) -> None:
    page = http.get(f"{server}/ops/exp.xml")
    assert page.status_code == 404
    assert "allowed are .svg, .png, .pdf, .csv, .json, .html and .py after /ops/exp" in page.text


def test_a_page_for_a_browser_and_a_problem_for_a_program_where_there_is_nothing(server: str) -> None:
    page = http.get(f"{server}/nothing", headers={"accept": "text/html"})
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert http.get(f"{server}/nothing").json()["status"] == 404


def test_a_strangers_text_is_escaped_on_the_page(server: str) -> None:
    for address in ("/ops/<script>alert(1)</script>", "/ops/exp?<script>=1", '/ops/exp?count="><script>'):
        assert "<script>" not in http.get(server + address).text


def test_pages_answer_at_once_while_torch_is_loading_and_data_as_soon_as_it_is_there(running: InThread) -> None:
    with torch_loading(running) as loaded, serving_in_thread() as server, ThreadPoolExecutor() as pool:
        data = pool.submit(server.get, "/ops/exp.json")
        health = pool.submit(server.get, "/healthz?wait=1")
        assert server.get("/healthz").json() == {"status": "starting"}
        not_ready = server.get("/healthz?ready=1")
        assert (not_ready.status_code, not_ready.headers["retry-after"]) == (503, "1")
        for address, held in (("/", "/?wait=1"), ("/ops/exp?grad_output=-1", "/ops/exp.json?grad_output=-1")):
            page = server.get(address)
            assert page.status_code == 200
            assert page.headers["cache-control"] == "no-store"
            assert f'data-address="{held}"' in page.text
        loaded()
        assert health.result().json() == {"status": "ready"}
        assert server.get("/healthz?ready=1").json() == {"status": "ready"}
        assert data.result().json()["verdict"]["word"] == "matches"
        assert 'data-still="1"' in server.get("/ops/exp").text


@pytest.fixture(scope="module")
def unhurried() -> Iterator[Server]:
    """A server whose questions may take as long as a test holds them up."""
    with serving_in_thread("--deadline", "300", "--requests-per-peer", "0") as server:
        server.wait_until_ready()
        yield server


def test_more_questions_than_can_wait_are_sent_away_with_a_time_to_come_back(unhurried: Server) -> None:
    with ExitStack() as stack, ThreadPoolExecutor(100) as pool:
        connections = [stack.enter_context(connected(unhurried)) for _ in range(100)]
        with halted(unhurried):
            for i, connection in enumerate(connections):
                send(connection, f"/ops/exp.json?count=5001&grad_output={i + 2}")
            asked = [pool.submit(read, connection) for connection in connections]
            sent_away = [each.result() for each in islice(as_completed(asked), 100 - QUEUE_SIZE)]
        assert {status for status, _, _ in sent_away} == {503}
        answers = [each.result() for each in asked]
    refused = [(headers, body) for status, headers, body in answers if status == 503]
    assert {status for status, _, _ in answers} == {200, 503}
    assert len(refused) == 100 - QUEUE_SIZE
    for headers, body in refused:
        assert headers["retry-after"] == "1"
        assert "ask again" in json.loads(body)["detail"]
    assert unhurried.get("/ops/exp.json").status_code == 200


def test_a_question_whose_client_has_left_is_dropped(unhurried: Server) -> None:
    before = metric(unhurried, 'questions_total{outcome="answered"}')
    with halted(unhurried):
        for i in range(40):
            with connected(unhurried) as connection:
                send(connection, f"/ops/functional_linear.json?grad_output={i + 2}")
                wait_for(unhurried, i + 1)
        metric(unhurried, "waiting")  # whoever has left before is missed by now
    assert unhurried.get("/ops/exp.json?count=7").status_code == 200
    assert metric(unhurried, 'questions_total{outcome="answered"}') - before == 2  # the first was under way
