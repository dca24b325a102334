"""oEmbed: the address of a figure becomes the figure, in every editor that asks as the specification says."""

import json
from typing import Any
from urllib.parse import quote, urlsplit

import httpx2
import pytest
from support import http
from support.servers import Server, serving_in_thread
from support.tags import Tags

# What WordPress leaves of a frame that it was told of by a site it does not know (wp_filter_oembed_result).
KEPT_BY_WORDPRESS = {"src", "width", "height", "frameborder", "marginwidth", "marginheight", "scrolling", "title"}


def asked(server: str, url: str, more: str = "") -> httpx2.Response:
    return http.get(f"{server}/oembed?url={quote(url, safe='')}{more}")


def told(server: str, url: str, more: str = "") -> dict[str, Any]:
    response = asked(server, url, more)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def frame(answer: dict[str, Any]) -> dict[str, str | None]:
    ((tag, attributes),) = Tags(answer["html"]).found
    assert tag == "iframe"
    return attributes


def test_a_figure_is_told_as_a_frame_with_its_size_its_title_and_its_picture(server: str) -> None:
    answer = told(server, f"{server}/ops/clamp_with_grad?grad_output=-1.0&min=-2")
    assert (answer["version"], answer["type"]) == ("1.0", "rich")
    assert (answer["provider_name"], answer["provider_url"]) == ("Gradloupe", f"{server}/")
    assert answer["title"] == "Clamp with grad"
    assert answer["cache_age"] > 0
    attributes = frame(answer)
    assert attributes["src"] == f"{server}/embed/clamp_with_grad?min=-2&grad_output=-1"
    assert attributes["title"] == "Clamp with grad"
    assert (attributes["width"], attributes["height"]) == (str(answer["width"]), str(answer["height"]))
    assert answer["thumbnail_url"] == f"{server}/ops/clamp_with_grad.png?min=-2&grad_output=-1"
    assert (answer["thumbnail_width"], answer["thumbnail_height"]) == (1200, 630)

    assert set(attributes) <= KEPT_BY_WORDPRESS
    assert http.get(attributes["src"] or "").status_code == 200
    assert http.get(answer["thumbnail_url"]).headers["content-type"] == "image/png"


@pytest.mark.parametrize("place", ["ops", "embed"])
def test_how_the_figure_is_dressed_goes_along(server: str, place: str) -> None:
    answer = told(server, f"{server}/{place}/exp?theme=dark&hide=source,title&height=500")
    assert frame(answer)["src"] == f"{server}/embed/exp?theme=dark&hide=title,source&height=500"
    assert answer["height"] == 500
    assert answer["thumbnail_url"] == f"{server}/ops/exp.png?hide=title"


def test_it_is_never_larger_than_the_consumer_has_room_for(server: str) -> None:
    narrow = told(server, f"{server}/ops/exp?width=900&height=900", "&maxwidth=320&maxheight=400")
    assert (narrow["width"], narrow["height"]) == (320, 400)
    assert frame(narrow)["src"] == f"{server}/embed/exp?height=400"
    wide = told(server, f"{server}/ops/exp", "&maxwidth=1000")
    assert wide["width"] == 1000
    own = told(server, f"{server}/ops/exp?width=900", "&maxwidth=1000")
    assert own["width"] == 900


def test_fewer_parts_are_less_high(server: str) -> None:
    heights = [told(server, f"{server}/ops/exp?hide={hide}")["height"] for hide in ("", "title", "title,controls")]
    assert heights == sorted(heights, reverse=True)
    assert len(set(heights)) == 3


# By the room there is: the size of the figure, and whether its picture fits.
ROOM = [
    ("maxwidth=600", (600, None), False),
    ("maxheight=315", (None, 315), False),
    ("maxwidth=200&maxheight=150", (200, 150), False),
    ("maxwidth=1200&maxheight=630", (1200, None), True),
    ("maxwidth=2400&maxheight=2400", (2400, None), True),
    ("maxwidth=99999999999999999999&maxheight=2401", (2400, None), True),
    ("maxwidth=150&maxheight=400", (200, 400), False),
    ("maxheight=100", (800, 150), False),
    ("maxwidth=1&maxheight=1", (200, 150), False),
]


