"""The names a server answers to: those of this machine and of its operator, so that no page can borrow another."""

import json
import socket
from collections.abc import Iterator

import pytest
from support.host_headers import ELSEWHERE, asked
from support.servers import Server, serving_in_thread

GIVEN = ("--name", "loupe.example.org", "--name", "*.school.example", "--url", "https://gradients.example:8443")


@pytest.fixture(scope="module")
def named() -> Iterator[Server]:
    with serving_in_thread(*GIVEN) as server:
        server.wait_until_ready()
        yield server


OURS = """
    localhost localhost:8000 LOCALHOST localhost. localhost.:80 embed.localhost a.b.localhost:1 127.0.0.1 127.0.0.1:8000
    10.1.2.3 [::1] [::1]:8000 [2001:db8::1]:65535 [::ffff:127.0.0.1] loupe.example.org Loupe.Example.Org.:443
    x.school.example a.b.school.example gradients.example gradients.example:8443 localhost:
"""
NOTHING = """
    [::1 ::1 [::1]] [1.2.3.4] [zz] localhost:x localhost:65536 localhost:-1 a/b a@b user@localhost http://localhost
    localhost,evil.example a%00 .localhost a..localhost . ? [fe80::1%25eth0]
"""


@pytest.mark.parametrize("host", [*OURS.split(), socket.gethostname(), f"{socket.gethostname().split('.')[0]}.local"])
def test_names_of_this_machine_and_of_its_operator_are_answered(named: Server, host: str) -> None:
    assert asked(named, f"Host: {host}")[0] == 200


@pytest.mark.parametrize("host", ELSEWHERE.split())
def test_another_name_is_refused_with_the_way_to_allow_it(named: Server, host: str) -> None:
    status, headers, body = asked(named, f"Host: {host}")
    assert status == 421
    assert headers["content-type"] == "application/problem+json"
    assert headers["cache-control"] == "no-store"
    assert "content-security-policy" in headers
    problem = json.loads(body)
    assert problem["status"] == 421
    assert problem["detail"].count(".  ") == 0
    assert f"--name {host}," in problem["detail"]


@pytest.mark.parametrize("host", [*NOTHING.split(), "", "a b", "\xe9.example"])
def test_what_is_no_host_is_a_bad_request(named: Server, host: str) -> None:
    assert asked(named, f"Host: {host}")[0] == 400


def test_a_request_names_exactly_one_host(named: Server) -> None:
    for headers in ((), ("Host: localhost", "Host: localhost"), ("Host: localhost", "Host: evil.example")):
        status, _, body = asked(named, *headers)
        assert status == 400
        assert b"one host" in body or b"Invalid HTTP" in body


def test_the_names_of_the_operator_are_nobody_elses(server: str, running: Server) -> None:
    assert asked(running, "Host: loupe.example.org")[0] == 421
