"""A server that runs a visitor's own code keeps it to her: what other sites may not read, load, frame or change."""

import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect
from support import http
from support.embedding_site import Host, hosting
from support.host_headers import ELSEWHERE, asked
from support.own_server import Own, showing
from support.raw_http import connected, read

READ = [
    *("/?wait=1", "/own", "/ops/exp.json", "/embed/Clamp", "/compare?left=Clamp&right=Cube", "/healthz"),
    *("/openapi.json", "/compare.json?left=Clamp&right=Cube", "/oembed?url={url}%2Fops%2FClamp"),
    *(f"/ops/Clamp{ending}" for ending in ("", ".json", ".csv", ".svg", ".html", ".py")),
]
OUGHT_NOT = [
    {"sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": dest}
    for site in ("cross-site", "same-site")
    for mode, dest in (
        *(("cors", "empty"), ("no-cors", "empty"), ("no-cors", "image"), ("no-cors", "script"), ("cors", "script")),
        *(("navigate", "iframe"), ("navigate", "embed"), ("navigate", "object"), ("websocket", "websocket")),
        ("no-cors", "document"),
    )
]
IMAGE = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}
MAY = [
    {},
    {"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty"},
    {"sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"},
    {"sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"},
    {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"},
]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Own]:
    with showing(tmp_path_factory.mktemp("mine")) as server:
        yield server


@pytest.fixture(scope="module")
def evil() -> Iterator[Host]:
    """A page of another site, in the same browser, that does what it likes. Its name is another one than ours."""
    with hosting(strict=False) as host:
        host.url = host.url.replace("127.0.0.1", "localhost")
        host.pages["/"] = "<!doctype html><title>Evil</title><body>"
        yield host


@pytest.fixture
def stranger(browser: Browser, evil: Host) -> Iterator[Page]:
    context = browser.new_context()
    page = context.new_page()
    page.goto(evil.url)
    yield page
    context.close()


def got(own: Own, address: str, headers: Mapping[str, str]) -> httpx2.Response:
    return http.get(own.url + address.format(url=quote(own.url, "")), headers=dict(headers))


@pytest.mark.parametrize("address", READ)
def test_another_site_reads_nothing_and_our_own_pages_their_user_and_programs_everything(
    own: Own, address: str
) -> None:
    """Each address is asked for in some of the ways, in turn; the numbers in all of them."""
    turn = READ.index(address)
    every, few = (1, 1) if address.endswith("Clamp.json") else (5, 3)
    for headers in OUGHT_NOT[turn % every :: every]:
        refused = got(own, address, headers)
        assert refused.status_code == 403, headers
        assert refused.headers["content-type"] == "application/problem+json"
        assert "Clamp" not in refused.text
        kept_apart(refused)
    for headers in [*MAY, {"origin": own.url}][turn % few :: few]:
        allowed = got(own, address, headers)
        assert allowed.status_code in (200, 303), headers
        kept_apart(allowed)
        assert "frame-ancestors 'self'" in allowed.headers["content-security-policy"] or address.endswith(".svg")
        assert allowed.headers["cross-origin-opener-policy"] == "same-origin"


def kept_apart(response: httpx2.Response) -> None:
    """Nothing in this response lets another site read it."""
    assert "access-control-allow-origin" not in response.headers
    assert response.headers["cross-origin-resource-policy"] == "same-origin"


def test_a_page_that_says_nothing_of_its_site_but_names_another_origin_reads_nothing(own: Own) -> None:
    host = own.url.removeprefix("http://")
    for origin in ("https://evil.example", "null", f"https://{host}.evil.example", f"http://{host}1", f"ftp://{host}"):
        assert got(own, "/ops/Clamp.json", {"origin": origin}).status_code == 403, origin
    assert got(own, "/ops/Clamp.json", {"origin": own.url}).status_code == 200


def test_two_words_for_one_site_are_none(own: Own) -> None:
    with connected(own) as connection:
        lines = ["GET /ops/Clamp.json HTTP/1.1", "Host: localhost", "Sec-Fetch-Site: same-origin"]
        lines += ["Sec-Fetch-Site: cross-site", "Connection: close", "", ""]
        connection.sendall("\r\n".join(lines).encode())
        assert read(connection)[0] == 403


