"""The wheel: installed far from the checkout, started in a folder of strangers' names, it serves the same pages."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from serving import copy_of_the_house, serving

HERE = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an empty environment that holds our wheel, and borrows what it depends on."""
    folder = tmp_path_factory.mktemp("wheel")
    source = copy_of_the_house(folder)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        if (HERE / name).exists():
            (source / name).write_bytes((HERE / name).read_bytes())
    offline = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet"]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *offline, "-w", folder, source], check=True)
    (wheel,) = folder.glob("gradloupe-*.whl")
    venv.create(folder / "empty", with_pip=False)
    python = folder / "empty" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "pip", "--python", python, "install", *offline, wheel], check=True)
    (packages,) = (folder / "empty" / "lib").glob("python*/site-packages")
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def test_the_wheel_serves_from_a_folder_of_strangers(installed: Path, tmp_path: Path) -> None:
    for decoy in ("ops", "server", "static", "templates"):
        (tmp_path / decoy).mkdir()
        (tmp_path / decoy / "__init__.py").write_text(f"raise SystemExit('{decoy} of a stranger was imported')\n")
    with serving(python=str(installed), cwd=tmp_path) as server:
        assert "/static/" in server.get("/").text
        answer = server.get("/ops/clamp_with_grad.json")
        assert answer.json()["verdict"]["word"] == "matches its surrogate"
        page = server.get("/ops/clamp_with_grad")
        assert "class ClampWithGrad" in re.sub("<[^>]*>", "", page.text)


def test_the_wheel_is_the_one_that_runs(installed: Path, tmp_path: Path) -> None:
    program = "import gradloupe, gradloupe.server.app; print(gradloupe.__file__)"
    ran = subprocess.run([installed, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert Path(ran.stdout.strip()).is_relative_to(installed.parents[1])


def test_the_command_says_its_version(installed: Path) -> None:
    ran = subprocess.run([installed.with_name("gradloupe"), "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() in (HERE / "__init__.py").read_text()
