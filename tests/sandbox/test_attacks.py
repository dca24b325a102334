import os
from collections.abc import Iterator

import pytest
from sandbox.attacks import ATTACKS, GREED, HARMLESS, NOT_ALIVE, text_of
from support.arena import Arena, arena

from gradloupe.server.sandbox.layers import LAYERS

ALL = [layer.name for layer in LAYERS]
ALIVE = sorted({name for group in HARMLESS.values() for name in group} - NOT_ALIVE)
# One of each kind, for each push; the others by night.
CORE = {
    *("read the users", "see whether a file is there", "map a file by torch", "load a library", "write a file"),
    *("open a TCP socket", "look for the worker", "read another's memory", "fork", "clone3", "start a thread", "exec"),
    *("a shell out of a checkpoint", "machine code", "turn data into code by keys", "be dumpable again", "hold memory"),
    *("a program out of memory", "a descriptor of the worker", "write into the worker", "another descriptor"),
    *("System V semaphores", "code at a callback", "a stack that lies"),
    *("calls of another width", "a large tensor", "much output", "kill the worker", "abort", "an exit handler"),
}


def sampled(names: list[str]) -> list[object]:
    """Those of each push, and the others marked for the night."""
    return [pytest.param(each, marks=[] if each in CORE else [pytest.mark.nightly]) for each in names]


@pytest.fixture(scope="module")
def guests() -> Iterator[Arena]:
    with arena() as guests:
        yield guests


@pytest.mark.parametrize("attack", sampled(list(ATTACKS)))
def test_no_attack_gets_out(guests: Arena, attack: str) -> None:
    assert "GOT OUT" not in guests.outcome(text_of(ATTACKS[attack]), seconds=0.5)


@pytest.mark.parametrize("attack", sampled(ALIVE))
def test_without_the_layers_the_attack_succeeds(guests: Arena, attack: str) -> None:
    assert guests.outcome(text_of(ATTACKS[attack]), ALL) == "raised GOT OUT"


def test_there_are_more_than_a_hundred_kinds_of_attack() -> None:
    assert len(ATTACKS) > 170
    assert set(ATTACKS) >= CORE


@pytest.mark.parametrize("count", [20, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_guests_leave_nothing_behind(count: int) -> None:
    """Neither process, descriptor nor memory, which the arena looks at when it ends."""
    with arena() as guests:
        assert {guests.outcome(f"x = bytearray({number})") for number in range(count)} == {"loaded"}


@pytest.mark.parametrize(("seconds", "priority"), [(0.0, os.getpriority(os.PRIO_PROCESS, 0)), (0.8, 19)])
def test_what_computes_long_comes_after_all_other(guests: Arena, seconds: float, priority: int) -> None:
    spins = f"import os, time\nend = time.process_time() + {seconds}\nwhile time.process_time() < end: pass\n"
    told = "raise ValueError(os.getpriority(os.PRIO_PROCESS, 0))"
    assert guests.outcome(spins + told, ALL, 30.0) == f"raised {priority}"


def test_what_hangs_is_told_with_its_line(guests: Arena) -> None:
    said = guests.outcome(text_of(GREED["sleep"]), seconds=0.5)
    assert said.startswith("lost it did not return within 0.5 s; last line: edit.py, line ")
    assert "in attempt" in said


FORGED = "import os, json, struct\nhead = json.dumps({'kind': 'loaded', 'things': []}).encode()\n"
SENT = "os.write(200, struct.pack('!II', len(head), 0) + head)"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import os\nos._exit(3)", "lost it ended its process with exit code 3"),
        ("import os\nos.write(200, b'x' * 8 * 2**20)", "bad reply a frame of 4042322160 bytes is too large"),
        ("import os\nos.write(200, bytes([0, 0, 0, 2, 0, 0, 0, 0]) + b'{}')", "bad reply a reply is of another kind"),
        ("import os\nos.write(200, bytes([0, 0, 0, 2, 0, 0, 0, 0]) + b'[]')", "bad reply a header is no object"),
        (
            "import os\nos.write(200, bytes([0, 15, 0, 0, 0, 0, 0, 0]) + b'[' * 15 * 2**16)",
            "bad reply a header is no JSON",
        ),
        ("import os\nos.close(200)\nwhile True: pass", "lost it closed the channel of its process"),
        ("import json\njson.dumps = None", "lost it ended its process with exit code 1"),
        ("import torch\ntorch.set_default_dtype(torch.float64)", "loaded"),
        (FORGED + SENT, "loaded"),
        (
            FORGED.replace("{'kind': 'loaded', 'things': []}", "{'kind': 'ready'}") + SENT,
            "bad reply a reply is of another kind",
        ),
        (FORGED + "head = b'{}'; os.write(200, struct.pack('!II', 0, 0))", "bad reply a header is no JSON"),
        (FORGED + "head = b'1' * 9999\n" + SENT, "bad reply a header is no JSON"),
        (FORGED + 'head = b\'{"kind": "loaded", "kind": {}}\'\n' + SENT, "bad reply a reply is of another kind"),
        (
            FORGED + "os.write(200, struct.pack('!II', 2**20, 2**25)); os.close(200)\nwhile True: pass",
            "lost it closed the channel of its process",
        ),
        (
            "from ctypes import *\nimport json.encoder\nmemset(id(float) + 8 * 11, 0, 8)\nx = repr(1.5)",
            "loaded",
        ),
    ],
)
def test_a_guest_that_spoils_its_own_process_spoils_nothing_else(guests: Arena, text: str, said: str) -> None:
    assert guests.outcome(text, seconds=0.5) == said
    assert guests.outcome("x = 1") == "loaded"