@pytest.mark.parametrize(("bounds", "figure", "pictured"), ROOM)
def test_neither_figure_nor_picture_is_larger_than_there_is_room_for(
    server: str, bounds: str, figure: tuple[int | None, int | None], pictured: bool
) -> None:
    answer = told(server, f"{server}/ops/exp?hide=title&stop=1", f"&{bounds}")
    for size, expected in zip((answer["width"], answer["height"]), figure, strict=True):
        assert expected in (None, size)
        assert size <= 2400
    assert http.get(frame(answer)["src"] or "").status_code == 200
    assert pictured == any(name.startswith("thumbnail") for name in answer)


@pytest.mark.parametrize("bound", ["0", "000", "-1", "-5", "1e3", "12.5", "NaN", "wide", "٣٢٠"])
def test_room_for_nothing_is_refused(server: str, bound: str) -> None:
    for name in ("maxwidth", "maxheight"):
        refused = asked(server, f"{server}/ops/exp", f"&{name}={quote(bound)}")
        assert (refused.status_code, refused.headers["content-type"]) == (422, "application/problem+json")
        assert refused.json()["detail"].startswith(f"{name}=")


def test_a_format_nobody_knows_is_not_implemented(server: str) -> None:
    refused = asked(server, f"{server}/ops/exp", "&format=xml")
    assert refused.status_code == 501
    assert "it is json" in refused.json()["detail"]


ELSEWHERE = """
    https://example.org/ops/exp {server}.evil.example/ops/exp http://user@{host}/ops/exp http://{host}@evil.example/ops/exp
    ftp://{host}/ops/exp //{host}/ops/exp /ops/exp exp http://[::1/ops/exp http://127.0.0.1:99999/ops/exp {server}/
    {server}/docs {server}/ops/ {server}/ops/exp/more {server}/static/ops/exp {server}/ops/nope {server}/ops/exp.json
    javascript:alert(1) data:text/html,x
"""


@pytest.mark.parametrize("url", ELSEWHERE.split())
def test_what_is_no_figure_of_this_site_is_not_found(server: str, url: str) -> None:
    refused = asked(server, url.format(server=server, host=urlsplit(server).netloc))
    assert refused.status_code == 404
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json()["detail"].endswith(".")


def test_the_site_is_known_by_any_of_its_names_and_either_scheme(server: str) -> None:
    host = urlsplit(server).netloc
    for url in (f"https://{host}/ops/exp", f"HTTP://{host}/ops/exp#top"):
        assert frame(told(server, url))["src"] == f"{server}/embed/exp"
    port = urlsplit(server).port
    named = http.get(f"{server}/oembed?url=http://localhost:{port}/ops/exp", headers={"host": f"localhost:{port}"})
    assert named.status_code == 200


def test_only_the_usual_port_of_a_scheme_goes_without_saying(server: str) -> None:
    found = {
        url: http.get(f"{server}/oembed?url={url}/ops/exp", headers={"host": "localhost"}).status_code
        for url in ("http://localhost:80", "https://localhost:443", "https://localhost:80", "http://localhost:443")
    }
    assert [*found.values()] == [200, 200, 404, 404]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", "url is missing"),
        ("?url=", "url is missing"),
        ("?url=a&url=b", "given twice"),
        ("?url={server}/ops/clamp_with_grad?min%3Dbanana", "min=banana"),
    ],
)
def test_a_query_that_cannot_be_is_refused_by_name(server: str, query: str, said: str) -> None:
    refused = http.get(f"{server}/oembed{query.format(server=server)}")
    assert refused.status_code == 422
    assert said in refused.json()["detail"]


def test_what_a_consumer_adds_of_its_own_is_ignored(server: str) -> None:
    assert told(server, f"{server}/ops/exp", "&dnt=1&lang=de&maxwidth=") == told(server, f"{server}/ops/exp")


def test_a_site_with_an_address_of_its_own_speaks_of_that() -> None:
    with serving_in_thread("--url", "https://loupe.example.org") as server:
        server.wait_until_ready()
        answer = told(server.url, "https://loupe.example.org/ops/exp?stop=1")
        assert frame(answer)["src"] == "https://loupe.example.org/embed/exp?stop=1"
        assert answer["thumbnail_url"] == "https://loupe.example.org/ops/exp.png?stop=1"
        assert told(server.url, f"{server.url}/ops/exp?stop=1") == answer


def test_the_api_describes_it(running: Server) -> None:
    described = json.loads(running.get("/openapi.json").text)["paths"]["/oembed"]["get"]
    assert [each["name"] for each in described["parameters"]] == ["url", "maxwidth", "maxheight", "format"]
    assert set(described["responses"]) == {"200", "404", "414", "422", "501", "503"}