def test_what_is_the_same_on_every_server_is_everybodys(own: Own) -> None:
    page = own.get("/ops/Clamp").text
    static = page.partition('<link rel="stylesheet" href="')[2].partition('"')[0]
    for address in (static, "/grad-loupe.js", "/grad-loupe.mjs"):
        shared = got(own, address, OUGHT_NOT[0])
        assert (shared.status_code, shared.headers["access-control-allow-origin"]) == (200, "*")


def test_an_error_is_not_shared_either(own: Own) -> None:
    for address in ("/ops/Clamp.json?count=1", "/ops/None.json"):
        response = own.get(address)
        assert response.status_code in (404, 422)
        assert "access-control-allow-origin" not in response.headers


def test_a_change_needs_our_own_page_and_the_token(own: Own) -> None:
    ours = {"sec_fetch_site": "same-origin", "origin": own.url}
    token = {"x_gradloupe_token": own.token}
    assert len(own.token) == 32
    for headers in (
        {},
        token,
        ours,
        ours | {"x_gradloupe_token": ""},
        ours | {"x_gradloupe_token": own.token[:-1]},
        ours | {"x_gradloupe_token": own.token + "0"},
        token | {"sec_fetch_site": "cross-site", "origin": "https://evil.example"},
        token | {"sec_fetch_site": "same-site", "origin": "http://localhost:1"},
        token | {"sec_fetch_site": "same-origin", "origin": "null"},
        token | {"origin": "null"},
        token | {"origin": "https://evil.example"},
    ):
        refused = own.post("/reload", **headers)
        assert refused.status_code == 403, headers
        assert refused.json()["status"] == 403
        assert own.token not in refused.text
    assert "X-Gradloupe-Token" in own.post("/reload", origin=own.url).json()["detail"]
    for headers in (ours | token, token | {"origin": own.url}, token | {"sec_fetch_site": "none"}):
        assert own.post("/reload", **headers).status_code in (200, 202, 204), headers


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_no_other_method_is_open_to_a_stranger(own: Own, method: str) -> None:
    asked_before = {"origin": "https://evil.example", "access-control-request-method": method}
    for address in ("/ops/Clamp", "/own", "/", "/reload"):
        refused = http.request(method, own.url + address, headers=asked_before)
        assert refused.status_code == 403
        assert not [name for name in refused.headers if name.startswith("access-control")]


def test_no_address_takes_a_path_or_code(own: Own) -> None:
    described = json.loads(own.get("/openapi.json").text)
    assert {path for path, methods in described["paths"].items() if methods.keys() != {"get"}} == {"/play.json"}
    asked = (path["get"] for path in described["paths"].values() if "get" in path)
    names = {each["name"] for methods in asked for each in methods.get("parameters", ())}
    assert names.isdisjoint({"path", "file", "code", "source", "target", "module"})


def test_a_name_that_was_bent_to_this_machine_is_refused(own: Own) -> None:
    for host in ELSEWHERE.split():
        assert asked(own, f"Host: {host}", f"X-Gradloupe-Token: {own.token}")[0] == 421, host


LOADS = """([tag, url]) => new Promise((resolve) => {
    const element = document.createElement(tag);
    element.onload = () => resolve("loaded");
    element.onerror = () => resolve("refused");
    element.src = url;
    document.body.append(element);
})"""


