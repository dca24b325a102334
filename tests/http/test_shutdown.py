"""The end of a server: what is under way is finished, what comes then is refused, and nothing stays behind."""

import signal
import socket
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from functions.misbehaving_op import OWN
from support.raw_http import connected, read, send
from support.servers import serving, to_the_last, witnessed


@pytest.mark.parametrize("last", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.nightly)])
def test_requests_under_way_are_finished_new_ones_refused_and_idle_connections_closed(last: signal.Signals) -> None:
    with witnessed() as (witness, log):
        with serving(log=log) as server, ExitStack() as stack:
            server.wait_until_ready()
            idle = stack.enter_context(connected(server))
            idle.sendall(b"HEAD /docs HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"200" in idle.recv(65536)
            connections = [stack.enter_context(connected(server)) for _ in range(12)]
            for place, connection in enumerate(connections):
                send(connection, f"/ops/exp.json?count=401&grad_output=1.{place}1")
            assert server.get("/healthz").status_code == 200  # it was sent later: those sent before have arrived
            half_open = stack.enter_context(connected(server))
            half_open.sendall(b"GET /ops/exp.json HTTP/1.1\r\n")
            server.process.send_signal(last)
            with suppress(ConnectionResetError):
                assert half_open.recv(1) == b""  # the end has begun
            host, port = server.url.removeprefix("http://").split(":")
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((host, int(port)), 5)
            answered = [read(connection) for connection in connections]
            assert [status for status, _, _ in answered] == [200] * 12
            assert all(headers["connection"] == "close" for _, headers, _ in answered)
            assert idle.recv(65536) == b""
            server.process.wait(20)
        log.close()
        assert b"shutdown exceeded" not in to_the_last(witness)  # as uvicorn says where it has waited in vain


def test_what_takes_longer_than_the_end_may_is_told_to_come_back(tmp_path: Path) -> None:
    (tmp_path / "my_ops.py").write_text(OWN)
    with serving("my_ops.py", "--deadline", "60", cwd=tmp_path) as server:
        server.wait_until_ready()
        with connected(server) as number, connected(server) as page:
            send(number, "/ops/Misbehaving.json?deed=match")  # a call in C that no limit of time interrupts
            send(page, "/ops/Misbehaving.html")
            assert server.get("/healthz").status_code == 200
            server.process.send_signal(signal.SIGTERM)
            for connection in (number, page):
                status, headers, body = read(connection)
                assert (status, headers["retry-after"]) == (503, "1")
                assert b"ask again" in body
