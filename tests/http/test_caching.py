"""What is known is not computed, compressed or sent again; what went wrong is not kept."""

from __future__ import annotations

import gzip
import subprocess
from collections.abc import Iterator
from pathlib import Path

import brotli
import httpx2
import psutil
import pytest
from functions.misbehaving_op import OWN
from support import http
from support.own_server import showing
from support.servers import InProcess, Server, serving
from support.waiting import until

from gradloupe.server.http.compression import compress, compress_well, negotiate_coding
from gradloupe.server.http.responses import EncodedBody, ResponseCache

PURE = (
    "/",
    "/docs",
    "/ops/exp",
    "/embed/exp",
    "/ops/exp.json?count=11",
    "/ops/exp.csv",
    "/ops/exp.svg",
    "/ops/exp.png",
)


@pytest.fixture(scope="module")
def alone() -> Iterator[InProcess]:
    """A server that answers nobody but these tests, one after the other."""
    with serving() as server:
        server.wait_until_ready()
        yield server


def raw(server: str, address: str, accepted: str, **more: str) -> tuple[httpx2.Headers, bytes]:
    """The headers, and the bytes as they came."""
    headers = {"accept-encoding": accepted} | {name.replace("_", "-"): value for name, value in more.items()}
    with http.stream("GET", server + address, headers=headers) as response:
        return response.headers, b"".join(response.iter_raw())


def test_a_gallery_that_has_not_changed_is_not_drawn_again(alone: InProcess) -> None:
    first = until(lambda: [each for each in [alone.get("/")] if each.headers["cache-control"].startswith("public")])[0]
    web, rounds = psutil.Process(alone.process.pid), 40
    before = sum(web.cpu_times()[:2])
    assert {alone.get("/").headers["etag"] for _ in range(rounds)} == {first.headers["etag"]}
    assert (sum(web.cpu_times()[:2]) - before) / rounds < 0.01  # drawing takes 0.04 s


@pytest.mark.parametrize("address", PURE)
def test_caches_that_serve_many_may_keep_an_answer_and_browsers_ask_again(server: str, address: str) -> None:
    headers, _ = raw(server, address, "br")
    assert headers["cache-control"] == "public, max-age=0, s-maxage=60"
    assert headers["vary"] == "Accept-Encoding"
    assert headers["etag"].startswith('"')


@pytest.mark.parametrize(
    "address", ["/ops/nope", "/ops/exp.json?min=1", "/nothing", "/healthz", "/ops/exp.svg?width=1"]
)
def test_a_refusal_is_kept_by_nobody(server: str, address: str) -> None:
    headers, _ = raw(server, address, "br")
    assert headers["cache-control"] == "no-store"
    assert "etag" not in headers


