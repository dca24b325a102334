"""A script together with all modules that it imports, as one file, so that a page asks for one however many there are.

A server puts a file together when it is first asked for, and everybody can read it. Each module becomes
a function that returns what it exports; the page keeps that by its path, so a module in two files runs once.
"""

import re
from collections.abc import Callable
from graphlib import TopologicalSorter
from posixpath import dirname, join, normpath, relpath

_IMPORT = re.compile(r'^import (\{[^}]*\}) from "(\.{1,2}/[\w./-]+)";$', re.M)
_EXPORT = re.compile(r"^export (?=(?:class|const|(?:async )?function) (\w+))", re.M)
_LATER = re.compile(r'\bimport\("(\.{1,2}/[\w./-]+)"\)')
_OTHER_FORM = re.compile(r"^(?:import|export)\b.*", re.M)


def bundled_script(entry: str, read: Callable[[str], str], shared: str = "") -> str:
    """The module ``entry`` with all that it imports, those imported dynamically aside; ``read`` gives a source by path.

    Where that contains the module ``shared``, the file imports the file of that one, which other pages have as well.
    Raises ``ValueError`` for a circle of imports, and for an import or export in a form that is not understood.
    """
    modules = _with_imports(entry, read)
    lines = ["const modules = (globalThis.gradloupeModules ??= {});"]
    if shared in modules and shared != entry:
        lines.insert(0, f'import "{_relative(shared, entry)}";')
        for module in _with_imports(shared, read):
            del modules[module]
    lines += [_as_function(module, source, entry) for module, source in modules.items()]
    exported = ", ".join(_EXPORT.findall(modules[entry]))
    return "\n".join([*lines, f'export const {{ {exported} }} = modules["{entry}"];', ""])


def _with_imports(entry: str, read: Callable[[str], str]) -> dict[str, str]:
    """The sources of a module and of all that it imports by path, each after those that it imports."""
    sources: dict[str, str] = {}
    graph: dict[str, list[str]] = {}
    wanted = [entry]
    while wanted:
        module = wanted.pop()
        if module not in graph:
            sources[module] = read(module)
            graph[module] = [_resolved(module, name) for _, name in _IMPORT.findall(sources[module])]
            wanted += graph[module]
    return {module: sources[module] for module in TopologicalSorter(graph).static_order()}


def _as_function(module: str, source: str, entry: str) -> str:
    """A statement that runs a module where none has; its dynamic imports are relative to ``entry``."""
    source = _LATER.sub(lambda found: f'import("{_relative(_resolved(module, found[1]), entry)}")', source)
    names = ", ".join(_EXPORT.findall(source))
    source = _EXPORT.sub("", source)
    source = _IMPORT.sub(lambda found: _destructured(found[1], _resolved(module, found[2])), source)
    if other := _OTHER_FORM.search(source):
        raise ValueError(
            f'{module}: {other[0]}: write import {{ name }} from "./module.js"; or export const, function or class'
        )
    return f'modules["{module}"] ??= (() => {{\n{source}\nreturn {{ {names} }};\n}})();'


def _destructured(names: str, module: str) -> str:
    return f'const {names.replace(" as ", ": ")} = modules["{module}"];'


def _resolved(module: str, name: str) -> str:
    """The path to which a relative specifier in a module resolves."""
    return normpath(join(dirname(module), name))


def _relative(module: str, entry: str) -> str:
    path = relpath(module, dirname(entry))
    return path if path.startswith("..") else f"./{path}"
