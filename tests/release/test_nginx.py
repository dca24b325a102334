"""Behind nginx, with the configuration that is shipped: real servers, a real nginx, answers kept and passed on."""

import base64
import gzip
import hashlib
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import brotli
import httpx2
import pytest
from support import http
from support.halted_worker import crowded
from support.nginx import free_port, nginx_running
from support.servers import HERE, Server, serving, serving_in_thread
from support.waiting import until

pytestmark = pytest.mark.release

SHIPPED = (HERE / "deploy/nginx/nginx.conf").read_text()
BEHIND = ("--public", "--requests-per-peer", "0", "--forwarded-allow-ips", "127.0.0.1")


@dataclass(frozen=True)
class Front:
    """nginx, and the two servers behind it."""

    url: str
    behind: tuple[Server, ...]
    peers: Path  # the address of whoever has asked, a line each
    lives: tuple[ExitStack, ...] = ()  # which end when they are closed

    def get(self, address: str, **headers: str) -> httpx2.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return http.get(self.url + address, headers={"accept-encoding": "br"} | named)


def configured(folder: Path, port: int, behind: tuple[Server, ...]) -> str:
    """The shipped file, with the ports and folders of this test."""
    servers = " ".join(f"server {server.url.removeprefix('http://')} max_fails=0;" for server in behind)
    text = re.sub(r"server \w+:8000 resolve max_fails=0;", servers, SHIPPED)
    text = text.replace("listen 8080", f"listen 127.0.0.1:{port}")
    text = text.replace("8081", str(free_port()))
    text = text.replace("/tmp/", f"{folder}/").replace("/var/cache/nginx", str(folder))  # noqa: S108
    text = text.replace("access_log off;", f"log_format peer $remote_addr; access_log {folder}/peers peer;")
    assert text.count(str(folder)) == 9
    return text


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    folder, port = tmp_path_factory.mktemp("nginx"), free_port()
    with ExitStack() as stack:
        lives = tuple(stack.enter_context(ExitStack()) for _ in range(2))
        behind = tuple(life.enter_context(serving_in_thread(*BEHIND)) for life in lives)
        for server in behind:
            server.wait_until_ready()
        stack.enter_context(nginx_running(folder, configured(folder, port, behind), port))
        yield Front(f"http://127.0.0.1:{port}", behind, folder / "peers", lives)


def requests(server: Server) -> int:
    """How many requests for sections this server has answered."""
    text = server.get("/metrics").text
    return sum(int(float(n)) for n in re.findall(r'requests_total\{route="/(?:ops|embed)/.*\} (\S+)', text))


@pytest.mark.parametrize("address", ["/ops/exp", "/embed/exp", "/ops/exp.json", "/ops/exp.csv", "/ops/exp.svg"])
def test_an_answer_is_asked_for_once_and_then_kept(front: Front, address: str) -> None:
    first, second = front.get(f"{address}?count=31"), front.get(f"{address}?count=31")
    before = sum(map(requests, front.behind))
    third = front.get(f"{address}?count=31")
    assert [each.headers["x-cache-status"] for each in (first, second, third)] == ["MISS", "HIT", "HIT"]
    assert first.content == second.content == third.content
    assert first.headers["etag"] == third.headers["etag"]
    assert third.headers["content-security-policy"] == first.headers["content-security-policy"]
    assert sum(map(requests, front.behind)) == before


def test_who_has_an_answer_is_told_so(front: Front) -> None:
    tag = front.get("/ops/cube.json").headers["etag"]
    for _ in range(2):
        again = front.get("/ops/cube.json", if_none_match=tag)
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == tag
    assert front.get("/ops/cube.json", if_none_match='"another"').status_code == 200
    never_asked = front.get("/ops/sinh.json", if_none_match=tag)
    assert never_asked.status_code == 200


CODINGS = {
    "br, gzip": "br",
    "gzip, deflate, br, zstd": "br",
    "gzip": "gzip",
    "gzip, deflate": "gzip",
    "br;q=0, gzip": "gzip",
    "br;q=0.0, gzip;q=0.3": "gzip",
    "gzip;q=0": None,
    "identity": None,
    "deflate": None,
}


