"""The door: the worker behind it may die at any time, and the server answers or explains."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from select import select

import httpx2
import pytest
from functions.misbehaving_op import OWN
from support.documents import without_results
from support.own_server import Own, showing
from support.servers import Server, serving, serving_in_thread, to_the_last, witnessed
from support.waiting import until

from gradloupe.server.http.access_log import logging_config


@pytest.fixture(scope="module")
def misbehaving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Own]:
    """A server with a Function that does what it is told; a question may take 6 s."""
    with showing(tmp_path_factory.mktemp("misbehaving"), "--deadline", "6", text=OWN) as server:
        yield server


def test_a_function_that_prints_disturbs_neither_the_answers_nor_the_log(tmp_path: Path) -> None:
    (tmp_path / "my_ops.py").write_text(OWN)
    with (tmp_path / "log").open("w") as log, serving("my_ops.py", cwd=tmp_path, log=log) as server:
        server.wait_until_ready()
        assert server.get("/ops/Misbehaving.json?deed=print").json()["verdict"]["word"] == "matches"
    assert "{}" not in (tmp_path / "log").read_text()


@pytest.mark.parametrize(
    ("deed", "kind", "line"),
    [
        ("segfault", "SIGSEGV", "ctypes.string_at(0)"),
        ("exit", "exit code 3", "sys.exit(3)"),
        ("leave", "exit code 4", "os._exit(4)"),
        ("hang", "Timeout", "time.sleep(60)"),
    ],
)
def test_a_function_that_ends_its_process_is_explained_and_the_server_goes_on(
    misbehaving: Own, deed: str, kind: str, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    response = misbehaving.get(f"/ops/Misbehaving.json?deed={deed}")
    answer = response.json()
    assert response.status_code == 200
    assert (answer["failure"]["phase"], answer["failure"]["kind"]) == ("worker", kind)
    written = [text.strip() for text in OWN.splitlines()]
    shown = written[written.index("FORKS, STARTED = [], []") :]  # without the imports
    assert shown[answer["failure"]["line"] - 1] == line
    assert (
        f"last line: my_ops.py, line {written.index(line) + 1}, in forward: `{line}`;" in answer["failure"]["sentence"]
    )
    assert answer["verdict"]["word"] == "failed"
    assert "Misbehaving" in answer["verdict"]["sentence"]
    assert answer["failure"]["sentence"] == answer["verdict"]["sentence"]
    assert " raised " not in answer["failure"]["sentence"]
    assert answer["columns"]["x"] == []
    assert response.headers["cache-control"] == "no-store"
    assert misbehaving.get("/ops/Misbehaving.json").json()["verdict"]["word"] == "matches"
    written_in_the_log(caplog, "SIGKILL" if kind == "Timeout" else kind)


def written_in_the_log(caplog: pytest.LogCaptureFixture, ended: str) -> None:
    """Each worker that was lost is a line, as text and as JSON."""
    json_lines = logging_config("json")["formatters"]["one"]["()"]()
    asked = 1 if ended == "SIGKILL" else 2  # once more where no limit was exceeded
    for record in until(lambda: caplog.records[asked - 1 :] and caplog.records):
        line = json.loads(json_lines.format(record))
        assert (line["op"], line["ended"].rpartition(", ")[2]) == ("Misbehaving", ended)
        assert f"{line['seconds']} s after it was asked for Misbehaving" in record.getMessage()


def test_a_function_that_raises_is_a_result_with_its_message(misbehaving: Own) -> None:
    for ending in (".json", ".csv"):
        response = misbehaving.get(f"/ops/Misbehaving{ending}?deed=raise")
        assert response.status_code == 200
        assert "half of a surrogate pair: ?" in response.text


def test_whatever_failed_the_answer_has_the_same_shape(misbehaving: Own) -> None:
    raised, lost = (misbehaving.get(f"/ops/Misbehaving.json?deed={deed}").json() for deed in ("raise", "exit"))
    assert raised["failure"]["phase"] == "forward"
    assert lost["failure"]["phase"] == "worker"
    assert raised.keys() == lost.keys()
    for answer in (raised, lost):
        nothing = without_results("curves", answer["verdict"]["sentence"], answer["failure"])
        assert {name: answer[name] for name in nothing} == nothing


def test_a_function_that_forks_answers_once(misbehaving: Own) -> None:
    assert misbehaving.get("/ops/Misbehaving.json?deed=fork").json()["verdict"]["word"] == "matches"
    assert misbehaving.get("/ops/Misbehaving.json?count=5").json()["op"] == "Misbehaving"


def test_a_killed_worker_is_replaced_before_the_next_question() -> None:
    with serving_in_thread() as server:
        server.wait_until_ready()
        first = server.worker()
        os.kill(first, signal.SIGKILL)
        assert server.get("/ops/exp.json").json()["verdict"]["word"] == "matches"
        assert server.worker() != first


def test_questions_under_way_when_the_worker_is_killed_are_answered_by_the_next(running: Server) -> None:
    worker = running.worker()
    addresses = [f"/ops/exp.json?count=2001&start=-1.{i}" for i in range(100, 160)]
    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(running.get, address) for address in addresses]
        asked[10].result()
        os.kill(worker, signal.SIGKILL)
        answers = [each.result() for each in asked]
    assert [answer.text[:200] for answer in answers if answer.status_code != 200] == []
    assert {answer.json()["verdict"]["word"] for answer in answers} == {"matches"}
    assert running.worker() != worker


def test_a_worker_killed_while_it_loads_is_started_again() -> None:
    with serving_in_thread() as server:
        os.kill(server.worker(), signal.SIGKILL)
        server.wait_until_ready()


def test_an_op_that_cannot_be_loaded_is_named_on_every_page(package_copy: Path) -> None:
    (package_copy / "ops" / "forgetful.py").write_text('"""This file does not end in op = Op(...)."""\n')
    with serving(path=str(package_copy.parent), cwd=package_copy.parent) as server:
        health = server.get("/healthz?wait=1")
        assert health.status_code == 503
        assert "ops/forgetful.py" in health.json()["detail"]
        for address in ("/", "/ops/exp", "/ops/exp.json", "/healthz"):
            response = server.get(address)
            assert response.status_code == 503
            assert "ops/forgetful.py" in response.text


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("ready", [True, False])
def test_a_server_told_to_end_leaves_no_process_behind(sign: signal.Signals, ready: bool) -> None:
    with witnessed() as (witness, log), serving(log=log) as server:
        log.close()
        if ready:
            server.wait_until_ready()
        server.process.send_signal(sign)
        server.process.wait(60)
        to_the_last(witness)


@pytest.mark.parametrize("doing", ["loading", "waiting", "computing"])
def test_a_killed_server_takes_its_worker_with_it(tmp_path: Path, doing: str) -> None:
    (tmp_path / "my_ops.py").write_text(OWN)
    with witnessed() as (witness, log), serving("my_ops.py", cwd=tmp_path, log=log) as server:
        log.close()
        if doing != "loading":
            server.wait_until_ready()
        if doing == "computing":
            thread = threading.Thread(target=_ask_and_be_left, args=(server,))
            _await_the_hanging(tmp_path, thread)
        server.process.kill()
        server.process.wait()
        to_the_last(witness)
        if doing == "computing":
            thread.join()


def _await_the_hanging(folder: Path, thread: threading.Thread) -> None:
    """The Function opens a file before it hangs; as a pipe, that is heard here."""
    os.mkfifo(folder / "hanging")
    heard = os.open(folder / "hanging", os.O_RDONLY | os.O_NONBLOCK)
    thread.start()
    assert select([heard], [], [], 60)[0]
    os.close(heard)


def _ask_and_be_left(server: Server) -> None:
    with pytest.raises(httpx2.TransportError):
        server.get("/ops/Misbehaving.json?deed=hang")
