"""The floors: ops < server.numerics < server < templates, static. Imports only point down; torch stays downstairs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[1]
STANDARD = set(sys.stdlib_module_names)
BEHIND_THE_DOOR = {
    f"server.{name}"
    for name in (
        *("answer", "build", "catalogue", "collection", "columns", "confinement", "copies", "offspring"),
        *("service", "shapes", "worker", "zygote"),
    )
}
VIEWS = {path.stem for path in (HOUSE / "server" / "views").glob("*.py")} - {"__init__"}
BEHIND_THE_DOOR |= {"server.views"} | {f"server.views.{name}" for name in VIEWS}
# What both sides of the channel know: plain data and how it travels.
SHARED = {
    f"server.{name}"
    for name in (
        "address",
        "blank",
        "denial",
        "fault",
        "frames",
        "header",
        "interpreter",
        "meant",
        "mishap",
        "number",
        "own.searched",
        "paths",
        "own.target",
        "question",
        "source_lines",
        "work",
    )
}
BEHIND_THE_DOOR |= {
    f"server.own.{path.stem}"
    for path in (HOUSE / "server" / "own").glob("*.py")
    if path.stem not in ("__init__", "searched", "target")
} | {"server.own"}
DOOR = {
    f"server.{name}"
    for name in (
        *("channel", "engine", "life", "loss", "memory", "nursery", "process", "succession", "unloaded"),
        "unsolved",
    )
}
# The ops that are about code which autograd cannot see.
ABOUT_NUMPY = {"ops.bessel_j0", "ops.lambert_w", "ops.numpy_cube"}
WEB = {
    "brotli",
    "fastapi",
    "jinja2",
    "latex2mathml",
    "markupsafe",
    "pydantic",
    "orjson",
    "prometheus_client",
    "psutil",
    "pygments",
    "rich",
    "starlette",
    "uvicorn",
    "watchfiles",
}


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(HOUSE).with_suffix("").parts).removesuffix(".__init__")


FRONT = [
    path
    for folder in ("static", "templates")
    for path in sorted((HOUSE / folder).rglob("*.*"))
    if path.suffix in (".css", ".html", ".js", ".py", ".svg")
]
MODULES = {name_of(path): path for folder in ("ops", "server") for path in sorted((HOUSE / folder).rglob("*.py"))}


def imports_of(name: str) -> set[str]:
    """What a module imports, at its top or anywhere in it: ours from the root of the house, others by package."""
    path = MODULES[name]
    home = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add((node.module or "").split(".")[0])
        elif isinstance(node, ast.ImportFrom):
            base = home[: len(home) - node.level + 1] + (node.module.split(".") if node.module else [])
            members = [".".join([*base, alias.name]) for alias in node.names]
            found |= {each if each in MODULES else ".".join(base) for each in members}
    return found - {""}


def allowed_for(name: str) -> set[str]:
    ops = {each for each in MODULES if each == "ops" or each.startswith("ops.")}
    numerics = {each for each in MODULES if each.startswith("server.numerics")}
    if name == "ops" or name == "ops.op":
        return STANDARD | {"torch", "ops.op"}
    if name in ops:
        return {"torch", "math", "ops.op"} | ({"numpy"} if name in ABOUT_NUMPY else set())
    if name in numerics:
        return STANDARD | {"torch", "numpy"} | ops | numerics
    if name in BEHIND_THE_DOOR:
        return STANDARD | {"torch", "numpy"} | ops | numerics | BEHIND_THE_DOOR | SHARED
    if name in SHARED:
        return STANDARD | SHARED
    if name == "server.raster":
        return STANDARD | {"resvg_py"}
    if name == "server.memory":
        return STANDARD | {"psutil"}
    if name in DOOR:
        return STANDARD | SHARED | DOOR
    # In a notebook there is one process: what looks at a Function there stands on both sides of the door.
    notebook = {each for each in MODULES if each.startswith("server.notebook")}
    if name in notebook:
        return STANDARD | WEB | {"torch", "numpy"} | set(MODULES)
    web = {each for each in MODULES if each.startswith("server")} - numerics - BEHIND_THE_DOOR - notebook
    return STANDARD | WEB | web


@pytest.mark.parametrize("name", MODULES)
def test_imports_only_point_down(name: str) -> None:
    assert imports_of(name) - allowed_for(name) == set()


def test_the_web_is_up_without_torch() -> None:
    program = (
        "import gradloupe.__main__, gradloupe.server.app, sys; print(*{'torch', 'numpy', 'plotly'} & set(sys.modules))"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert loaded.split() == []


def test_the_worker_is_started_before_the_web_is_imported() -> None:
    assert not {"asyncio", "fastapi", "jinja2", "uvicorn"} & loaded_by("gradloupe.__main__")


def test_the_process_that_draws_pixels_loads_nothing_else() -> None:
    assert {name for name in loaded_by("gradloupe.server.raster") if name.startswith("gradloupe")} == {
        *("gradloupe", "gradloupe.server", "gradloupe.server.raster")
    }


def loaded_by(module: str) -> set[str]:
    program = f"import {module}, sys; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


@pytest.mark.parametrize("list_of", ["pyproject.toml", "requirements.txt"])
def test_what_is_imported_is_declared(list_of: str) -> None:
    names = re.findall(r'^ *"?([a-z0-9_-]+)[^#\n]*[=>]=', (HOUSE / list_of).read_text(), re.MULTILINE)
    declared = {name.replace("-", "_") for name in names}
    imported = set().union(*map(imports_of, MODULES)) - STANDARD - set(MODULES)
    assert {"torch", "markupsafe", "pydantic"} <= imported
    assert imported <= declared


def test_no_file_is_longer_than_400_lines() -> None:
    assert [path.name for path in (*MODULES.values(), *FRONT) if len(path.read_text().splitlines()) > 400] == []


def test_no_file_names_another_host_to_fetch_from() -> None:
    for path in FRONT:
        text = path.read_text().replace("http://www.w3.org/", "")
        assert "http://" not in text, path
        assert "https://" not in text, path
