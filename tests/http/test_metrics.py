"""The numbers for Prometheus: what was asked, how it went, what waits, what is kept."""

import os
import signal
from pathlib import Path

from functions.misbehaving_op import OWN
from prometheus_client.parser import text_string_to_metric_families
from support import http
from support.own_server import showing
from support.servers import Server, serving_in_thread

Key = tuple[str, frozenset[tuple[str, str]]]


def scraped(server: Server) -> dict[Key, float]:
    """Every number by its name and labels."""
    response = server.get("/metrics")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain; version=")
    assert response.headers["cache-control"] == "no-store"
    families = text_string_to_metric_families(response.text)
    return {(each.name, frozenset(each.labels.items())): each.value for family in families for each in family.samples}


def number(numbers: dict[Key, float], name: str, **labels: str) -> float:
    return numbers.get((f"gradloupe_{name}", frozenset(labels.items())), 0.0)


def test_requests_are_counted_by_the_template_of_their_address() -> None:
    with serving_in_thread() as server:
        server.wait_until_ready()
        for address in ("/ops/exp.json?count=11", "/ops/cube.json", "/ops/nope.json", "/ops/exp.json?secret=1", "/zz"):
            server.get(address)
        http.head(f"{server.url}/ops/exp.json?count=11")
        numbers = scraped(server)
        route = "/ops/{name}.json"
        assert number(numbers, "requests_total", route=route, status="2xx") == 3
        assert number(numbers, "requests_total", route=route, status="4xx") == 2
        assert number(numbers, "requests_total", route="", status="4xx") == 1
        assert number(numbers, "request_seconds_count", route=route) == 5
        assert number(numbers, "request_seconds_bucket", route=route, le="+Inf") == 5
        assert 0 < number(numbers, "request_seconds_sum", route=route) < 50
        text = server.get("/metrics").text
        assert "secret" not in text
        assert "nope" not in text
        assert number(numbers, "cache_hits_total", cache="bodies") == 1  # what HEAD asked for was there
        assert [number(numbers, "cache_bytes", cache=each) > 1000 for each in ("bodies", "answers")] == [True, True]


def test_a_lost_worker_and_what_became_of_the_question_are_counted(tmp_path: Path) -> None:
    with showing(tmp_path, text=OWN) as server:
        server.get("/ops/Misbehaving.json?deed=raise")
        assert number(scraped(server), "worker_restarts_total") == 0
        os.kill(server.door.workers[0], signal.SIGKILL)
        server.wait_until_ready()
        server.get("/ops/Misbehaving.json?count=5")
        numbers = scraped(server)
        assert number(numbers, "worker_restarts_total") == 1
        assert number(numbers, "questions_total", outcome="failed") == 1
        assert number(numbers, "questions_total", outcome="answered") == 1
        assert number(numbers, "ready") == 1
        assert number(numbers, "waiting") == 0


def test_what_is_counted_of_own_functions_goes_on_after_a_save(tmp_path: Path) -> None:
    with showing(tmp_path) as server:
        server.get("/ops/Cube.json")
        for worker in server.workers():
            os.kill(worker, signal.SIGKILL)
        server.get("/ops/Fused.json")
        before = scraped(server)
        reloaded = server.post("/reload", origin=server.url, X_Gradloupe_Token=server.token)
        assert reloaded.json()["generation"] > 1
        after = scraped(server)
        counted = [key for key in before if key[0].endswith("_total")]
        assert [key for key in counted if after[key] < before[key]] == []
        server.get("/ops/Clamp.json")
        label = {"outcome": "answered"}
        assert number(scraped(server), "questions_total", **label) == number(before, "questions_total", **label) + 1
        assert number(after, "worker_restarts_total") >= 1


def test_memory_and_connections_are_there(running: Server) -> None:
    numbers = scraped(running)
    assert number(numbers, "connections") >= 1
    if Path("/proc/self/statm").exists():
        for process in ("server", "worker 1"):
            assert 2e7 < number(numbers, "resident_bytes", process=process) < 2e9


def test_the_metrics_of_a_public_server_are_not_for_strangers() -> None:
    with serving_in_thread("--public", "--forwarded-allow-ips", "127.0.0.1") as server:
        assert server.get("/metrics").status_code == 200
        for header, value in (("X-Forwarded-For", "203.0.113.7"), ("Forwarded", "for=10.0.0.1"), ("Via", "1.1 proxy")):
            refused = http.get(f"{server.url}/metrics", headers={header: value})
            assert refused.status_code == 403
            assert refused.json()["detail"].endswith(".")
            assert "gradloupe_" not in refused.text
