"""The log: one line a request, and not a word in it that came from a client."""

import json
import logging
import re
import signal

import httpx2
import pytest
from support import http
from support.raw_http import connected, read
from support.servers import Server, serving, serving_in_thread, to_the_last, witnessed
from support.waiting import until

from gradloupe.server.http.access_log import logging_config

WORD = "stranger%0d%0aX"


def written(capsys: pytest.CaptureFixture[str], wanted: int) -> list[str]:
    """The next lines of the standard output of a server in this process, as they come."""
    said = ""

    def enough() -> bool:
        nonlocal said
        said += capsys.readouterr().out
        return said.count("\n") >= wanted

    assert until(enough)
    return said.splitlines()


def test_a_request_is_one_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    with serving_in_thread("--log", "json") as server:
        response = server.get("/docs")
        (line,) = written(capsys, 1)
        entry = json.loads(line)
        assert list(entry) == ["time", "method", "route", "status", "ms", "bytes", "id"]
        assert (entry["method"], entry["route"], entry["status"]) == ("GET", "/docs", 200)
        assert entry["bytes"] == int(response.headers["content-length"])
        assert 0 < entry["ms"] < 10_000
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", entry["time"])
        assert entry["id"] == response.headers["x-request-id"]
        given = "0123456789abcdef0123456789abcdef"  # by a proxy
        assert http.get(f"{server.url}/docs", headers={"X-Request-ID": given}).headers["x-request-id"] == given
        assert json.loads(written(capsys, 1)[0])["id"] == given


def test_a_request_is_one_line_of_text(capsys: pytest.CaptureFixture[str]) -> None:
    with serving_in_thread("--log", "text") as server:
        server.get("/docs")
        server.get("/nothing")
        known, unknown = written(capsys, 2)
        assert re.fullmatch(r"\S+Z GET /docs 200 \d+\.\d ms \d+ B [0-9a-f]{16}", known)
        assert " GET (no such address) 404 " in unknown


def strange_requests(server: Server) -> int:
    """Asks for what holds the word of a stranger wherever it may; returns how many lines that makes."""
    addresses = [f"/ops/{WORD}", f"/ops/exp.json?{WORD}=1", f"/ops/exp.json?dtype={WORD}", f"/{WORD}"]
    for address in addresses:
        headers = {"User-Agent": WORD, "Referer": WORD, "X-Request-ID": WORD, "Accept": WORD}
        http.get(server.url + address, headers=headers)
    with connected(server) as connection:
        connection.sendall(b"STRANGER /stranger HTTP/1.1\r\nHost: stranger.example\r\n\r\n")
        read(connection)
    http.request("STRANGER", server.url, headers={"host": "stranger.example"})
    return len(addresses) + 1


def test_no_word_of_a_client_is_written_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    with serving_in_thread("--log", "text") as server:
        server.wait_until_ready()
        said = written(capsys, strange_requests(server))
    assert "\n".join(said).count("/ops/{name}") == 3
    assert "stranger" not in ("".join(said) + "".join(capsys.readouterr())).lower()


def test_no_word_of_a_client_is_written_as_json_and_the_last_line_is_there_when_the_server_has_ended() -> None:
    with witnessed() as (witness, log):
        with serving("--log", "json", log=log) as server:
            server.wait_until_ready()
            lines = strange_requests(server)
            server.get("/docs")
            server.process.send_signal(signal.SIGTERM)
            assert server.process.stdout is not None
            said = server.process.stdout.readlines()
        log.close()
        errors = to_the_last(witness)
    assert len(said) > lines
    assert json.loads(said[-1])["route"] == "/docs"
    assert "stranger" not in ("".join(said) + errors.decode()).lower()


def test_an_exception_is_a_line_with_its_kind_and_place_and_not_its_message() -> None:
    formatter = logging_config("json")["formatters"]["one"]["()"]()
    try:
        raise ValueError(WORD)
    except ValueError as problem:
        told = (type(problem), problem, problem.__traceback__)
    for exception, kind in ((told, "ValueError"), (None, None)):
        record = logging.LogRecord("uvicorn", logging.ERROR, "here.py", 1, "It failed.", None, exception)
        line = json.loads(formatter.format(record))
        assert (line["message"], line.get("kind")) == ("It failed.", kind)
        assert line.get("place", __file__).startswith(__file__)
        assert WORD not in str(line)


def test_nothing_is_written_unless_the_operator_wants_it(capsys: pytest.CaptureFixture[str]) -> None:
    with serving_in_thread() as server:
        assert "x-request-id" not in server.get("/docs").headers
    assert capsys.readouterr().out == ""


def test_a_log_that_is_not_read_or_that_nobody_can_read_any_more_does_not_stop_the_server() -> None:
    with serving("--log", "json") as server, httpx2.Client(base_url=server.url, timeout=60) as client:
        assert {client.get("/healthz").status_code for _ in range(600)} == {200}  # 90 kB; a pipe holds 64
        assert server.process.stdout is not None
        server.process.stdout.close()
        assert [server.get("/docs").status_code for _ in range(5)] == [200] * 5
