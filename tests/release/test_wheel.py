"""The wheel: installed far from the checkout, started in a folder of strangers' names, it serves the same pages."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import sysconfig
import venv
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from support.servers import HERE, copy_of_the_package, serving

pytestmark = pytest.mark.release

HERE = HERE
DOUBLE = """import torch
from ops.slope import SLOPE


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return SLOPE * x

    @staticmethod
    def backward(ctx, grad_output):
        return SLOPE * grad_output
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an empty environment that holds our wheel, and borrows what it depends on."""
    folder = tmp_path_factory.mktemp("wheel")
    source = copy_of_the_package(folder)
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


def test_the_wheel_holds_every_template_script_style_sheet_and_font(installed: Path) -> None:
    (package,) = (installed.parents[1] / "lib").glob("python*/site-packages/gradloupe")
    for folder in ("static", "templates", "server/png/fonts"):
        meant, found = (
            {
                each.relative_to(package_copy)
                for each in (package_copy / folder).rglob("*.*")
                if "__pycache__" not in each.parts
            }
            for package_copy in (HERE, package)
        )
        assert found == meant


def test_the_command_says_its_version(installed: Path) -> None:
    ran = subprocess.run([installed.with_name("gradloupe"), "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() in (HERE / "__init__.py").read_text()


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Somebody's repository, whose packages are called like our folders, with a Function that needs one of them."""
    folder = tmp_path_factory.mktemp("repository")
    files = {
        "ops/__init__.py": "",
        "ops/slope.py": "SLOPE = 2.0\n",
        "server/__init__.py": "raise SystemExit('nobody asked for this one')\n",
        "kernels/__init__.py": "",
        "kernels/fused.py": DOUBLE.replace("from ops.slope", "from .slope"),
        "kernels/slope.py": "SLOPE = 2.0\n",
        "my_ops.py": DOUBLE,
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return folder


COMMANDS = """
import contextlib, io, json, sys
from gradloupe.server.cli import run

told = []
for line in sys.argv[1:]:
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(out):
        try:
            run(line.split())
        except SystemExit as ended:
            told.append((ended.code, out.buffer.getvalue().decode()))
print(json.dumps(told))
"""
TARGETS = ("my_ops.py", "kernels/fused.py", "kernels.fused", "kernels.fused:Double")
CHECKS = (
    *(f"{target} --check --format json" for target in TARGETS),
    "my_ops.py --check --save-html report.html",
    "my_ops.py --check --format junit",
)


@pytest.fixture(scope="module")
def checked(installed: Path, repository: Path) -> dict[str, tuple[int, str]]:
    """How these commands of the wheel end, and what they write; one process runs them all, which loads torch once."""
    command = [installed, "-P", "-c", COMMANDS, *CHECKS]
    ran = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=True)
    return dict(zip(CHECKS, json.loads(ran.stdout), strict=True))


@pytest.mark.nightly
@pytest.mark.parametrize("target", TARGETS)
def test_a_check_of_the_wheel_finds_what_stands_in_a_repository(
    checked: dict[str, tuple[int, str]], target: str
) -> None:
    code, told = checked[f"{target} --check --format json"]
    assert [(each["name"], each["word"]) for each in json.loads(told)["functions"]] == [("Double", "matches")]
    assert code == 0


@pytest.mark.nightly
def test_the_command_checks_the_functions_of_a_repository(installed: Path, repository: Path) -> None:
    command = [installed.with_name("gradloupe"), "my_ops.py", "--check"]
    ran = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)
    assert re.search(r"Double .* matches", ran.stdout), ran.stderr
    assert ran.returncode == 0


@pytest.mark.nightly
def test_the_wheel_reports_in_every_form(checked: dict[str, tuple[int, str]], repository: Path) -> None:
    code, text = checked["my_ops.py --check --save-html report.html"]
    assert re.search(r"Double .* matches", text)
    assert "<svg" in (repository / "report.html").read_text()
    code_of_junit, junit = checked["my_ops.py --check --format junit"]
    assert ElementTree.fromstring(junit).get("failures") == "0"  # noqa: S314 - our own
    assert (code, code_of_junit) == (0, 0)


@pytest.mark.nightly
def test_the_wheel_shows_the_functions_of_a_repository(installed: Path, repository: Path) -> None:
    with serving("my_ops.py", python=str(installed), cwd=repository) as printed:
        server = replace(printed, url=printed.url.partition("/own#")[0])
        assert server.get("/own?wait=1").headers["location"] == "/ops/Double"
        page = server.get("/ops/Double")
        assert "class Double" in re.sub("<[^>]*>", "", page.text)
        assert server.get("/ops/Double.json").json()["verdict"]["word"] == "matches"


@pytest.mark.nightly
def test_the_wheel_looks_and_checks_in_a_script(installed: Path, repository: Path) -> None:
    program = (
        "import gradloupe; from my_ops import Double;"
        "print(gradloupe.check(Double).word, len(gradloupe.look(Double, x=(-3, 3)).page))"
    )
    ran = subprocess.run([installed, "-c", program], cwd=repository, capture_output=True, text=True, check=True)
    word, size = ran.stdout.split()
    assert word == "matches"
    assert int(size) > 100_000