def test_codings_are_not_mixed_up(front: Front) -> None:
    unpack = {"br": brotli.decompress, "gzip": gzip.decompress, None: bytes}
    expected = http.get(f"{front.behind[0].url}/ops/square.json", headers={"accept-encoding": "identity"}).content
    for accepted, coding in [*CODINGS.items()] * 2:
        with http.stream("GET", f"{front.url}/ops/square.json", headers={"accept-encoding": accepted}) as response:
            assert response.headers.get("content-encoding") == coding, accepted
            assert response.headers["vary"] == "Accept-Encoding"
            assert unpack[coding](b"".join(response.iter_raw())) == expected
    tags = {front.get("/ops/square.json", accept_encoding=each).headers["etag"] for each in CODINGS}
    assert len(tags) == 3


def test_static_files_are_kept_for_all(front: Front) -> None:
    (address,) = set(re.findall(r'"(/static/[^"]+/pages/op\.js)"', front.get("/ops/exp").text))
    assert front.get(address).headers["x-cache-status"] in ("MISS", "HIT")
    kept = front.get(address, host="localhost")
    assert kept.headers["x-cache-status"] == "HIT"
    assert kept.headers["cache-control"] == "public, max-age=31536000, immutable"
    moved = front.get(re.sub("/static/[0-9a-f]+", "/static/0123456789ab", address))
    assert (moved.status_code, moved.headers["location"]) == (307, address)


@pytest.mark.parametrize("address", ["/ops/nope.json", "/ops/exp.json?min=1", "/nothing"])
def test_refusals_pass_and_are_not_kept(front: Front, address: str) -> None:
    for _ in range(2):
        refused = front.get(address)
        assert refused.status_code in (404, 422)
        assert refused.headers["cache-control"] == "no-store"
        assert refused.headers["x-cache-status"] != "HIT"


@pytest.mark.parametrize(("path", "status"), [("/play.json", 403), ("/play.page.json", 403), ("/ops/exp.json", 413)])
def test_a_text_that_was_edited_passes_where_it_is_asked_for_and_nothing_else_so_large(
    front: Front, path: str, status: int
) -> None:
    reply = httpx2.post(front.url + path, content=b"x" * 2**16, timeout=60)
    assert reply.status_code == status
    assert ("--play" in reply.text) == (status == 403)


def test_the_metrics_stay_inside(front: Front) -> None:
    assert front.get("/metrics").status_code == 404


def test_a_page_names_the_address_it_was_asked_at_unless_it_is_nobodys(front: Front) -> None:
    for host in ("localhost:1234", "a.localhost"):
        assert f"http://{host}/ops/double" in front.get("/ops/double", host=host).text
    assert front.get("/ops/exp.json", host="evil.example").status_code == 421


def test_a_proxy_with_the_certificate_says_who_asks_and_by_which_scheme(front: Front) -> None:
    asked = {"x_forwarded_for": "192.0.2.1, 203.0.113.9", "x_forwarded_proto": "https"}
    links = [f"{scheme}://{front.url.removeprefix('http://')}/ops/double" for scheme in ("https", "http")]
    for headers, link, other in ((asked, *links), ({}, *links[::-1])):
        page = front.get("/ops/double", **headers).text
        assert link in page
        assert other not in page
    assert until(lambda: "203.0.113.9" in front.peers.read_text().splitlines())


def test_the_last_word_of_those_that_are_busy_passes_and_what_is_kept_is_still_there(front: Front) -> None:
    kept = front.get("/ops/exp.json?count=90").content
    with crowded(front.behind[0], "cube"), crowded(front.behind[1], "cube"):
        refused = front.get("/ops/exp.json?count=91")
        assert refused.status_code == 503
        assert refused.headers["retry-after"] == "1"
        assert "ask again" in refused.json()["detail"]
        assert refused.headers["cache-control"] == "no-store"
        assert front.get("/ops/exp.json?count=90").content == kept
    assert until(lambda: front.get("/ops/exp.json?count=91").status_code == 200)


