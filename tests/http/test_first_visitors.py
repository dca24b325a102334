"""The first visitors of a server, and many at once: what waits, what is refused, and what is there all the same."""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from threading import current_thread

import pytest
from support.halted_worker import crowded, halted, metric, wait_for
from support.own_server import showing
from support.raw_http import connected, read, send
from support.servers import InThread, Server, serving_in_thread, torch_loading
from support.waiting import until

from gradloupe.server.html.pages import Pages
from gradloupe.server.supervisor.engine import QUEUE_SIZE

ADDRESSES = (
    *("/", "/?q=ste", "/docs", "/glossary", "/lessons", "/lessons/backward", "/embed/lessons/backward"),
    *("/openapi.json", "/metrics", "/oembed?url=http://localhost/ops/exp", "/grad-loupe.js", "/own", "/nothing"),
    *("/ops/exp", "/ops/exp?view=node", "/ops/exp?view=contract", "/ops/exp?start=k", "/embed/exp", "/ops/none"),
    *(f"/ops/exp.{ending}" for ending in ("json", "page.json", "csv", "py", "svg", "png", "pdf", "html")),
    *("/compare", "/compare?left=exp&right=cube", "/compare?left=Clamp&right=exp"),
    *("/compare.json?left=exp&right=cube", "/compare.svg?left=exp&right=cube"),
    *("/ops/Clamp", "/ops/Configured", "/embed/Clamp", "/ops/Clamp?view=node"),
)
UNHURRIED = ("--deadline", "300")
ALONE = ("MainThread", "server", "rasterizer_0")  # that of the test, of the event loop, and of all pixels


def imported_by_visitors(folder: Path) -> list[str]:
    """What is imported in the threads that make pages, when all ``ADDRESSES`` are visited on a prepared server."""
    imported: list[str] = []

    class Witness:
        def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> None:
            if current_thread().name not in ALONE:
                imported.append(name)

    with showing(folder, *UNHURRIED) as server:
        assert until(lambda: "pygments.lexers.python" in sys.modules)  # the last of what it imports for its pages
        Pages.shared().prepare()  # ends no earlier than what the server imports meanwhile
        sys.meta_path.insert(0, Witness())
        for address in ADDRESSES:
            assert server.get(address).status_code < 500, address
    return imported


@pytest.mark.nightly
def test_no_visitor_imports_a_library_beside_another(tmp_path: Path) -> None:
    """Two threads that import at once get half of a library that replaces its own module."""
    with ProcessPoolExecutor(1, get_context("spawn")) as fresh:
        assert fresh.submit(imported_by_visitors, tmp_path).result() == []


def test_pages_answer_at_once_while_torch_is_loading_and_data_as_soon_as_it_is_there(running: InThread) -> None:
    with torch_loading(running) as loaded, serving_in_thread() as server, ThreadPoolExecutor() as pool:
        data = pool.submit(server.get, "/ops/exp.json")
        health = pool.submit(server.get, "/healthz?wait=1")
        assert server.get("/healthz").json() == {"status": "starting"}
        not_ready = server.get("/healthz?ready=1")
        assert (not_ready.status_code, not_ready.headers["retry-after"]) == (503, "1")
        for address, held in (("/", "/?wait=1"), ("/ops/exp?grad_output=-1", "/ops/exp.json?grad_output=-1")):
            page = server.get(address)
            assert page.status_code == 200
            assert page.headers["cache-control"] == "no-store"
            assert f'data-address="{held}"' in page.text
        loaded()
        assert health.result().json() == {"status": "ready"}
        assert server.get("/healthz?ready=1").json() == {"status": "ready"}
        assert data.result().json()["verdict"]["word"] == "matches"
        assert 'data-still="1"' in server.get("/ops/exp").text


@pytest.fixture(scope="module")
def unhurried() -> Iterator[Server]:
    """A server whose questions may take as long as a test holds them up."""
    with serving_in_thread("--requests-per-peer", "0", *UNHURRIED) as server:
        server.wait_until_ready()
        yield server


def test_more_questions_than_can_wait_are_sent_away_with_a_time_to_come_back(unhurried: Server) -> None:
    with ExitStack() as stack, ThreadPoolExecutor(100) as pool:
        connections = [stack.enter_context(connected(unhurried)) for _ in range(100)]
        with halted(unhurried):
            for i, connection in enumerate(connections):
                send(connection, f"/ops/exp.json?count=5&grad_output={i + 2}")
            asked = [pool.submit(read, connection) for connection in connections]
            sent_away = [each.result() for each in islice(as_completed(asked), 100 - QUEUE_SIZE)]
        assert {status for status, _, _ in sent_away} == {503}
        answers = [each.result() for each in asked]
    refused = [(headers, body) for status, headers, body in answers if status == 503]
    assert {status for status, _, _ in answers} == {200, 503}
    assert len(refused) == 100 - QUEUE_SIZE
    for headers, body in refused:
        assert headers["retry-after"] == "1"
        assert "ask again" in json.loads(body)["detail"]
    assert unhurried.get("/ops/exp.json").status_code == 200