@pytest.mark.parametrize("address", PURE)
def test_every_coding_has_its_tag_and_the_same_content(server: str, address: str) -> None:
    tags, bodies = set(), set()
    unpack = {"br": brotli.decompress, "gzip": gzip.decompress, None: bytes}
    for accepted in ("br", "gzip", "identity"):
        for _ in range(2):  # written, and kept
            headers, body = raw(server, address, accepted)
            tags.add(headers["etag"])
            bodies.add(unpack[headers.get("content-encoding")](body))
        again = http.get(server + address, headers={"accept-encoding": accepted, "if-none-match": headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
    assert (len(tags), len(bodies)) == (3, 1)


def test_the_tag_of_one_coding_does_not_stand_for_another(server: str) -> None:
    tag = raw(server, "/ops/exp.json", "br")[0]["etag"]
    assert http.get(f"{server}/ops/exp.json", headers={"accept-encoding": "gzip", "if-none-match": tag}).content


ACCEPTED = {
    "": "",
    "br": "br",
    "gzip": "gzip",
    "gzip, deflate, br, zstd": "br",
    "gzip, deflate": "gzip",
    "br;q=0.5, gzip": "gzip",
    "br;q=0.5, gzip;q=0.500": "br",
    "BR ; Q=1.0": "br",
    "br;q=0, gzip;q=0": "",
    "br;q=0": "",
    "*": "br",
    "br;q=0, *": "gzip",
    "*;q=0": "",
    "identity, br;q=0.5": "",
    "identity;q=0.5, gzip": "gzip",
    "br;q=1.5, gzip": "gzip",
    "br;q=, x": "",
    "bread, gzipped": "",
    ",,,;": "",
    "gzip," * 1000: "",
    "é": "",
}


@pytest.mark.parametrize("accepted", ACCEPTED)
def test_the_coding_is_the_one_the_client_prefers(accepted: str) -> None:
    assert negotiate_coding(accepted) == ACCEPTED[accepted]


def test_what_is_written_can_be_read() -> None:
    text = b"forward, analytical, numerical\n" * 5000
    for write in (compress, compress_well):
        br, gz = write(text, "br"), write(text, "gzip")
        assert brotli.decompress(br) == gzip.decompress(gz) == write(text, "") == text
        assert len(br) < len(gz) < len(text) / 20


def test_the_newest_bodies_are_kept_within_their_room() -> None:
    bodies = ResponseCache(800)
    for name in "abcdefghi":
        bodies.keep(name, "br", EncodedBody(bytes(100), "br"))
    assert bodies.find("a", "br") is None
    assert bodies.find("b", "br") == EncodedBody(bytes(100), "br")
    bodies.keep("j", "br", EncodedBody(bytes(60), "br"))  # b was asked for last, so c goes
    assert "".join(name for name in "abcdefghij" if bodies.find(name, "br")) == "bdefghij"
    assert bodies.size == 760
    bodies.keep("j", "br", EncodedBody(bytes(10), "br"))
    assert bodies.size == 710


def test_a_large_body_does_not_drive_out_all_others() -> None:
    bodies = ResponseCache(800)
    bodies.keep("small", "", EncodedBody(b"x" * 80, ""))
    bodies.keep("large", "", EncodedBody(b"x" * 300, ""))
    assert bodies.find("small", "") is not None
    assert bodies.find("large", "") is None


def test_a_failure_is_measured_again(tmp_path: Path) -> None:
    with showing(tmp_path, text=OWN) as server:
        for ending in ("", ".json", ".csv", ".svg"):
            failed = server.get(f"/ops/Misbehaving{ending}?deed=raise")
            assert failed.headers["cache-control"] == "no-store", ending
            assert "etag" not in failed.headers


def counted(server: Server) -> dict[str, float]:
    """Its numbers, by name and labels."""
    lines = [line.rsplit(" ", 1) for line in server.get("/metrics").text.splitlines() if not line.startswith("#")]
    return {name: float(number) for name, number in lines}


@pytest.mark.parametrize("ending", ["", ".json", ".csv", ".svg", ".png"])
def test_an_answer_that_is_there_is_not_computed_drawn_or_compressed_again(alone: InProcess, ending: str) -> None:
    address = f"/ops/clamp_with_grad{ending}?count=1001"
    assert until(lambda: "etag" in raw(alone.url, address, "br")[0])  # a page is sent before its figure is there
    headers, body = raw(alone.url, address, "br")
    before = counted(alone)
    for _ in range(20):
        assert raw(alone.url, address, "br")[1] == body
    kept = counted(alone)
    assert raw(alone.url, address, "br", if_none_match=headers["etag"])[1] == b""
    known = counted(alone)
    hits, asked = 'gradloupe_cache_hits_total{cache="bodies"}', 'gradloupe_questions_total{outcome="answered"}'
    assert [each[hits] - before[hits] for each in (kept, known)] == [20, 20]
    assert before[asked] == kept[asked] == known[asked]


def cpu(server: InProcess) -> float:
    """Seconds of work of the server and of its worker so far."""
    return worked(server.process.pid) + worked(server.worker())


def worked(pid: int) -> float:
    counted = Path(f"/proc/{pid}/schedstat")
    if counted.exists():
        return int(counted.read_text().split()[0]) / 1e9
    said = subprocess.run(["ps", "-o", "time=", "-p", str(pid)], capture_output=True, text=True, check=True).stdout
    minutes, seconds = said.strip().rsplit(":", 1)
    return 60 * float(minutes) + float(seconds)


def work(server: InProcess, addresses: list[str], tag: str = "") -> float:
    """Seconds of work that one of these requests makes."""
    headers = {"accept-encoding": "br"} | ({"if-none-match": tag} if tag else {})
    with httpx2.Client(base_url=server.url, headers=headers, timeout=60) as client:
        began = cpu(server)
        statuses = {client.get(address).status_code for address in addresses}
        assert statuses == {304 if tag else 200}
        return (cpu(server) - began) / len(addresses)


@pytest.mark.parametrize("ending", ["", ".json"])
def test_an_answer_that_is_there_costs_two_fifths_of_a_new_one_at_most(alone: InProcess, ending: str) -> None:
    warm = f"/ops/clamp_with_grad{ending}?count=1001"
    tag = raw(alone.url, warm, "br")[0]["etag"]
    new, kept, known = [], [], []
    for turn in range(5):
        fresh = [f"/ops/clamp_with_grad{ending}?count=1001&grad_output={turn}.{place + 1}" for place in range(4)]
        new.append(work(alone, fresh))
        kept.append(work(alone, [warm] * 20))
        known.append(work(alone, [warm] * 20, tag))
    assert min(kept) <= 0.4 * min(new)
    assert min(known) <= 0.4 * min(new)
