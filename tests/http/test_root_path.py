"""A site that is under a path of its host, behind a proxy that takes the path off, or passes it on."""

import html
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import quote

import pytest
from fastapi import APIRouter
from starlette.routing import Route
from support import http
from support.own_server import MY_OPS
from support.servers import HERE, Server, serving_in_thread

from gradloupe.server import app
from gradloupe.server.config.options import OWN_FOLDERS, OWN_PAGES

ROOT = "/tools/gradloupe"
URL = f"https://school.example{ROOT}"
PAGES = (
    *("/", "/?q=clamp", "/ops/clamp_with_grad", "/ops/exp?view=contract", "/ops/round_straight_through", "/ops/nope"),
    *("/embed/exp", "/lessons", "/lessons/backward", "/embed/lessons/backward", "/glossary", "/docs", "/nothing"),
    *("/compare", "/compare?left=exp&right=cube", "/compare?left=exp"),
    *("/play", "/play?from=exp"),
)
LINK = re.compile(r'(?:href|src|action|data-(?:address|description|sheet|editor|plotly-\w+))="(/[^"]*)"')


@pytest.fixture(scope="module")
def below() -> Iterator[Server]:
    with serving_in_thread("--public", "--play", "--url", URL, "--requests-per-peer", "0") as server:
        server.wait_until_ready()
        for address in PAGES:
            server.get(address.replace("/embed/", "/ops/"))
        yield server


def page(server: Server, address: str) -> str:
    return http.get(server.url + address, headers={"accept": "text/html"}).text


@cache
def status(server: Server, address: str) -> int:
    return server.get(address).status_code


@pytest.mark.parametrize("address", PAGES)
def test_a_page_links_below_its_path_alone_and_is_the_same_with_and_without_it(below: Server, address: str) -> None:
    text = page(below, address)
    assert page(below, ROOT + address) == text
    links = {html.unescape(each) for each in LINK.findall(text)}
    assert {each for each in links if not each.startswith(f"{ROOT}/")} == set()
    files = [each for each in sorted(links) if "/static/" in each or not re.search("/ops/|/lessons/", each)]
    assert len(files) > 3
    assert {each: status(below, each) for each in files} == dict.fromkeys(files, 200)


def test_what_a_page_asks_for_later_is_below_its_path(below: Server) -> None:
    assert f'data-root="{ROOT}"' in page(below, "/ops/exp")
    words = below.get("/ops/kill_head.page.json").json()["words"]
    assert set(re.findall(r'href="(/[a-z/]+)', "".join(words.values()))) == {f"{ROOT}/glossary"}
    assert below.get("/openapi.json").json()["servers"] == [{"url": ROOT}]


def test_what_leaves_the_site_has_the_whole_address(below: Server) -> None:
    text = page(below, "/ops/exp")
    assert f'<link rel="canonical" href="{URL}/ops/exp">' in text
    assert f'data-base="{URL}"' in text
    for address in (f"{URL}/ops/exp", f"{below.url}/ops/exp"):
        assert f'src="{URL}/embed/exp"' in below.get(f"/oembed?url={quote(address, safe='')}").json()["html"]
    assert below.get("/oembed?url=https%3A%2F%2Fschool.example%2Fother%2Fops%2Fexp").status_code == 404
    assert f"<loc>{URL}/lessons</loc>" in below.get("/sitemap.xml").text
    assert f"Disallow: {ROOT}/ops/*.json\n" in below.get("/robots.txt").text


def test_a_redirect_stays_below_the_path(below: Server, tmp_path: Path) -> None:
    (address,) = set(re.findall(r'"(/[^"]+/pages/op\.js)"', page(below, "/ops/exp")))
    moved = below.get(re.sub("/static/[0-9a-f]+", "/static/0123456789ab", address))
    assert (moved.status_code, moved.headers["location"]) == (307, address)
    (tmp_path / "my_ops.py").write_text(MY_OPS)
    with serving_in_thread("my_ops.py", "--url", URL, cwd=tmp_path) as own:
        assert own.get("/own?wait=1").headers["location"].startswith(f"{ROOT}/ops/")


def test_a_path_that_could_be_a_page_of_its_own_cannot_be_chosen() -> None:
    routers = [each.router for each in vars(app).values() if isinstance(getattr(each, "router", None), APIRouter)]
    first = {route.path.split("/")[1] for router in routers for route in router.routes if isinstance(route, Route)}
    names = {each for each in first if each and "." not in each}
    assert names == {*OWN_FOLDERS, *OWN_PAGES}


def test_no_script_asks_for_an_address_at_the_top_of_the_host() -> None:
    scripts = {path: path.read_text() for path in (HERE / "static" / "js").rglob("*.js")}
    asks = re.compile(r"""(?:fetch\(|EventSource\(|Worker\(|URL\(|assign\(|replace\(|href = |src = )["'`]/""")
    assert {path.name for path, text in scripts.items() if asks.search(text)} == set()
