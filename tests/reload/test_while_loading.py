from pathlib import Path

import pytest
from support.own_server import MY_OPS
from support.servers import serving, serving_in_thread
from support.waiting import until

HELD = "\nimport os, time\nwhile not os.path.exists('released'):\n    time.sleep(0.01)\n"


def test_the_gallery_is_there_while_a_file_hangs_at_its_import(tmp_path: Path) -> None:
    (tmp_path / "my_ops.py").write_text(MY_OPS + HELD)
    with serving_in_thread("my_ops.py", cwd=tmp_path) as server:
        assert server.get("/?wait=1").status_code == 200
        page = server.get("/")
        assert "still being imported" in page.text
        assert 'href="/ops/exp"' in page.text
        assert "/ops/Clamp" not in page.text
        assert page.headers["cache-control"] == "no-store"
        assert server.get("/ops/exp.json").json()["verdict"]["word"] == "matches"
        assert "updates by itself" not in server.get("/ops/exp").text
        pair = "/compare?left=exp&right=double"
        assert until(lambda: "updates by itself" not in server.get(pair).text)
        assert server.get(pair.replace("?", ".json?")).status_code == 200
        for address in ("/own", "/ops/Clamp", "/compare?left=exp&right=Clamp"):
            assert "updates by itself" in server.get(address).text
        (tmp_path / "released").touch()
        server.get("/own?wait=1")
        page = server.get("/")
        assert 'href="/ops/Clamp"' in page.text
        assert "still being imported" not in page.text


def test_a_server_is_ready_with_a_file_that_cannot_be_imported(tmp_path: Path) -> None:
    (tmp_path / "my_ops.py").write_text("def")
    with serving_in_thread("my_ops.py", cwd=tmp_path) as server:
        server.get("/own?wait=1")
        assert server.get("/healthz?ready=1").json() == {"status": "ready"}


@pytest.mark.nightly
def test_a_server_that_ends_while_a_file_hangs_says_nothing_of_it(tmp_path: Path) -> None:
    (tmp_path / "my_ops.py").write_text(MY_OPS + HELD)
    with (tmp_path / "log").open("w") as log, serving("my_ops.py", cwd=tmp_path, log=log) as server:
        assert server.get("/?wait=1").status_code == 200
    assert (tmp_path / "log").read_text() == ""
