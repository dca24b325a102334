import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from support.edits import BACKWARD_LINE, edited
from support.servers import InThread, Server, serving_in_thread

from gradloupe.server.exercises.exercise import all_exercises

MAX_TEXT = 2**16  # bytes


def played(server: Server, body: Any, **headers: str) -> httpx2.Response:
    """The reply to a body, sent as a page of the server does."""
    own = {"Origin": server.url, "Sec-Fetch-Site": "same-origin", "Content-Type": "application/json"}
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.post(f"{server.url}/play.json", content=content, headers=own | sent, timeout=120)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InThread]:
    folder = tmp_path_factory.mktemp("own")
    (folder / "my_ops.py").write_text(edited())
    with serving_in_thread("my_ops.py", cwd=folder) as server:
        yield server


def test_an_edit_has_the_document_of_an_op(running: InThread) -> None:
    reply = played(running, {"text": edited(), "query": "start=-1&stop=2&count=11"})
    assert reply.status_code == 200
    assert "no-store" in reply.headers["cache-control"]
    result = reply.json()
    assert (result["result"], result["functions"], result["line"]) == ("answered", ["Edited"], None)
    document, like = result["document"], running.get("/ops/square.json?start=-1&stop=2&count=11").json()
    assert document.keys() == like.keys()
    assert document["verdict"]["word"] == "matches"
    assert document["columns"]["analytical"] == like["columns"]["analytical"]


@pytest.mark.parametrize(
    ("text", "result", "line"),
    [
        ("import torch\nclass A(\n", "broken", 2),
        ("import torch\n\nraise ValueError('no')\n", "broken", 3),
        (edited("raise ValueError('no')"), "unsolved", BACKWARD_LINE - 5),
        (edited(backward="raise ValueError('no')"), "failed", BACKWARD_LINE),
        (edited(backward="while x.max() > 1.6: pass\n        return grad_output, None"), "failed", BACKWARD_LINE),
        (edited(backward="return grad_output * float('nan'), None"), "answered", None),
        (edited(backward="return grad_output"), "failed", None),
    ],
)
def test_what_is_wrong_with_a_text_is_a_result_with_its_line(
    running: InThread, text: str, result: str, line: int | None
) -> None:
    found = played(running, {"text": text}).json()
    assert (found["result"], found["line"]) == (result, line)
    assert bool(found["sentence"]) == (result != "answered")
    assert "save" not in found["sentence"]
    assert (found["document"] is None) == (result in ("broken", "unsolved"))
    assert found["document"] is None or found["document"]["verdict"]["word"] in ("failed", "differs")


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"text": edited(), "query": "start=one"}, 422, "start=one is not a number"),
        ({"text": edited(), "query": "view=contract"}, 422, "view: contract is unsupported for edited code"),
        ({"text": edited(), "name": "Edit"}, 404, "There is no 'Edit' in the text; it has Edited."),
        ({"text": " "}, 422, "text: there is none"),
        ({"txt": "x"}, 422, "did you mean text?"),
        ({"text": 1}, 422, "must be an object of texts"),
        ([], 422, "must be an object of texts"),
        (b"{", 422, "The body is no JSON"),
        (b'{"text": "\\ud800"}', 422, "The body is no JSON"),
        ({"text": "x" * (MAX_TEXT + 1)}, 413, f"A text may have {MAX_TEXT} bytes"),
        (b" " * 2**20, 413, f"A text may have {MAX_TEXT} bytes"),
    ],
)
def test_what_is_wrong_with_a_request_is_a_problem(running: InThread, body: Any, status: int, words: str) -> None:
    reply = played(running, body)
    assert (reply.status_code, reply.headers["content-type"]) == (status, "application/problem+json")
    assert words in reply.json()["detail"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Sec_Fetch_Site": "", "Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Content_Type": "text/plain"}, 415),
    ],
)
def test_another_site_runs_nothing(running: InThread, headers: dict[str, str], status: int) -> None:
    assert played(running, {"text": edited()}, **headers).status_code == status


def test_beside_functions_of_your_own_an_edit_needs_the_token(own: InThread) -> None:
    assert played(own, {"text": edited()}).status_code == 403
    assert played(own, {"text": edited()}, X_Gradloupe_Token=own.token).json()["result"] == "answered"


def test_for_strangers_it_is_off_unless_the_operator_says_otherwise() -> None:
    with serving_in_thread("--public") as server:
        server.wait_until_ready()
        assert server.get("/play").status_code == 403
        for page in ("/", "/ops/exp", "/lessons/backward"):
            assert "/play" not in server.get(page).text
        reply = played(server, {"text": edited()})
        assert reply.status_code == 403
        assert "--play" in reply.json()["detail"]
    with serving_in_thread("--public", "--play", "--deadline", "30") as server:
        assert played(server, {"text": edited()}).json()["result"] == "answered"


def graded(server: Server, **body: str) -> Any:
    """The grade of a text, asked for as a page of the server does."""
    own = {"Origin": server.url, "Sec-Fetch-Site": "same-origin", "Content-Type": "application/json"}
    reply = httpx2.post(f"{server.url}/play.grade.json", content=json.dumps(body), headers=own, timeout=120)
    return reply.json() | ({"status": reply.status_code} if reply.status_code != 200 else {})


def test_an_exercise_is_solved_where_the_judge_says_so(running: InThread) -> None:
    exercise = all_exercises()["mask"]
    right = graded(running, exercise="mask", text=exercise.solution)
    assert right == {"solved": True, "note": "solved", "hints": []}
    wrong = graded(running, exercise="mask", text=exercise.start)
    assert (wrong["solved"], wrong["note"]) == (False, "mask-forgotten")
    assert [asks for asks, _ in wrong["hints"]] == ["Where?", "What kind?", "Which line?", "A hint?"]
    assert wrong["hints"][2][1].startswith("Line 14: ")


def test_an_edit_reaches_a_goal_only_with_the_forward_that_it_began_with(running: InThread) -> None:
    original = edited(backward="return grad_output, None")
    assert graded(running, goal="matches", original=original, text=original)["note"] == "factor-missing"
    assert graded(running, goal="matches", original=original, text=edited())["solved"]
    other = edited("return x * ctx.k", "return grad_output * ctx.k, None")
    assert graded(running, goal="matches", original=original, text=other)["note"] == "forward-changed"
    assert graded(running, goal="surrogate", original=original, text=edited())["note"] == "no-surrogate"
    assert graded(running, goal="matches", original=original, text="class A(")["note"] == "broken"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"exercise": "masks"}, "did you mean mask?"),
        ({"exercise": "no such thing"}, "/exercises lists them all"),
        ({}, "a goal, matches or surrogate, and the original"),
        ({"goal": "check", "original": "a"}, "a goal, matches or surrogate, and the original"),
        ({"goal": "matches"}, "and the original"),
        ({"goal": "matches", "original": "x = 1\n"}, "The code that the edit started from cannot be run"),
        ({"query": ""}, "is no field of the body"),
    ],
)
def test_a_goal_that_cannot_be_graded_is_refused(running: InThread, body: dict[str, str], words: str) -> None:
    refused = graded(running, text=edited(), **body)
    assert refused["status"] == 422
    assert words in refused["detail"]