def test_a_question_whose_client_has_left_is_dropped(unhurried: Server) -> None:
    before = metric(unhurried, 'questions_total{outcome="answered"}')
    with halted(unhurried):
        for i in range(40):
            with connected(unhurried) as connection:
                send(connection, f"/ops/functional_linear.json?grad_output={i + 2}")
                wait_for(unhurried, i + 1)
        metric(unhurried, "waiting")  # whoever has left before is missed by now
    assert unhurried.get("/ops/exp.json?count=7").status_code == 200
    assert metric(unhurried, 'questions_total{outcome="answered"}') - before == 2  # the first was under way


def test_a_class_behind_one_address_asks_each_question_once_and_loses_nothing() -> None:
    with serving_in_thread("--requests-per-peer", "2", *UNHURRIED) as server, ExitStack() as stack:
        server.wait_until_ready()
        pupils = [stack.enter_context(connected(server)) for _ in range(40)]
        with halted(server):
            for place, pupil in enumerate(pupils):
                send(pupil, "/ops/" + ("exp.json", "cube.json")[place % 2])
            wait_for(server, 2)
            assert metric(server, "waiting") == 2
            refused = server.get("/ops/double.json")
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            assert "2 new questions" in refused.json()["detail"]
            page = server.get("/embed/double")
            assert page.status_code == 200  # without curves, which its script asks for
            (script,) = set(re.findall(r'"(/static/[^"]+/pages/embed\.js)"', page.text))
            assert server.get(script).status_code == 200
            assert metric(server, "refused_total") == 2
        assert [read(pupil)[0] for pupil in pupils] == [200] * 40
        assert server.get("/ops/double.json").status_code == 200


def test_a_page_of_a_busy_server_asks_again_by_itself_where_a_figure_may_stand(tmp_path: Path) -> None:
    shown = ("--frame-ancestors", "https://moodle.example.org")
    with showing(tmp_path, *shown, "--requests-per-peer", "0", *UNHURRIED) as own:
        assert own.get("/ops/Clamp.json").status_code == 200
        with crowded(own, "Clamp"):
            figure, page = own.get("/embed/Cube"), own.get("/ops/Cube")
            for busy in (figure, page):
                assert (busy.status_code, busy.headers["retry-after"]) == (503, "1")
                assert busy.headers["content-type"] == "text/html; charset=utf-8"
                assert 'data-address=""' in busy.text
            assert own.get("/ops/Cube.json").json()["status"] == 503
        ready = own.get("/embed/Cube")
        for name in ("content-security-policy", "cross-origin-resource-policy"):
            assert figure.headers[name] == ready.headers[name]
        assert "moodle.example.org" in figure.headers["content-security-policy"]


def test_the_gallery_is_there_while_no_more_questions_can_wait(unhurried: Server) -> None:
    with crowded(unhurried, "cube"):
        gallery = unhurried.get("/")
        assert gallery.status_code == 200
        assert unhurried.get("/healthz?wait=1").json() == {"status": "ready"}


def test_a_function_is_described_once_for_all_who_open_it(tmp_path: Path) -> None:
    with showing(tmp_path, *UNHURRIED) as own, ExitStack() as stack:
        tabs = [stack.enter_context(connected(own)) for _ in range(8)]
        with halted(own):
            for tab in tabs:
                send(tab, "/ops/Cube.json")
            wait_for(own, 1)
            assert own.get("/own").status_code < 400  # they have all been read by now
            assert metric(own, "waiting") == 1
        assert [read(tab)[0] for tab in tabs] == [200] * 8


def test_pages_that_follow_a_file_are_counted_apart_and_one_too_many_is_told(tmp_path: Path) -> None:
    with showing(tmp_path, "--requests-per-peer", "2") as own, ExitStack() as stack:
        for _ in range(2):
            page = stack.enter_context(connected(own))
            send(page, "/events")
            assert page.recv(1)
        refused = own.get("/events")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert "2 open pages" in refused.json()["detail"]
        assert own.get("/ops/Clamp").status_code == 200
