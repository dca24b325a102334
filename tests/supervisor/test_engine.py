"""The door: the worker behind it may die at any time, and the server answers or explains."""

import json
import os
import signal
from collections.abc import Iterator

import pytest
from functions.misbehaving_op import OWN
from support.own_server import Own, showing
from support.servers import serving_in_thread
from support.waiting import until

from gradloupe.server.http.access_log import logging_config


@pytest.fixture(scope="module")
def misbehaving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Own]:
    """A server with a Function that does what it is told; a question may take 1 s."""
    with showing(tmp_path_factory.mktemp("misbehaving"), "--deadline", "1", text=OWN) as server:
        yield server


@pytest.mark.parametrize(
    ("deed", "kind", "line"), [("leave", "exit code 4", "os._exit(4)"), ("hang", "Timeout", "time.sleep(60)")]
)
def test_a_function_that_ends_its_process_is_explained_and_the_server_goes_on(
    misbehaving: Own, deed: str, kind: str, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    response = misbehaving.get(f"/ops/Misbehaving.json?deed={deed}")
    answer = response.json()
    assert response.status_code == 200
    assert response.headers["cache-control"] == "no-store"
    assert (answer["failure"]["phase"], answer["failure"]["kind"]) == ("worker", kind)
    written = [text.strip() for text in OWN.splitlines()]
    shown = written[written.index("FORKS, STARTED = [], []") :]  # without the imports
    assert shown[answer["failure"]["line"] - 1] == line
    assert f"line {written.index(line) + 1}, in forward: `{line}`" in answer["failure"]["sentence"]
    assert answer["verdict"]["word"] == "failed"
    assert answer["failure"]["sentence"] == answer["verdict"]["sentence"]
    assert answer["columns"]["x"] == []
    assert misbehaving.get("/ops/Misbehaving.json").json()["verdict"]["word"] == "matches"
    written_in_the_log(caplog, "SIGKILL" if kind == "Timeout" else kind)


def written_in_the_log(caplog: pytest.LogCaptureFixture, ended: str) -> None:
    """Each worker that was lost is a line, as text and as JSON."""
    json_lines = logging_config("json")["formatters"]["one"]["()"]()
    asked = 1 if ended == "SIGKILL" else 2  # once more where no limit was exceeded
    for record in until(lambda: caplog.records[asked - 1 :] and caplog.records):
        line = json.loads(json_lines.format(record))
        assert (line["op"], line["ended"].rpartition(", ")[2]) == ("Misbehaving", ended)
        assert f"{line['seconds']} s after" in record.getMessage()


def test_an_answer_too_large_for_the_channel_is_refused_and_the_worker_stays(misbehaving: Own) -> None:
    misbehaving.wait_until_ready()
    workers = misbehaving.workers()
    refused = misbehaving.get("/ops/Misbehaving.json?deed=shout")
    assert refused.status_code == 422
    assert "above the limit" in refused.json()["detail"]
    assert misbehaving.workers() == workers


def test_more_slow_questions_than_starts_may_fail_are_survived(misbehaving: Own) -> None:
    for number in range(4):
        asked = misbehaving.get(f"/ops/Misbehaving.json?deed=hang&grad_output={number}")
        assert asked.json()["failure"]["kind"] == "Timeout"
    assert misbehaving.get("/ops/exp.json?count=11").json()["verdict"]["word"] == "matches"
    misbehaving.wait_until_ready()


def test_a_worker_killed_while_it_loads_or_afterwards_is_replaced() -> None:
    with serving_in_thread() as server:
        os.kill(server.worker(), signal.SIGKILL)
        server.wait_until_ready()
        first = server.worker()
        os.kill(first, signal.SIGKILL)
        assert server.get("/ops/exp.json").json()["verdict"]["word"] == "matches"
        assert server.worker() != first
