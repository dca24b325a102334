"""What a Function writes into the channel of its worker, without having opened it, is a crash of that worker alone."""

import json
import struct
from collections.abc import Iterator

import pytest
from support.own_server import Own, showing
from support.own_worker import SQUARE
from support.sampling import sampled
from support.written_functions import class_source

NOISY = (
    f"import os\n\n{SQUARE}"
    + """

def write(frame):
    for number in range(3, 40):
        try:
            os.write(number, frame)
        except OSError:
            pass
"""
)
WRITES = "def forward(ctx, x):\n    if {when}: write({frame!r})\n    return x"


def frame(header: bytes) -> bytes:
    return struct.pack("!II", len(header), 0) + header


HEADERS = {
    "Deep": b"[" * 200_000,
    "List": json.dumps([[5], []]).encode(),
    "Described": json.dumps([{"kind": "described", "op": {}, "read": []}, []]).encode(),
    "Answer": json.dumps([{"kind": "answer", "header": {"view": "curves", "notes": 5}, "read": []}, []]).encode(),
    "Greeting": json.dumps(
        [{"kind": "hello", "catalogue": [5], "files": [], "notes": [], "device": {}, "compiles": False}, []]
    ).encode(),
    "Column": json.dumps([{"kind": "fault", "sentence": ""}, [["x", "q", 8]]]).encode(),
}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Own]:
    texts = [
        class_source(WRITES.format(when=when, frame=frame(header)), f"{name}{late}", "Gradloupe: x: float64[]")
        for name, header in HEADERS.items()
        for late, when in {"": "59 < x.abs().max() < 61", "AtOnce": "True"}.items()
    ]
    with showing(tmp_path_factory.mktemp("noise"), text="\n\n".join((NOISY, *texts))) as server:
        yield server


@pytest.mark.parametrize("name", sampled(HEADERS, ("Deep", "Answer", "Greeting")))
def test_noise_in_the_place_of_an_answer_is_a_crash_and_costs_no_neighbour_anything(own: Own, name: str) -> None:
    answer = own.get(f"/ops/{name}.json?start=-60&stop=60")
    assert answer.status_code == 200
    assert answer.json()["failure"]["phase"] == "worker"
    assert own.get(f"/ops/{name}AtOnce.json").status_code == 422  # not even how it is called was found out
    count = 101 + list(HEADERS).index(name)
    assert own.get(f"/ops/Square.json?count={count}").json()["verdict"]["word"] == "matches"
    assert own.get("/healthz").json() == {"status": "ready"}


@pytest.mark.nightly
def test_the_pages_with_all_functions_are_there(own: Own) -> None:
    assert [own.get(page).status_code for page in ("/", "/ops/Square")] == [200, 200]


def test_a_file_that_writes_noise_when_it_is_imported_is_told_as_what_ended_the_process(tmp_path) -> None:
    text = NOISY + f"\n\nwrite({frame(HEADERS['Greeting'])!r})\n"
    with showing(tmp_path, text=text) as own:
        assert "my_ops.py" in own.get("/own").text
        assert own.get("/ops/exp.json").status_code == 200