def test_one_that_is_busy_or_has_ended_is_not_missed(front: Front) -> None:
    with crowded(front.behind[0], "sinh"):
        assert {front.get(f"/ops/exp.json?count={40 + place}").status_code for place in range(8)} == {200}
    front.lives[0].close()
    assert {front.get(f"/ops/exp.json?count={60 + place}").status_code for place in range(8)} == {200}


def test_what_is_kept_is_not_counted_and_what_is_not_is_for_one_address(front: Front, tmp_path: Path) -> None:
    port = free_port()
    slow = configured(tmp_path, port, front.behind).replace("rate=100r/s", "rate=1r/m").replace("burst=500", "burst=20")
    with nginx_running(tmp_path, slow, port):
        few = Front(f"http://127.0.0.1:{port}", front.behind, tmp_path / "peers")
        assert {few.get("/embed/exp?count=33").status_code for _ in range(100)} == {200}
        statuses = [few.get(f"/nothing?ask={number}").status_code for number in range(30)]
        assert statuses == [404] * 20 + [503] * 10
        assert few.get("/embed/exp?count=33").status_code == 200
        another = few.get("/nothing", x_forwarded_for="203.0.113.9")
        assert another.status_code == 404
        for place, framed in (("embed", ""), ("ops", "; frame-ancestors 'self'")):
            refused = few.get(f"/{place}/cube?count=33", accept="text/html,*/*")
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            assert 'http-equiv="refresh"' in refused.text
            style = re.findall("<style>(.*)</style>", refused.text)[0].encode()
            admitted = f"style-src 'sha256-{base64.b64encode(hashlib.sha256(style).digest()).decode()}'"
            assert refused.headers["content-security-policy"] == f"default-src 'none'; {admitted}{framed}"
        assert few.get("/ops/cube.json?count=33", accept="application/json").json()["status"] == 503


def test_while_builds_follow_each_other_a_page_gets_the_files_of_its_own_and_later_the_present_ones(
    tmp_path: Path, package_copy: Path
) -> None:
    style = package_copy / "static" / "css" / "base.css"
    style.write_text(style.read_text() + "\n.another-build { color: red }\n")
    copy = {"path": str(package_copy.parent), "cwd": package_copy.parent}
    with ExitStack() as stack:
        life = stack.enter_context(ExitStack())
        behind = (life.enter_context(serving_in_thread(*BEHIND)), stack.enter_context(serving(*BEHIND, **copy)))
        for server in behind:
            server.wait_until_ready()
        port = free_port()
        stack.enter_context(nginx_running(tmp_path, configured(tmp_path, port, behind), port))
        front = Front(f"http://127.0.0.1:{port}", behind, tmp_path / "peers")
        builds = [files_of(each.get("/ops/exp").text) for each in behind]
        assert not builds[0] & builds[1]
        for files in builds:
            assert {front.get(file).status_code for file in files} == {200}
        pages = [files_of(front.get(f"/ops/exp?count={count}").text) for count in range(60, 70)]
        assert [page in builds for page in pages] == [True] * 10  # none is mixed, and both builds are asked
        assert len(set(map(frozenset, pages))) == 2
        life.close()
        digest, present = (next(iter(files)).split("/")[2] for files in builds)
        moved = front.get(f"/static/{digest}/pages/lesson.css")  # which nobody has asked for
        assert moved.status_code == 307, moved.text
        assert moved.headers["location"] == f"/static/{present}/pages/lesson.css"
        assert front.get("/static/0123456789ab/nothing.js").status_code == 404


def files_of(page: str) -> set[str]:
    """The addresses of the files that a page asks for."""
    return set(re.findall(r'"(/static/[^"]+)"', page))


def test_when_nobody_is_there_nginx_says_so_in_a_sentence(front: Front) -> None:
    kept = front.get("/ops/exp.json").content
    for life in front.lives:
        life.close()
    refused = front.get("/ops/exp.json?count=99")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json()["detail"].endswith("ask again in a second.")
    assert front.get("/ops/exp.json").content == kept
