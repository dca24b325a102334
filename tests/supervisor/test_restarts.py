"""The worker after this one: started whatever ended the last, with the code that is there then."""

from __future__ import annotations

import os
import signal
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
from functions.misbehaving_op import MISBEHAVING, OWN
from support.own_server import Own, showing
from support.servers import serving
from support.waiting import until

from gradloupe.server.supervisor.supervisor import MAX_FAILED_STARTS

BORROWED = sysconfig.get_path("purelib")


@pytest.fixture(scope="module")
def misbehaving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Own]:
    """A server with a Function that misbehaves; a question may take 2 s."""
    with showing(tmp_path_factory.mktemp("misbehaving"), "--deadline", "2", text=OWN) as server:
        yield server


def test_any_number_of_slow_questions_is_survived(misbehaving: Own) -> None:
    for number in range(MAX_FAILED_STARTS + 1):
        asked = misbehaving.get(f"/ops/Misbehaving.json?deed=hang&grad_output={number}")
        assert asked.json()["failure"]["kind"] == "Timeout"
    assert misbehaving.get("/ops/exp.json?count=11").json()["verdict"]["word"] == "matches"
    misbehaving.wait_until_ready()


def test_an_answer_too_large_for_the_channel_is_refused_and_the_worker_stays(misbehaving: Own) -> None:
    workers = misbehaving.workers()
    refused = misbehaving.get("/ops/Misbehaving.json?deed=shout")
    assert refused.status_code == 422
    assert "Misbehaving cannot be sent: a frame of" in refused.json()["detail"]
    assert "above the limit" in refused.json()["detail"]
    assert misbehaving.workers() == workers


def test_ops_too_large_for_the_channel_are_named(package_copy: Path) -> None:
    wordy = 'from dataclasses import replace\n\nop = replace(op, reference="r" * 9_000_000)\n'
    (package_copy / "ops" / "misbehaving.py").write_text(MISBEHAVING + wordy)
    with serving(path=str(package_copy.parent), cwd=package_copy.parent) as server:
        health = server.get("/healthz?wait=1")
    assert health.status_code == 503
    assert "ops/misbehaving.py" in health.json()["detail"]
    assert "above the limit" in health.json()["detail"]


def test_a_worker_that_cannot_be_started_is_said_and_tried_again(package_copy: Path) -> None:
    python = package_copy.parent / "python"
    python.symlink_to(sys.executable)
    with serving(python=str(python), path=f"{package_copy.parent}:{BORROWED}", cwd=package_copy.parent) as server:
        server.wait_until_ready()
        python.unlink()
        os.kill(server.forkserver(), signal.SIGKILL)
        assert until(lambda: server.get("/healthz?wait=1").status_code == 503)
        for address in ("/healthz?wait=1", "/ops/exp.json", "/"):
            refused = server.get(address)
            assert refused.status_code == 503
            assert "No worker process can be started" in refused.text
            assert refused.headers["retry-after"] == "1"
        python.symlink_to(sys.executable)
        assert until(lambda: server.get("/healthz?wait=1").status_code == 200)
        assert server.get("/ops/exp.json").json()["verdict"]["word"] == "matches"


def test_a_worker_that_has_loaded_other_code_answers_under_another_tag(package_copy: Path) -> None:
    with serving(path=str(package_copy.parent), cwd=package_copy.parent) as server:
        before = {address: server.get(address).headers["etag"] for address in ("/ops/exp.json", "/ops/exp.csv")}
        for changed in ("ops/op.py", "server/numerics/verdict/verdict.py"):
            with (package_copy / changed).open("a") as file:
                file.write("# another release\n")
            os.kill(server.worker(), signal.SIGKILL)
            # What nobody has asked before waits for the next worker; what is kept is answered without one.
            assert server.get(f"/ops/square.json?grad_output={len(changed)}").status_code == 200
            after = {address: server.get(address).headers["etag"] for address in before}
            assert set(before.values()).isdisjoint(after.values())
            before = after


def test_what_waited_while_other_code_was_loaded_is_not_kept(package_copy: Path) -> None:
    with serving(path=str(package_copy.parent), cwd=package_copy.parent) as server:
        server.wait_until_ready()
        with (package_copy / "ops" / "op.py").open("a") as file:
            file.write("# another release\n")
        os.kill(server.worker(), signal.SIGKILL)
        waited = server.get("/ops/exp.json").headers
        server.wait_until_ready()
        now = server.get("/ops/exp.json").headers["etag"]
        assert waited.get("etag", now) == now
