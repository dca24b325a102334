"""The worker after this one: started whatever ended the last, with the code that is there then."""

import os
import signal
import sys
import sysconfig
from pathlib import Path

import pytest
from functions.misbehaving_op import MISBEHAVING
from support.servers import HERE, serving
from support.waiting import until


def test_a_worker_that_cannot_be_started_is_said_and_tried_again(tmp_path: Path) -> None:
    python, package = tmp_path / "python", tmp_path / "gradloupe"
    python.symlink_to(sys.executable)
    package.symlink_to(HERE)
    path = f"{tmp_path}:{sysconfig.get_path('purelib')}"
    with serving(python=str(python), path=path, cwd=tmp_path) as server:
        server.wait_until_ready()
        python.unlink()
        os.kill(server.forkserver(), signal.SIGKILL)
        assert until(lambda: server.get("/healthz?wait=1").status_code == 503)
        for address in ("/healthz?wait=1", "/ops/exp.json", "/"):
            refused = server.get(address)
            assert refused.status_code == 503
            assert "No worker process" in refused.text
            assert refused.headers["retry-after"] == "1"
        python.symlink_to(sys.executable)
        assert until(lambda: server.get("/healthz?wait=1").status_code == 200)
        assert server.get("/ops/exp.json").json()["verdict"]["word"] == "matches"


@pytest.mark.nightly
@pytest.mark.parametrize("changed", ["server/numerics/verdict/verdict.py", "ops/op.py"])
def test_a_worker_that_has_loaded_other_code_answers_under_another_tag_or_says_what_is_wrong_with_it(
    package_copy: Path, changed: str
) -> None:
    addresses = ("/ops/exp.json", "/ops/exp.csv")
    with serving(path=str(package_copy.parent), cwd=package_copy.parent) as server:
        before = {address: server.get(address).headers["etag"] for address in addresses}
        with (package_copy / changed).open("a") as file:
            file.write("# another release\n")
        os.kill(server.worker(), signal.SIGKILL)
        # What nobody has asked before waits for the next worker; what is kept is answered without one.
        waited = server.get("/ops/square.json").headers
        now = server.get("/ops/square.json").headers["etag"]
        assert waited.get("etag", now) == now  # what waited meanwhile is not kept under the old one
        assert {*before.values()}.isdisjoint(server.get(address).headers["etag"] for address in addresses)
        (package_copy / "ops" / "forgetful.py").write_text('"""This file does not end in op = Op(...)."""\n')
        os.kill(server.worker(), signal.SIGKILL)
        assert until(lambda: server.get("/healthz?wait=1").status_code == 503)
        for address in ("/", "/ops/exp", "/ops/exp.json", "/healthz"):
            response = server.get(address)
            assert response.status_code == 503
            assert "ops/forgetful.py" in response.text


@pytest.mark.nightly
def test_ops_too_large_for_the_channel_are_named(package_copy: Path) -> None:
    wordy = 'from dataclasses import replace\n\nop = replace(op, reference="r" * 9_000_000)\n'
    (package_copy / "ops" / "misbehaving.py").write_text(MISBEHAVING + wordy)
    with serving(path=str(package_copy.parent), cwd=package_copy.parent) as server:
        health = server.get("/healthz?wait=1")
    assert health.status_code == 503
    assert "ops/misbehaving.py" in health.json()["detail"]
    assert "above the limit" in health.json()["detail"]
