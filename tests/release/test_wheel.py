import json
import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from support.servers import HERE, copy_of_the_package, serving
from support.written_functions import class_source

pytestmark = pytest.mark.release

DOUBLE = "def forward(ctx, x): return SLOPE * x\ndef backward(ctx, grad_output): return SLOPE * grad_output"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an empty environment that holds our wheel, and borrows what it depends on."""
    folder = tmp_path_factory.mktemp("wheel")
    source = copy_of_the_package(folder)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        (source / name).write_bytes((HERE / name).read_bytes())
    offline = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet"]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *offline, "-w", folder, source], check=True)
    (wheel,) = folder.glob("gradloupe-*.whl")
    venv.create(folder / "empty", with_pip=False)
    python = folder / "empty" / "bin" / "python"
    install = ["install", "--no-compile", *offline, wheel]
    subprocess.run([sys.executable, "-m", "pip", "--python", python, *install], check=True)
    (packages,) = (folder / "empty" / "lib").glob("python*/site-packages")
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def test_the_wheel_serves_from_a_folder_of_strangers(installed: Path, tmp_path: Path) -> None:
    for decoy in ("ops", "server", "static", "templates"):
        (tmp_path / decoy).mkdir()
        (tmp_path / decoy / "__init__.py").write_text(f"raise SystemExit('{decoy} of a stranger was imported')\n")
    with serving(python=str(installed), cwd=tmp_path) as server:
        assert server.get("/ops/clamp_with_grad.json").json()["verdict"]["word"] == "matches its surrogate"
        page = server.get("/ops/clamp_with_grad").text
        assert server.get(re.findall(r'"(/static/[^"]+)"', page)[0]).status_code == 200
        assert "class ClampWithGrad" in re.sub("<[^>]*>", "", page)


def files(package: Path, folder: str) -> set[Path]:
    return {path.relative_to(package) for path in (package / folder).rglob("*.*") if "__pycache__" not in path.parts}


def test_the_wheel_holds_every_template_script_style_sheet_and_font(installed: Path) -> None:
    (package,) = (installed.parents[1] / "lib").glob("python*/site-packages/gradloupe")
    for folder in ("static", "templates", "server/png/fonts"):
        assert files(package, folder) == files(HERE, folder)


def test_the_command_says_its_version(installed: Path) -> None:
    ran = subprocess.run([installed.with_name("gradloupe"), "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() in (HERE / "__init__.py").read_text()


@pytest.mark.nightly
def test_the_wheel_looks_and_checks_in_somebodys_repository(installed: Path, tmp_path: Path) -> None:
    """Whose packages are called like our folders, with a Function that needs one of them."""
    for name, text in {
        "ops/__init__.py": "",
        "ops/slope.py": "SLOPE = 2.0\n",
        "server/__init__.py": "raise SystemExit('nobody asked for this one')\n",
        "my_ops.py": f"import torch\nfrom ops.slope import SLOPE\n\n\n{class_source(DOUBLE, 'Double')}",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    command = [installed.with_name("gradloupe"), "my_ops.py", "--check", "--format", "json"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert [(each["name"], each["word"]) for each in json.loads(ran.stdout)["functions"]] == [("Double", "matches")]
    program = (
        "import gradloupe; from my_ops import Double;"
        "print(gradloupe.__file__, gradloupe.check(Double).word, len(gradloupe.look(Double, x=(-3, 3)).page))"
    )
    ran = subprocess.run([installed, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    place, word, size = ran.stdout.split()
    assert Path(place).is_relative_to(installed.parents[1])
    assert (word, int(size) > 100_000) == ("matches", True)
