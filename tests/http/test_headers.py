"""The headers of a response, by the kind of its address: who may read, frame and keep it, and what runs in it."""

import gzip
import re

import brotli
import httpx2
import pytest
from support import http
from support.halted_worker import metric
from support.servers import InThread, serving_in_thread
from support.waiting import until

PAIR = "left=exp&right=double"
PICTURES = [place.format(end) for end in ("svg", "png", "pdf") for place in ("/ops/exp.{}", f"/compare.{{}}?{PAIR}")]
SOURCES = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='; "
    "img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'"
)
OF_PAGES = {
    "content-security-policy": f"{SOURCES}; frame-src 'self'; frame-ancestors 'self'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "access-control-allow-origin": None,
}
OF_ALL = {
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "access-control-allow-credentials": None,
    "server": None,
}
READ = {
    "cross-origin-resource-policy": "cross-origin",
    "access-control-allow-origin": "*",
    "access-control-expose-headers": "retry-after",
}
# By the kind of an address: the addresses, and how their headers differ from those of a page.
KINDS = {
    "a page": (
        ["/", "/ops/exp", "/docs", "/lessons", "/glossary", f"/compare?{PAIR}", "/ops/nope", "/ops/exp?min=1"],
        {},
    ),
    "a file": (["/ops/exp.html", f"/compare.json?{PAIR}"], {}),
    "what is said of the server": (["/healthz", "/metrics", "/openapi.json", "/nothing"], {}),
    "numbers": (["/ops/exp.json", "/ops/exp.csv", "/ops/exp.py", "/ops/exp.page.json", "/ops/nope.json"], READ),
    "what every server has": (
        ["/static/0/none.js", "/grad-loupe.js", "/grad-loupe.mjs", "/oembed?url={server}/ops/exp"],
        READ,
    ),
    "a picture": (PICTURES, READ | {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"}),
    "a figure": (
        ["/embed/exp", "/embed/exp?theme=dark"],
        {
            "content-security-policy": SOURCES,
            "cross-origin-opener-policy": None,
            "cross-origin-resource-policy": "cross-origin",
        },
    ),
}
PAGES = KINDS["a page"][0]
# What caches may keep.
KEPT = (
    *("/", "/docs", "/ops/exp", "/embed/exp", "/ops/exp.csv?count=11", "/ops/exp.svg", "/ops/exp.png"),
    *("/ops/exp.json", "/ops/exp.json?view=map", "/ops/exp.csv?view=contract"),
)


@pytest.fixture(scope="module")
def settled(server: str) -> str:
    """The server, when its gallery is measured: pages wait a moment for that, and are not kept where it comes later."""
    assert until(lambda: "card measuring" not in http.get(server).text)
    assert http.get(f"{server}/ops/exp.json").status_code == 200
    return server


def raw(address: str, accepted: str | bytes, **more: str) -> tuple[httpx2.Response, bytes]:
    """The response, and its bytes as they came."""
    headers = {b"accept-encoding": accepted.encode("latin-1") if isinstance(accepted, str) else accepted}
    headers |= {name.replace("_", "-").encode(): value.encode() for name, value in more.items()}
    with http.stream("GET", address, headers=headers) as response:
        return response, b"".join(response.iter_raw())


@pytest.mark.parametrize("kind", KINDS)
def test_who_may_read_and_frame_it_and_what_may_run_in_it(server: str, kind: str) -> None:
    addresses, others = KINDS[kind]
    expected = OF_PAGES | OF_ALL | others
    for place, address in enumerate(addresses):
        for asked in [{}, {"origin": "https://school.example"}][: 1 + (place == 0)]:
            headers = http.get(server + address.format(server=server), headers=asked).headers
            assert {name: headers.get(name) for name in expected} == expected, address


@pytest.mark.parametrize("address", PAGES)
def test_pages_are_html_without_inline_script_style_or_handler(server: str, address: str) -> None:
    response = http.get(server + address)
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    page = response.text
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", page)
    assert all("src=" in tag or "application/json" in tag for tag in re.findall(r"<script[^>]*>", page))
    page = page.replace("http://www.w3.org/", "").replace(f'href="{server}', "")
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page)


@pytest.mark.parametrize("address", KEPT)
def test_what_is_known_is_not_sent_again(settled: str, address: str) -> None:
    unpack = {"br": brotli.decompress, "gzip": gzip.decompress, None: bytes}
    tags, bodies = [], set()
    for coding in ("br", "gzip", "identity"):
        for _ in range(2):  # written, and kept
            first, body = raw(settled + address, coding)
            bodies.add(unpack[first.headers.get("content-encoding")](body))
        assert first.headers["cache-control"] == "public, max-age=0, s-maxage=60"
        assert first.headers["vary"] == "Accept-Encoding"
        for other in tags:  # the tag of one coding does not stand for another
            assert raw(settled + address, coding, if_none_match=other)[0].status_code == 200
        tags.append(first.headers["etag"])
        again, nothing = raw(settled + address, coding, if_none_match=f'"x", W/{tags[-1]}')
        assert (again.status_code, nothing, again.headers["etag"]) == (304, b"", tags[-1])
        policy = "content-security-policy"  # of a picture, which replaces that of the copy
        assert again.headers[policy] == first.headers[policy]
    assert len(set(tags)) == 3
    assert len(bodies) == 1


@pytest.mark.parametrize("address", [*KEPT, "/healthz", "/nothing"])
def test_head_answers_like_get_without_a_body(settled: str, address: str) -> None:
    got, head = http.get(settled + address), http.head(settled + address)
    assert (head.status_code, head.content) == (got.status_code, b"")
    assert {**head.headers, "date": ""} == {**got.headers, "date": ""}


@pytest.mark.parametrize(
    "address", ["/ops/nope", "/ops/exp.json?min=1", "/nothing", "/healthz", "/ops/exp.svg?width=1", "/metrics"]
)
def test_a_refusal_and_the_state_of_the_server_are_kept_by_nobody(server: str, address: str) -> None:
    headers = http.get(server + address).headers
    assert headers["cache-control"] == "no-store"
    assert "etag" not in headers


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_only_get_and_head_are_allowed(server: str, method: str) -> None:
    for address in ("/", "/ops/exp.json", "/healthz", "/static/0/none.js"):
        response = http.request(method, server + address)
        assert (response.status_code, response.headers["allow"]) == (405, "GET, HEAD"), address


def test_another_question_has_another_tag_and_the_same_one_the_same(server: str) -> None:
    same = (".json", ".json?count=401", ".json?view=curves")
    others = (
        ".json?count=400",
        ".csv",
        ".json?grad_output=-1",
        ".json?dtype=float32",
        ".json?view=map",
        ".csv?view=map",
    )
    places = (".json?view=step&at=0.5", ".json?view=step&at=1")
    tags = {each: http.head(f"{server}/ops/exp{each}").headers["etag"] for each in (*same, *others, *places)}
    assert len({tags[each] for each in same}) == 1
    assert len(set(tags.values())) == 1 + len(others) + len(places)


ACCEPTED = {
    "": None,
    "br": "br",
    "gzip": "gzip",
    "gzip, deflate, br, zstd": "br",
    "br;q=0.5, gzip;q=0.500": "br",
    "BR ; Q=1.0": "br",
    "br;q=0, gzip;q=0": None,
    "*": "br",
    "br;q=0, *": "gzip",
    "identity, br;q=0.5": None,
    "identity;q=0.5, gzip": "gzip",
    "br;q=1.5, gzip": "gzip",
    "br;q=, x": None,
    "bread, gzipped": None,
    ",,,;": None,
    "gzip," * 1000: None,
    "é": None,
}


@pytest.mark.parametrize("accepted", ACCEPTED)
def test_the_coding_is_the_one_the_client_prefers(server: str, accepted: str) -> None:
    assert raw(f"{server}/ops/exp.json", accepted)[0].headers.get("content-encoding") == ACCEPTED[accepted]


HITS = 'cache_hits_total{cache="bodies"}'


@pytest.mark.parametrize(
    "place", ["/", *(f"/ops/clamp_with_grad{end}" for end in ("", ".json", ".csv", ".svg", ".png"))]
)
def test_an_answer_that_is_there_is_not_computed_drawn_or_compressed_again(
    settled: str, running: InThread, place: str
) -> None:
    address = f"{settled}{place}"
    assert until(lambda: "etag" in raw(address, "br")[0].headers)  # a page is sent before its figure is there
    first, body = raw(address, "br")
    numbers = [metric(running, name) for name in (HITS, 'questions_total{outcome="answered"}')]
    assert [raw(address, "br")[1] for _ in range(20)] == [body] * 20
    assert raw(address, "br", if_none_match=first.headers["etag"])[1] == b""
    assert metric(running, HITS) == numbers[0] + 20
    assert metric(running, 'questions_total{outcome="answered"}') == numbers[1]


def test_the_newest_bodies_are_kept_within_their_room_and_a_large_one_drives_out_no_others() -> None:
    def kept(count: int) -> bool:
        before = metric(small, HITS)
        size = len(raw(f"{small.url}/ops/exp.json?count={count}", "identity")[1])
        assert size > 20_000
        return metric(small, HITS) > before

    with serving_in_thread("--cache", "1") as small:  # a MiB
        small.wait_until_ready()
        numbers = range(300, 340)
        assert not any(kept(count) for count in numbers)
        assert metric(small, 'cache_bytes{cache="bodies"}') <= 2**20
        assert [kept(count) for count in (5001, 5001, numbers[-1], numbers[-5], numbers[0])] == [
            *(False, False, True, True, False)
        ]
