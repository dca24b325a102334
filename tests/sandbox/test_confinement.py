"""A process confines itself by layers, and what is missing is found out by trying."""

import json
import platform
import struct
import subprocess
import sys

import pytest

from gradloupe.server.sandbox.canary import Confinement, examine, parse_confinement
from gradloupe.server.sandbox.layers import LAYERS, CannotConfine, confine, syscall_filter

# What a canary did where one layer was left out that the others do not replace.
OPEN = {
    "resources": {"take all memory"},
    "syscalls": {"see which files there are", "open sockets", "run programs", "make machine code"},
}
ALL = frozenset(layer.name for layer in LAYERS)


def test_a_confined_process_can_do_nothing_that_is_forbidden() -> None:
    found = examine()
    assert not found.refusal(public=False), found


@pytest.mark.parametrize("layer", OPEN)
def test_a_layer_that_is_left_out_is_found_out(layer: str) -> None:
    found = examine(frozenset({layer}))
    assert OPEN[layer] <= set(found.did)
    assert "could" in found.refusal(public=False)


def test_an_unconfined_process_can_do_all_that_is_tried() -> None:
    assert len(examine(ALL).did) == 10


def test_the_canary_is_a_program_that_prints_what_it_found() -> None:
    done = subprocess.run([sys.executable, "-m", examine.__module__], capture_output=True, check=True)
    assert parse_confinement(done.stdout) == examine()


@pytest.mark.parametrize(
    "said", [b"", b"nothing", b"[1]", b'{"missing": []}', b'{"missing": 1, "did": [], "refused": ""}']
)
def test_a_canary_that_dies_or_babbles_confines_nothing(said: bytes) -> None:
    assert parse_confinement(said).refusal(public=False)


def test_without_linux_the_sentence_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    found = examine()
    assert found.refusal(public=False) == (
        "Code cannot be edited here: its sandbox needs Linux, and this is Darwin; run the Docker image."
    )
    with pytest.raises(CannotConfine):
        confine(without=ALL - {"syscalls"})


def test_what_is_missing_is_said_in_one_sentence() -> None:
    found = Confinement(missing=("namespaces", "Landlock"))
    assert not found.refusal(public=False)
    assert found.refusal(public=True).endswith("its sandbox is not for strangers without Landlock.")
    assert found.sentence.startswith("Edited code runs in a sandbox without namespaces and Landlock")
    assert not Confinement(missing=("namespaces",)).refusal(public=True)  # in a container, which is one itself
    assert json.dumps(Confinement().sentence) == '""'


@pytest.mark.parametrize(("machine", "audit"), [("x86_64", 0xC000003E), ("aarch64", 0xC00000B7)])
def test_the_filter_ends_what_calls_by_the_numbers_of_another_machine(machine: str, audit: int) -> None:
    code = list(struct.iter_unpack("HBBI", syscall_filter(machine)))
    assert code[1][3] == audit
    assert code[2] == (0x06, 0, 0, 0x80000000)
    assert code[-1] == (0x06, 0, 0, 0x00050001)
    assert all(place + 1 + max(first, second) < len(code) for place, (_, first, second, _) in enumerate(code[:-1]))


def test_there_is_no_filter_for_an_unknown_machine() -> None:
    with pytest.raises(CannotConfine, match="riscv64"):
        syscall_filter("riscv64")
