import json
import platform
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import httpx2
import pytest
from support.edits import BACKWARD_LINE, edited
from support.servers import InThread, Server, serving, serving_in_thread
from support.waiting import until

from gradloupe.server.exercises.exercise import all_exercises

MAX_TEXT = 2**16  # bytes
UNCALLED = """

class Scales(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, table):
        return x * table.lookup("k").factor

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None
"""


def played(server: Server, body: Any, **headers: str) -> httpx2.Response:
    """The reply to a body, sent as a page of the server does."""
    own = {"Origin": server.url, "Sec-Fetch-Site": "same-origin", "Content-Type": "application/json"}
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.post(f"{server.url}/play.json", content=content, headers=own | sent, timeout=120)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InThread]:
    folder = tmp_path_factory.mktemp("own")
    (folder / "my_ops.py").write_text(edited() + UNCALLED)
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
        ("import os\nos._exit(3)", "broken", None),
        (edited("raise ValueError('no')"), "unsolved", BACKWARD_LINE - 5),
        (edited(backward="raise ValueError('no')"), "failed", BACKWARD_LINE),
        pytest.param(
            *(edited(backward="while x.max() > 1.6: pass\n        return grad_output, None"), "failed", BACKWARD_LINE),
            marks=pytest.mark.nightly,
        ),
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


def test_a_call_that_the_docstring_does_not_say_whole_is_no_fault_of_a_line(running: InThread) -> None:
    text = edited().replace("; k = 2.0", "").replace("k=2.0", "k")
    found = played(running, {"text": text}).json()
    assert (found["result"], found["line"]) == ("unsolved", None)
    assert "missing 1 required positional argument: 'k'" in found["sentence"]


def test_where_no_call_is_found_a_line_of_the_docstring_may_say_one(running: InThread) -> None:
    text = edited("return x * {'two': 2.0}[str(k)[:9]]", "return grad_output * 2.0, None").replace("k=2.0", "k")
    found = played(running, {"text": text.replace("Gradloupe: x: float64[]; k = 2.0", "Doubles.")}).json()
    assert found["result"] == "unsolved"
    assert "`Gradloupe: x: float64" in found["sentence"]


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"text": edited(), "query": "start=one"}, 422, "start=one is not a number"),
        ({"text": edited(), "query": "view=contract"}, 422, "view: contract is unsupported for edited code"),
        ({"text": edited(), "name": "Edit"}, 404, "There is no 'Edit' in the text; it has Edited."),
        ({"text": " "}, 422, "There is no code"),
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


@pytest.fixture(scope="module")
def public() -> Iterator[InThread]:
    with serving_in_thread("--public", "--play", "--deadline", "30") as server:
        yield server


def asked_first(server: Server, origin: str, host: str = "") -> httpx2.Response:
    """The reply to what a browser asks before it sends JSON from another origin."""
    asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    named = {"Host": host} if host else {}
    return httpx2.options(f"{server.url}/play.json", headers={"Origin": origin} | asks | named)


FRAME = {"Origin": "null", "Sec_Fetch_Site": "cross-site"}


def test_where_no_call_of_a_function_is_found_its_code_can_be_edited(own: InThread) -> None:
    assert 'href="/play?from=Scales"' in own.get("/ops/Scales").text
    page = own.get("/play?from=Scales").text
    assert escape(UNCALLED.strip().splitlines()[0], quote=False) in page
    assert 'data-from="Scales"' in page
    assert "data-behind" not in page  # there are no curves to draw it over


def test_for_strangers_it_is_off_unless_the_operator_says_otherwise(public: InThread) -> None:
    with serving_in_thread("--public") as server:
        server.wait_until_ready()
        assert server.get("/play").status_code == 403
        for page in ("/", "/ops/exp", "/lessons/backward"):
            assert "/play" not in server.get(page).text
        reply = played(server, {"text": edited()})
        assert reply.status_code == 403
        assert "--play" in reply.json()["detail"]
    assert played(public, {"text": edited()}).json()["result"] == "answered"


def test_a_sandboxed_frame_may_ask_a_server_for_strangers_and_read_the_answer(public: InThread) -> None:
    first = asked_first(public, "null")
    assert first.status_code == 204
    assert first.headers["access-control-allow-origin"] == "null"
    assert first.headers["access-control-allow-methods"] == "POST"
    assert first.headers["access-control-allow-headers"] == "content-type"
    assert "access-control-allow-credentials" not in first.headers
    for body, status in (({"text": edited()}, 200), ({"text": " "}, 422)):
        reply = played(public, body, **FRAME)
        assert reply.status_code == status
        assert reply.headers["access-control-allow-origin"] == "null"
        assert reply.headers["access-control-expose-headers"] == "retry-after"
        assert "access-control-allow-credentials" not in reply.headers
    assert "access-control-allow-origin" not in played(public, {"text": edited()}).headers