def test_a_strange_page_can_neither_fetch_nor_load_nor_frame_nor_post(own: Own, stranger: Page) -> None:
    for path in ("/ops/Clamp.json", "/ops/Clamp", "/events", "/own"):
        said = stranger.evaluate("url => fetch(url).then(r => r.text(), e => e.name)", own.url + path)
        assert said == "TypeError", path
        kind = "url => fetch(url, {mode: 'no-cors'}).then(r => r.type, e => e.name)"
        assert stranger.evaluate(kind, own.url + path) in ("opaque", "TypeError")  # the latter by the resource policy
    for tag, path in (("img", "/ops/Clamp.svg"), ("img", "/ops/Clamp.png"), ("script", "/ops/Clamp.json")):
        assert stranger.evaluate(LOADS, [tag, own.url + path]) == "refused"
    for path in ("/embed/Clamp", "/ops/Clamp"):
        frame = "url => document.body.append(Object.assign(document.createElement('iframe'), {src: url}))"
        with stranger.expect_response(own.url + path) as asked_for:
            stranger.evaluate(frame, own.url + path)
        assert asked_for.value.status == 403
    post = """([url, headers]) => fetch(url, {method: "POST", headers}).then(() => "answered", (e) => e.name)"""
    for token in ({"X-Gradloupe-Token": own.token}, {}):
        assert stranger.evaluate(post, [f"{own.url}/reload", token]) == "TypeError"
    form = "url => document.body.append(Object.assign(document.createElement('form'), {method: 'POST', action: url}))"
    stranger.evaluate(form, f"{own.url}/reload")
    with stranger.expect_navigation() as navigation:
        stranger.evaluate("() => document.forms[0].submit()")
    assert navigation.value.status == 403


def test_a_link_on_a_strange_page_opens_ours_and_the_stranger_loses_sight_of_it(
    own: Own, stranger: Page, browser: Browser
) -> None:
    with stranger.context.expect_page() as opened:
        stranger.evaluate("url => { window.theirs = window.open(url) }", f"{own.url}/ops/Clamp")
    expect(opened.value.locator("h1")).to_have_text("Clamp")
    stranger.wait_for_function("() => window.theirs.closed")  # which is all that is left to it


def test_the_dialog_for_sharing_names_the_option_without_which_there_is_no_live_figure(own: Own) -> None:
    ways = re.findall(r'name="way" value="(\w+)"', got(own, "/ops/Clamp", {}).text)
    assert ways == ["picture", "file"]
    assert "--frame-ancestors" in got(own, "/ops/Clamp", {}).text


def test_who_asks_for_embedding_gets_frames_and_pictures_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, evil: Host, browser: Browser
) -> None:
    frame = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}
    with showing(tmp_path_factory.mktemp("framed"), "--frame-ancestors", evil.url) as open_:
        embedded = got(open_, "/embed/Clamp", frame)
        assert embedded.status_code == 200
        assert embedded.headers["content-security-policy"].endswith(f"frame-ancestors {evil.url}")
        assert "--frame-ancestors" not in got(open_, "/ops/Clamp", {}).text
        assert "access-control-allow-origin" not in embedded.headers
        pair = "left=Clamp&right=exp"
        pictures = [f"{place}.{ending}" for ending in ("svg", "png", "pdf") for place in ("/ops/Clamp", "/compare")]
        for address in (f"{each}?{pair}" if each.startswith("/compare") else each for each in pictures):
            for place in (IMAGE, frame, frame | {"sec-fetch-dest": "object"}):
                shown = got(open_, address, place)
                assert (shown.status_code, shown.headers["cross-origin-resource-policy"]) == (200, "cross-origin")
                assert shown.headers["content-security-policy"].endswith(f"frame-ancestors {evil.url}")
                assert "access-control-allow-origin" not in shown.headers
            assert got(open_, address, OUGHT_NOT[0]).status_code == 403
        for address in ("/ops/Clamp", "/own", "/", "/ops/Clamp.json", f"/compare?{pair}", f"/compare.json?{pair}"):
            assert [got(open_, address, place).status_code for place in (frame, IMAGE)] == [403, 403]
        evil.pages["/framing"] = f'<!doctype html><iframe width="800" height="600" src="{open_.url}/embed/Clamp">'
        page = browser.new_page()
        page.goto(f"{evil.url}/framing")
        inside = page.frame_locator("iframe")
        expect(inside.locator("html[data-ready]")).to_be_attached(timeout=20_000)
        inside.locator("#field-grad_output").fill("-1")
        inside.locator("#field-grad_output").press("Tab")
        expect(inside.locator("html")).to_have_attribute("data-ready", "/ops/Clamp?grad_output=-1")
        loaded = [page.evaluate(LOADS, ["img", f"{open_.url}/ops/Clamp.{ending}"]) for ending in ("svg", "png")]
        assert loaded == ["loaded", "loaded"]
        assert page.evaluate(LOADS, ["script", f"{open_.url}/ops/Clamp.json"]) == "refused"
        page.close()
