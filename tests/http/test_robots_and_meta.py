"""What a page says of itself to those who have not opened it: search engines, chats, editors."""

import re
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest
from support import http
from support.servers import Server, serving_in_thread
from support.tags import Tags

from gradloupe.ops import OPS

PUBLIC = "https://loupe.example.org"
SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"


class Head:
    """What the links and the metas of a page say."""

    def __init__(self, page: str) -> None:
        found = Tags(page.partition("<head>")[2].partition("</head>")[0]).found
        self.links = [each for tag, each in found if tag == "link"]
        named = [
            (each.get("property") or each.get("name"), each.get("content")) for tag, each in found if tag == "meta"
        ]
        self.metas = {name: content for name, content in named if name}
        assert len(self.metas) == len([name for name, _ in named if name])

    def linked(self, rel: str) -> list[str | None]:
        return [each["href"] for each in self.links if each["rel"] == rel]


def head(url: str) -> Head:
    return Head(http.get(url).text)


@pytest.fixture(scope="module")
def public() -> Iterator[Server]:
    with serving_in_thread("--public", "--url", PUBLIC) as server:
        server.wait_until_ready()
        yield server


@pytest.fixture
def measured(server: str) -> str:
    """A section whose answer is there already."""
    address = "/ops/incorrect_clipped_relu?grad_output=-1"
    assert http.get(server + address.replace("?", ".json?")).status_code == 200
    return address


def test_a_chat_shows_the_verdict_and_the_picture_in_the_size_it_says(server: str, measured: str) -> None:
    metas = head(server + measured).metas
    assert metas["og:title"] == "Incorrect clipped ReLU"
    assert (metas["og:description"] or "").startswith("Differs: ")
    assert "`" not in (metas["og:description"] or "")
    assert metas["og:url"] == server + measured
    assert metas["og:image"] == server + measured.replace("?", ".png?")
    assert (metas["og:image:width"], metas["og:image:height"]) == ("1200", "630")
    assert metas["og:image:alt"]
    assert metas["twitter:card"] == "summary_large_image"
    picture = http.get(metas["og:image"] or "")
    assert picture.headers["content-type"] == "image/png"
    assert picture.content[:8] == b"\x89PNG\r\n\x1a\n"
    assert (int.from_bytes(picture.content[16:20]), int.from_bytes(picture.content[20:24])) == (1200, 630)


@pytest.mark.parametrize("dress", ["", "&theme=dark", "&hide=source&height=400", "&count=401"])
@pytest.mark.parametrize("place", ["/ops/exp?stop=1", "/embed/exp?stop=1"])
def test_what_looks_different_but_says_the_same_has_one_canonical_address(server: str, place: str, dress: str) -> None:
    assert head(server + place + dress).linked("canonical") == [f"{server}/ops/exp?stop=1"]


@pytest.mark.parametrize("place", ["ops", "embed"])
def test_an_editor_finds_the_oembed_of_the_page_and_gets_it(server: str, place: str) -> None:
    (link,) = [each for each in head(f"{server}/{place}/exp?stop=1&theme=dark").links if each["rel"] == "alternate"]
    assert link["type"] == "application/json+oembed"
    assert f"{server}/embed/exp?stop=1&amp;theme=dark" in http.get(link["href"] or "").json()["html"]


def test_the_gallery_says_what_it_is(server: str) -> None:
    said = head(f"{server}/")
    assert said.linked("canonical") == [f"{server}/"]
    assert said.metas["og:title"] == "Gradloupe"
    assert said.metas["twitter:card"] == "summary"


def test_a_private_site_keeps_search_engines_away(server: str) -> None:
    assert http.get(f"{server}/robots.txt").text.splitlines() == ["User-agent: *", "Disallow: /"]
    assert http.get(f"{server}/sitemap.xml").status_code == 404
    assert (head(f"{server}/ops/exp").metas["robots"] or "").startswith("noindex")


def test_a_public_site_has_a_map_of_its_gallery_its_ops_and_its_lessons(public: Server) -> None:
    root = ElementTree.fromstring(public.get("/sitemap.xml").content)  # noqa: S314 - our own
    places = [each.text for each in root.iter(f"{SITEMAP}loc")]
    taught = re.findall(r'<li data-number="\d+"><a href="(/lessons/\w+)"', public.get("/lessons").text)
    assert len(taught) > 10
    assert places == [
        PUBLIC + path for path in ("/", *(f"/ops/{name}" for name in OPS), "/lessons", *taught, "/glossary")
    ]


def test_a_public_site_offers_its_ops_but_not_their_endless_sections(public: Server) -> None:
    shown, others = ("/ops/exp", "/ops/exp?theme=dark"), ("/ops/exp?stop=1", "/embed/exp")
    robots = {path: Head(public.get(path).text).metas["robots"] for path in (*shown, *others)}
    assert [path for path, said in robots.items() if said == "index, follow"] == [*shown]
    rules = public.get("/robots.txt").text
    assert f"Sitemap: {PUBLIC}/sitemap.xml" in rules
    assert refused(rules, "/ops/exp.json?stop=1")
    endless = [f"/ops/exp.{ending}" for ending in ("html", "svg", "pdf", "csv", "py", "page.json", "size.json")]
    for path in (*endless, *(f"/compare.{ending}?left=exp" for ending in ("json", "svg", "png", "pdf"))):
        assert refused(rules, path), path
    for path in ("/", "/ops/exp", "/ops/exp.png?stop=1", "/oembed?url=x", "/embed/exp", "/compare", "/sitemap.xml"):
        assert not refused(rules, path), path


@pytest.mark.nightly
def test_a_public_site_offers_its_gallery(public: Server) -> None:
    assert Head(public.get("/").text).metas["robots"] == "index, follow"


def refused(rules: str, path: str) -> bool:
    """Whether a rule keeps a robot from this path, as RFC 9309 reads it."""
    found = re.findall(r"^Disallow: (.+)$", rules, re.MULTILINE)
    return any(re.match(re.escape(each).replace(r"\*", ".*"), path) for each in found)


def test_a_public_site_never_speaks_of_the_name_it_was_asked_by(public: Server) -> None:
    said = head(f"{public.url}/ops/exp?stop=1")
    ours = [*said.linked("canonical"), *said.linked("alternate"), said.metas["og:url"], said.metas["og:image"]]
    assert [each for each in ours if not (each or "").startswith(PUBLIC)] == []


def test_only_a_server_beside_the_reader_says_that_its_addresses_may_not_be_reached(
    server: str, public: Server
) -> None:
    for site, local in ((server, True), (public.url, False)):
        for address in ("/ops/exp", "/lessons/backward"):
            page = http.get(site + address).text
            assert [sign in page for sign in ('data-local="1"', '<p class="reach"')] == [local, local]
