"""Where python-flint is not installed nothing is said to be proved, and all else is as ever."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.servers import serving
from support.written_functions import CUBE

HIDING = '''
import sys

class Hiding:
    """A finder that finds all but python-flint."""

    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, *of):
        return None if name.partition(".")[0] == "flint" else self.finder.find_spec(name, *of)

sys.meta_path[:] = [Hiding(each) for each in sys.meta_path]
'''
NEEDED = "Proofs need python-flint: pip install 'gradloupe[proof]'."


@pytest.fixture
def hidden(tmp_path: Path) -> str:
    """A folder for ``PYTHONPATH``."""
    (tmp_path / "sitecustomize.py").write_text(HIDING)
    (tmp_path / "my_ops.py").write_text(CUBE)
    return str(tmp_path)


def commanded(hidden: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gradloupe", *arguments]
    environment = os.environ | {"PYTHONPATH": hidden}
    return subprocess.run(command, cwd=hidden, env=environment, capture_output=True, text=True, check=False)


def test_a_check_has_its_verdict_and_no_column_for_proofs(hidden: str) -> None:
    ran = commanded(hidden, "my_ops.py", "--check")
    assert (ran.returncode, "matches" in ran.stdout, "proved" in ran.stdout + ran.stderr) == (0, True, False)


def test_a_certificate_is_not_asked(hidden: str) -> None:
    ran = commanded(hidden, "--verify", "certificate.json")
    assert (ran.returncode, ran.stderr) == (2, f"{NEEDED}\n")


def test_a_page_says_nothing_and_draws_no_stripes(hidden: str) -> None:
    with serving(path=hidden) as running:
        assert "matches" in running.get("/ops/cube").text
        shown = running.get("/ops/cube.page.json?view=proof").json()
        assert (shown["line"], shown["undecided"]) == ("", [])
        told = running.get("/ops/cube.json?view=proof").json()
        assert (told["word"], told["sentence"]) == ("", NEEDED)
        assert running.get("/ops/cube.certificate.json").status_code == 422
