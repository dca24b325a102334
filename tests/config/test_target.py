"""What stands on the command line is understood, or refused with the mend, before anything is imported."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from support.own_worker import SQUARE, written

from gradloupe.server.config.target import BadTarget, Target, parse_target


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files, in which we are."""
    files = {"my_ops": SQUARE, "pack/__init__": "", "pack/kernels": SQUARE, "plain/other": "", "plain/ops": SQUARE}
    folder = written(tmp_path, files)
    (folder / "notes.txt").write_text("no Python")
    (folder / "empty").mkdir()
    monkeypatch.chdir(folder)
    return folder


def refused(text: str) -> str:
    with pytest.raises(BadTarget) as caught:
        parse_target(text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "file", "attribute", "name"),
    [
        ("my_ops.py", "my_ops.py", "", "my_ops.py"),
        ("./pack/kernels.py", "pack/kernels.py", "", "kernels.py"),
        ("my_ops.py:Square", "my_ops.py", "Square", "my_ops.py"),
        ("pack/kernels.py:Outer.Inner", "pack/kernels.py", "Outer.Inner", "kernels.py"),
    ],
)
def test_a_file_is_known_by_its_ending_or_a_slash(here: Path, text: str, file: str, attribute: str, name: str) -> None:
    assert parse_target(text) == Target(text, str(here / file), "", attribute, name, str(here))


@pytest.mark.parametrize(
    ("text", "module", "attribute"),
    [
        ("my_ops", "my_ops", ""),
        ("pack", "pack", ""),
        ("pack.kernels:Square", "pack.kernels", "Square"),
        ("plain.ops", "plain.ops", ""),
        ("json", "json", ""),
        ("torch.nn", "torch.nn", ""),
        ("gradloupe.ops", "gradloupe.ops", ""),
    ],
)
def test_any_other_name_is_a_module_of_this_folder_or_installed(
    here: Path, text: str, module: str, attribute: str
) -> None:
    assert parse_target(text) == Target(text, "", module, attribute, module, str(here))


def test_a_file_whose_name_has_a_colon_is_that_file(here: Path) -> None:
    (here / "a:b.py").write_text(SQUARE)
    assert parse_target("a:b.py").path == str(here / "a:b.py")


def test_what_is_installed_is_found_behind_a_folder_of_its_name(here: Path) -> None:
    (here / "torch").mkdir()
    assert parse_target("torch").module == "torch"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("my_opps.py", "There is no file my_opps.py; did you mean my_ops.py?"),
        ("pack/kernel.py", "There is no file pack/kernel.py; did you mean pack/kernels.py?"),
        ("zebra.py", "There is no file zebra.py in the folder you are in; name one that is there,"),
        ("gone/my_ops.py", "There is no folder gone, so no gone/my_ops.py;"),
        ("pack/", "pack is a folder; name a file in it, such as pack/kernels.py."),
        ("plain", "plain is a folder; name a file in it, such as plain/ops.py."),
        ("./empty", "./empty is a folder, and no Python file is in it;"),
        ("notes.txt", "notes.txt is not a Python file; name one that ends in .py,"),
        ("my_ops.py:", "No name stands after the colon of 'my_ops.py:'; write my_ops.py:Name,"),
        ("my_ops.py:12", "'12' cannot be the name of a class or function; write my_ops.py:Name."),
        ("", "'' names no file; name one, such as my_ops.py,"),
        (":Square", "':Square' names no file;"),
        ("my-ops", "'my-ops' is neither a file nor a module;"),
        (
            "my_opss",
            "There is no module my_opss, neither in the folder you are in nor installed here; did you mean my_ops?",
        ),
        (
            "zebra.stripes",
            "There is no module zebra, neither in the folder you are in nor installed here; name a file,",
        ),
    ],
)
def test_what_cannot_be_looked_at_is_refused_with_the_mend(here: Path, text: str, said: str) -> None:
    assert refused(text).startswith(said)


def test_a_link_that_leads_nowhere_is_named_so(here: Path) -> None:
    (here / "led.py").symlink_to(here / "gone.py")
    with pytest.raises(BadTarget, match=r"^led\.py is a link that leads nowhere; fix it, or name a file"):
        parse_target("led.py")


def test_a_pipe_is_no_file(here: Path) -> None:
    os.mkfifo(here / "pipe.py")
    assert refused("pipe.py").startswith("pipe.py is neither")


READ = """
import os, sys
from gradloupe.server.config.target import BadTarget, parse_target
if not os.getuid():
    os.setuid(65534)
try:
    parse_target(sys.argv[1])
except BadTarget as problem:
    print(problem)
"""


def test_a_file_that_may_not_be_read_says_how_to_allow_it() -> None:
    root, reader = os.getuid() == 0, os.getuid() or 65534
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # noqa: S103 whoever runs the tests, another user is to see it
        path = Path(folder, "secret.py")
        path.write_text(SQUARE)
        path.chmod(0)
        for owner, advice in [(0, "--user 0")] * root + [(reader, f"chmod u+r {path}")]:
            os.chown(path, owner, -1)
            told = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True)
            assert told.stdout.startswith(f"{path} may not be read")
            assert advice in told.stdout


def test_nothing_is_imported_to_find_out(here: Path) -> None:
    (here / "loud.py").write_text("raise SystemExit('imported')")
    assert parse_target("loud").module == "loud"
    assert parse_target("loud.deeper").module == "loud.deeper"