@pytest.mark.parametrize("origin", ["https://evil.example", "null, null", "Null", "file://"])
def test_no_other_origin_may_do_so(public: InThread, origin: str) -> None:
    assert "access-control-allow-origin" not in asked_first(public, origin).headers
    reply = played(public, {"text": edited()}, Origin=origin, Sec_Fetch_Site="cross-site")
    assert reply.status_code == 403
    assert "access-control-allow-origin" not in reply.headers


def test_the_description_of_the_api_says_what_code_is_answered(running: InThread) -> None:
    described = running.get("/openapi.json").json()["paths"]["/play.json"]["post"]
    assert described["requestBody"]["content"]["application/json"]["schema"]["required"] == ["text"]
    answer = described["responses"]["200"]["content"]["application/json"]["schema"]
    for text in ("x = 1 / 0", edited()):
        result = played(running, {"text": text}).json()
        assert result.keys() - {"name"} == {*answer["required"]}
        assert result.keys() <= answer["properties"].keys()
        assert result["result"] in answer["properties"]["result"]["enum"]


def test_a_frame_may_ask_for_nothing_else(public: InThread) -> None:
    for path in ("/play.html", "/ops/swish", "/PLAY.json", "/play.json/"):
        reply = httpx2.post(f"{public.url}{path}", headers={"Origin": "null"}, json={})
        assert "access-control-allow-origin" not in reply.headers


def test_a_person_s_own_server_runs_nothing_for_frames_or_other_names(running: InThread, own: InThread) -> None:
    for server in (running, own):
        assert "access-control-allow-origin" not in asked_first(server, "null").headers
        reply = played(server, {"text": edited()}, **FRAME, X_Gradloupe_Token=server.token)
        assert reply.status_code == 403
        assert "access-control-allow-origin" not in reply.headers
        # What a name leads to that an evil page has had led to this machine.
        rebound = {"Host": "evil.example", "Origin": "http://evil.example"}
        assert played(server, {"text": edited()}, **rebound).status_code == 421
        assert asked_first(server, "null", "evil.example").status_code == 421


# What a kernel lacks that has no such layer: a system call, and the first argument of it where that matters.
LACKING = {"Landlock": (444, None), "seccomp": ({"x86_64": 157, "aarch64": 167}[platform.machine()], 22)}
WITHOUT = """#!{python}
import ctypes, os, struct, sys
step = lambda *each: struct.pack("HBBI", *each)
number, argument = {lacking}
then = [step(0x20, 0, 0, 16), step(0x15, 0, 1, argument)] if argument else []
code = b"".join([step(0x20, 0, 0, 0), step(0x15, 0, 1 + len(then), number), *then,
                 step(0x06, 0, 0, 0x50026), step(0x06, 0, 0, 0x7FFF0000)])
memory = ctypes.create_string_buffer(code, len(code))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(memory)))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
os.execv({python!r}, [{python!r}, *sys.argv[1:]])
"""


@pytest.mark.parametrize(
    ("lacking", "options", "status"),
    [
        ("Landlock", [], 200),
        pytest.param("Landlock", ["--public", "--play"], 403, marks=pytest.mark.nightly),
        ("seccomp", [], 403),
    ],
)
def test_a_system_without_a_layer_says_so_and_runs_nothing_for_strangers(
    tmp_path: Path, lacking: str, options: list[str], status: int
) -> None:
    python = tmp_path / "python"
    python.write_text(WITHOUT.format(python=sys.executable, lacking=LACKING[lacking]))
    python.chmod(0o700)
    with (tmp_path / "log").open("w") as log, serving(*options, python=str(python), log=log) as server:
        reply = played(server, {"text": edited()})
        assert reply.status_code == status
        assert until(lambda: lacking in (tmp_path / "log").read_text())
    assert status == 200 or lacking in reply.json()["detail"]


def graded(server: Server, **body: str) -> Any:
    """The grade of a text, asked for as a page of the server does."""
    own = {"Origin": server.url, "Sec-Fetch-Site": "same-origin", "Content-Type": "application/json"}
    reply = httpx2.post(f"{server.url}/play.grade.json", content=json.dumps(body), headers=own, timeout=120)
    return reply.json() | ({"status": reply.status_code} if reply.status_code != 200 else {})


def test_an_exercise_is_solved_where_the_judge_says_so(running: InThread) -> None:
    exercise = all_exercises()["mask"]
    right = graded(running, exercise="mask", text=exercise.solution)
    assert right == {"solved": True, "note": "solved", "trouble": "", "hints": []}
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
        ({"goal": "matches", "original": "x" * (MAX_TEXT + 1)}, f"A text may have {MAX_TEXT} bytes"),
    ],
)
def test_a_goal_that_cannot_be_graded_is_refused(running: InThread, body: dict[str, str], words: str) -> None:
    refused = graded(running, text=edited(), **body)
    assert refused["status"] in (413, 422)
    assert words in refused["detail"]
