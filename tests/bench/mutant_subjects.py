"""The Functions whose backward is mutated: as bare classes, each with the text of the module that defines it."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from inference import undeclared_functions
from torch.autograd import Function

from gradloupe.ops import OPS

TESTS = Path(__file__).parents[1]
# Of our tests, where most Functions are right; those in which mistakes are planted are left out.
OURS = ("basics", "contract_kept", "learned_scalars", "user_written")
FILES = (*(TESTS / "functions" / f"{name}.py" for name in OURS), *sorted((TESTS / "inference").glob("test_*.py")))


@dataclass(frozen=True)
class Original:
    """A Function of a ``collection``, and the ``source`` of its module, without declarations.

    ``right`` says that it claims to be: it is no surrogate, and no specimen of something wrong.
    """

    collection: str
    name: str
    function: type[Function]
    source: str
    right: bool


def originals() -> Iterator[Original]:
    """All of them, in a fixed order."""
    for each in undeclared_functions():
        name, source = each.function.__name__, bare_source(sys.modules[each.function.__module__])
        specimen = each.collection == "our gallery" and bool(OPS[each.name].broken)
        yield Original(each.collection, name, each.function, source, each.right == ("matches",) and not specimen)
    for path in FILES:
        module = module_of_file(path, f"{path.parent.name}_{path.stem}")
        source = bare_source(module)
        for each in list(vars(module).values()):
            if inspect.isclass(each) and issubclass(each, Function) and each.__module__ == module.__name__:
                yield Original("our tests", each.__name__, each, source, right=True)


def module_of_file(path: Path, name: str) -> ModuleType:
    """The module in a file, imported under that name."""
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def bare_source(module: ModuleType) -> str:
    """The source of a module for another place: imports are absolute, and what an ``Op`` declares is left out."""
    source = inspect.getsource(module)
    lines = source.splitlines(keepends=True)
    for node in reversed(ast.parse(source).body):
        if isinstance(node, ast.ImportFrom) and node.level:
            home = (module.__package__ or "").rsplit(".", node.level - 1)[0]
            names = ", ".join(f"{each.name} as {each.asname}" if each.asname else each.name for each in node.names)
            whence = f"{home}.{node.module}" if node.module else home
            lines[node.lineno - 1 : node.end_lineno] = [f"from {whence} import {names}\n"]
        elif _declares(node):
            lines[node.lineno - 1 : node.end_lineno] = []
    return "".join(lines)


def _declares(node: ast.stmt) -> bool:
    value = node.value if isinstance(node, ast.Assign) else None
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "Op"
