"""The floors: ops < server.numerics < server < templates, static. Imports only point down; torch stays downstairs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.servers import HERE

STANDARD = set(sys.stdlib_module_names)


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(HERE).with_suffix("").parts).removesuffix(".__init__")


FRONT = [
    path
    for folder in ("static", "templates")
    for path in sorted((HERE / folder).rglob("*.*"))
    if path.suffix in (".css", ".html", ".js", ".py", ".svg")
]
MODULES = {name_of(path): path for folder in ("ops", "server") for path in sorted((HERE / folder).rglob("*.py"))}


def imports_of(name: str) -> set[str]:
    """What a module imports, at its top or anywhere in it: ours from the root of the package, others by package."""
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


def test_the_web_is_up_without_torch() -> None:
    assert not {"torch", "numpy", "plotly"} & (loaded_by("gradloupe.server.cli") | loaded_by("gradloupe.server.app"))


def test_the_worker_is_started_before_the_web_is_imported() -> None:
    assert not {"asyncio", "fastapi", "jinja2", "uvicorn"} & loaded_by("gradloupe.server.cli")


def test_the_process_that_draws_pixels_loads_nothing_else() -> None:
    assert {name for name in loaded_by("gradloupe.server.png.process") if name.startswith("gradloupe")} == {
        *("gradloupe", "gradloupe.server", "gradloupe.server.paths"),
        *("gradloupe.server.png", "gradloupe.server.png.process", "gradloupe.server.png.pdf_document"),
    }


def loaded_by(module: str) -> set[str]:
    program = f"import {module}, sys; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


@pytest.mark.parametrize("list_of", ["pyproject.toml", "requirements.txt"])
def test_what_is_imported_is_declared(list_of: str) -> None:
    names = re.findall(r'^ *"?([a-z0-9_-]+)[^#\n]*[=>]=', (HERE / list_of).read_text(), re.MULTILINE)
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


def test_only_one_module_asks_where_it_lies() -> None:
    """A module that finds files by its own place is broken by moving it."""
    assert [name for name, path in MODULES.items() if "(__file__)" in path.read_text()] == ["server.paths"]


def test_a_public_name_stands_for_one_thing_in_the_whole_tree() -> None:
    """But for what each script and each group of addresses has: its entry point, its router."""
    named: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        for node in ast.parse(path.read_text()).body:
            for name in _defined(node) - {"main", "router"}:
                if module.startswith("server") and not name.startswith("_"):
                    named.setdefault(name, set()).add(module)
    assert {name: modules for name, modules in named.items() if len(modules) > 1} == {}


def _defined(node: ast.stmt) -> set[str]:
    """The names that a statement at the top of a module gives to what it makes."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}


def test_every_package_says_what_lives_in_it() -> None:
    packages = {name: path for name, path in MODULES.items() if path.name == "__init__.py" and name != "ops"}
    said = {name: ast.get_docstring(ast.parse(path.read_text())) or "" for name, path in packages.items()}
    assert [name for name, text in said.items() if len(text.split()) < 5] == []
