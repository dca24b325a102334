"""A baseline lists the findings that a repository has, and then only new ones fail."""

import json
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from support.checked_files import CUBE, FAULTY, THROUGH, ids, written
from support.command_line import ran

BASELINE = "--check --baseline known.json"
PRODUCT = FAULTY["Product"]


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two files, each with a Function that is wrong, and the baseline of them."""
    folder = tmp_path_factory.mktemp("known")
    (folder / "products.py").write_text(written({"Product": PRODUCT, "Cube": CUBE}))
    (folder / "rounds.py").write_text(written({"Through": THROUGH}))
    process = ran(folder, f"products.py rounds.py {BASELINE} --write-baseline")
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout.count("differs, known") == process.stdout.count("GRADIENT, known") == 2
    return folder


@pytest.fixture
def place(known: Path, tmp_path: Path) -> Path:
    """A copy of that folder, which a test may change."""
    return shutil.copytree(known, tmp_path, dirs_exist_ok=True)


def report_of(folder: Path, line: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ran(folder, f"{line} --format json").stdout)
    return found


def listed(folder: Path) -> list[tuple[str, ...]]:
    document = json.loads((folder / "known.json").read_text())
    return [tuple(each.values()) for each in document["findings"]]


def test_what_is_listed_fails_nobody_wherever_it_moves_in_its_file(place: Path) -> None:
    assert listed(place) == [
        ("products.py", "Product", "GRADIENT", "differs", "factor"),
        ("rounds.py", "Through", "GRADIENT", "differs", "x"),
    ]
    (place / "products.py").write_text(f"# Moved down.\n{written({'Product': PRODUCT})}")
    process = ran(place, f"products.py {BASELINE} --format junit")
    assert process.returncode == 0
    assert [*ElementTree.fromstring(process.stdout).iter("failure")] == []  # noqa: S314 - our own
    assert ran(place, "products.py --check").returncode == 1


def test_another_input_another_check_and_another_function_are_new(place: Path) -> None:
    both = PRODUCT.replace("return g", "return 3 * g")
    (place / "products.py").write_text(written({"Product": both, "Through": THROUGH}))
    found = report_of(place, f"products.py rounds.py {BASELINE}")
    faults = [(each["file"], each["name"], fault["input"]) for each in found["functions"] for fault in each["faults"]]
    assert faults == [("products.py", "Product", "x"), ("products.py", "Through", "x")]  # and not that of rounds.py
    assert found["exit_code"] == 1
    failing = PRODUCT.replace("return g", "raise ValueError; return g")
    (place / "products.py").write_text(written({"Product": failing}))
    (product,) = report_of(place, f"products.py {BASELINE}")["functions"]
    assert (product["word"], product["ok"]) == ("failed", False)


def test_what_is_mended_or_gone_is_said_and_left_out_when_the_baseline_is_written(place: Path) -> None:
    (place / "products.py").write_text(written({"Cube": CUBE}))
    found = report_of(place, f"products.py {BASELINE}")
    (note,) = found["notes"]
    assert (found["exit_code"], "Product in products.py" in note) == (0, True)
    (place / "rounds.py").unlink()
    assert len(report_of(place, f"products.py {BASELINE}")["notes"]) == 2
    (place / "rounds.py").write_text("")
    found = report_of(place, f"products.py {BASELINE} --write-baseline")
    assert (found["notes"], ids(found["functions"][0]["faults"])) == ([], [])
    assert listed(place) == [("rounds.py", "Through", "GRADIENT", "differs", "x")]  # which was not looked at


@pytest.mark.parametrize("text", [None, "[]", "{", '{"schema": 1, "findings": [{"file": 1}]}', "\xff"])
def test_a_baseline_that_is_none_is_refused_before_anything_is_called(tmp_path: Path, text: str | None) -> None:
    (tmp_path / "loud.py").write_text("open('called', 'w')\n")
    if text is not None:
        (tmp_path / "known.json").write_text(text)
    process = ran(tmp_path, f"loud.py {BASELINE}")
    assert (process.returncode, process.stdout) == (2, "")
    assert "known.json" in process.stderr
    assert "--write-baseline" in process.stderr
