"""What is imported is declared, and not before it is needed; which floor imports which, lint-imports says."""

import ast
import re
import subprocess
import sys

from support.servers import HERE

HOSTS = {
    "anywidget",
    "traitlets",
    "docutils",
    "sphinx",
}  # we are their guests; with what they bring
MODULES = [path for folder in ("ops", "server") for path in (HERE / folder).rglob("*.py")]


def loaded_by(module: str) -> set[str]:
    program = f"import {module}, sys; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


def test_the_web_is_up_without_torch() -> None:
    assert not {"torch", "numpy", "plotly", "typst"} & loaded_by("gradloupe.server.app")


def test_the_worker_is_started_before_the_web_is_imported() -> None:
    assert not {"torch", "numpy", "asyncio", "fastapi", "jinja2", "uvicorn"} & loaded_by("gradloupe.server.cli")


def test_what_is_imported_is_declared() -> None:
    imported = set[str]()
    for node in (node for path in MODULES for node in ast.walk(ast.parse(path.read_text()))):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            imported.add(str(node.module).partition(".")[0])
    imported -= {*sys.stdlib_module_names, "gradloupe"}
    imported = imported - HOSTS - {"flint"} | {"python_flint"}  # as it is called where it is fetched
    assert {"torch", "markupsafe", "pydantic"} <= imported
    for list_of in ("pyproject.toml", "requirements.txt"):
        names = re.findall(r'^ *"?([a-z0-9_-]+)[^#\n]*[=>]=', (HERE / list_of).read_text(), re.MULTILINE)
        assert imported <= {name.replace("-", "_") for name in names}


def test_no_file_names_another_host_to_fetch_from() -> None:
    for path in (path for folder in ("static", "templates") for path in (HERE / folder).rglob("*.*")):
        if path.suffix in (".css", ".html", ".js", ".svg"):
            assert not re.search("https?://(?!www.w3.org/)", path.read_text()), path
