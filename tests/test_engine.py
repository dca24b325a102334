"""The door: the worker behind it may die at any time, and the server answers or explains."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from serving import Server, copy_of_the_house, is_alive, serving

MISBEHAVING = '''
import ctypes, os, sys, time
import torch
from .op import Input, Op, Parameter

BORN = os.getpid()

class Misbehaving(torch.autograd.Function):
    """Does what it is told not to do, far from 0."""

    @staticmethod
    def forward(ctx, x, deed):
        if deed == "print":
            print("{}", flush=True)
        if deed == "segfault" and x.abs().max() > 2:
            ctypes.string_at(0)
        if deed == "exit" and x.abs().max() > 2:
            sys.exit(3)
        if deed == "hang" and x.abs().max() > 2:
            open("hanging", "w").close()
            time.sleep(60)
        if deed == "raise":
            raise ValueError("half of a surrogate pair: \\ud800")
        if deed == "fork" and os.getpid() == BORN:
            os.fork()
        return x * 2

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2, None


op = Op(
    function=Misbehaving,
    title="Misbehaving",
    group="Newcomers",
    forward="y = 2x",
    backward="2",
    inputs=(Input("x"),),
    parameters=(
        Parameter("deed", "none", kind="choice", choices=tuple("none print raise segfault exit hang fork".split())),
    ),
)
'''


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with one more op, dropped into ops/ of a copy; a question may take 2 s."""
    folder = tmp_path_factory.mktemp("newcomer")
    (copy_of_the_house(folder) / "ops" / "misbehaving.py").write_text(MISBEHAVING)
    with serving("--deadline", "2", path=str(folder), cwd=folder) as server:
        server.wait_until_ready()
        yield server


def test_a_file_dropped_into_ops_appears_in_gallery_page_and_api(newcomer: Server) -> None:
    assert 'href="/ops/misbehaving"' in newcomer.get("/").text
    assert "Does what it is told not to do" in newcomer.get("/ops/misbehaving").text
    assert newcomer.get("/ops/misbehaving.json").json()["verdict"]["word"] == "matches"


def test_a_function_that_prints_does_not_disturb_the_answers(newcomer: Server) -> None:
    assert newcomer.get("/ops/misbehaving.json?deed=print").json()["verdict"]["word"] == "matches"


@pytest.mark.parametrize(("deed", "kind"), [("segfault", "SIGSEGV"), ("exit", "exit code 3"), ("hang", "Timeout")])
def test_a_function_that_ends_its_process_is_explained_and_the_server_goes_on(
    newcomer: Server, deed: str, kind: str
) -> None:
    response = newcomer.get(f"/ops/misbehaving.json?deed={deed}")
    answer = response.json()
    assert response.status_code == 200
    assert (answer["failure"]["phase"], answer["failure"]["kind"]) == ("worker", kind)
    assert answer["verdict"]["word"] == "failed"
    assert "misbehaving" in answer["verdict"]["sentence"]
    assert answer["columns"]["x"] == []
    assert response.headers["cache-control"] == "no-store"
    assert newcomer.get("/ops/exp.json").json()["verdict"]["word"] == "matches"


def test_a_function_that_raises_is_a_result_with_its_message(newcomer: Server) -> None:
    for ending in (".json", ".csv"):
        response = newcomer.get(f"/ops/misbehaving{ending}?deed=raise")
        assert response.status_code == 200
        assert "half of a surrogate pair: ?" in response.text


def test_a_function_that_forks_answers_once(newcomer: Server) -> None:
    assert newcomer.get("/ops/misbehaving.json?deed=fork").json()["verdict"]["word"] == "matches"
    assert newcomer.get("/ops/exp.json").json()["op"] == "exp"


def test_a_killed_worker_is_replaced_before_the_next_question() -> None:
    with serving() as server:
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
    with serving() as server:
        os.kill(server.worker(), signal.SIGKILL)
        server.wait_until_ready()


def test_an_op_that_cannot_be_loaded_is_named_on_every_page(house: Path) -> None:
    (house / "ops" / "forgetful.py").write_text('"""This file does not end in op = Op(...)."""\n')
    with serving(path=str(house.parent), cwd=house.parent) as server:
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
    with serving() as server:
        worker = server.worker()
        if ready:
            server.wait_until_ready()
        server.process.send_signal(sign)
        server.process.wait(10)
        _until(lambda: not is_alive(worker))


@pytest.mark.parametrize("doing", ["loading", "waiting", "computing"])
def test_a_killed_server_takes_its_worker_with_it(house: Path, doing: str) -> None:
    (house / "ops" / "misbehaving.py").write_text(MISBEHAVING)
    with serving(path=str(house.parent), cwd=house.parent) as server:
        worker = server.worker()
        if doing != "loading":
            server.wait_until_ready()
        if doing == "computing":
            thread = threading.Thread(target=_ask_and_be_left, args=(server,))
            thread.start()
            _until((house.parent / "hanging").exists)
        server.process.kill()
        server.process.wait()
        _until(lambda: not is_alive(worker))
        if doing == "computing":
            thread.join()


def _ask_and_be_left(server: Server) -> None:
    with pytest.raises(httpx2.TransportError):
        server.get("/ops/misbehaving.json?deed=hang")


def _until(came_true: Callable[[], bool]) -> None:
    given_up = time.monotonic() + 20
    while not came_true():
        assert time.monotonic() < given_up
