"""Importer of a target file or module: relative imports work, module names cannot clash with ours, cached bytecode is
never used, what was read is recorded, and settings of the process that the file changes are restored.
"""

import importlib
import keyword
import linecache
import os
import re
import sys
import sysconfig
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import decode_source, spec_from_file_location
from pathlib import Path
from pkgutil import iter_modules
from types import CodeType, ModuleType

from ..config.target import BadTarget, Target
from ..paths import OPS, ROOT, SERVER
from ..protocol.listed import closest_match
from ..protocol.load_error import source_lines
from ..runtime.settings import DEFAULT_DTYPE, SETTINGS, SavedSettings

_OURS = (Path(OPS).resolve(), Path(SERVER).resolve())
_INSTALLED = frozenset(("site-packages", "dist-packages"))
STDLIB_FOLDERS = tuple(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib"))

_FileContents = dict[str, bytes]


def _is_user_path(path: str) -> bool:
    """Whether a file is neither installed nor part of Python or of Gradloupe."""
    if path.startswith("<"):
        return False
    real = Path(os.path.realpath(path))
    return _INSTALLED.isdisjoint(real.parts) and not any(map(real.is_relative_to, (*_OURS, *STDLIB_FOLDERS)))


class _UncachedLoader(SourceFileLoader):
    """A loader that always compiles the source: cached bytecode can be that of a save earlier in the same second."""

    def __init__(self, name: str, path: str, read: _FileContents) -> None:
        super().__init__(name, path)
        self._read = read

    def get_code(self, fullname: str) -> CodeType:
        """The code of the module, from its source; no bytecode is written."""
        path = self.get_filename(fullname)
        data = self._read[path] = self.get_data(path)
        _cache_lines(path, data)
        code: CodeType = self.source_to_code(data, path)
        return code


class UserFileFinder(MetaPathFinder):
    """A meta path finder that has user files loaded without the bytecode cache; ``read`` is their content."""

    def __init__(self) -> None:
        self.read: _FileContents = {}
        self.placed: dict[str, Path] = {}  # modules by name that Python would not find there itself
        self.named: set[str] = set()  # the targets, which are user files wherever they are

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of the next finder, its loader replaced where the file is the user's."""
        if fullname in self.placed:
            return self._placed_spec(fullname, self.placed[fullname])
        for finder in sys.meta_path:
            # Two of them would ask each other for ever.
            if isinstance(finder, UserFileFinder) or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                if type(spec.loader) is SourceFileLoader and spec.origin and self.owns(spec.origin):
                    spec.loader = _UncachedLoader(fullname, spec.origin, self.read)
                return spec
        return None

    def _placed_spec(self, name: str, path: Path) -> ModuleSpec | None:
        if path.is_dir():
            spec = ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations = [str(path)]
            return spec
        inside = [str(path.parent)] if path.name == "__init__.py" else None
        loader = _UncachedLoader(name, str(path), self.read)
        return spec_from_file_location(name, path, loader=loader, submodule_search_locations=inside)

    def name_of(self, module: str) -> str:
        """The name under which other programs import a module."""
        first, dot, rest = module.partition(".")
        place = self.placed.get(first)
        if place is not None:
            first = place.parent.name if place.name == "__init__.py" else place.stem
        return first + dot + rest

    def owns(self, path: str) -> bool:
        """Whether the file is the user's."""
        return path in self.named or _is_user_path(path)


def _cache_lines(path: str, data: bytes) -> None:
    """Put the source into ``linecache``, so that tracebacks show what was loaded even when the file changes."""
    try:
        text = decode_source(data)
    except (UnicodeDecodeError, SyntaxError, LookupError):  # reported when it is compiled
        return
    linecache.cache[path] = (len(data), None, [f"{line}\n" for line in source_lines(text)], path)


_PROJECT_FILES = (".git", "pyproject.toml", "setup.py", "setup.cfg")
_MAX_DEPTH = 4  # folders above a file that are searched for what it imports


def import_target(target: Target, reading: UserFileFinder) -> tuple[ModuleType, list[str]]:
    """The module of a target, and a note for each setting of the process that it changes.

    Raises ``BadTarget`` where there is no such module, and whatever the import raises.
    """
    sys.argv = [target.path or target.module]
    process = os.getpid()
    # Constants of its Functions may depend on a default dtype that the file sets.
    with SavedSettings(SETTINGS, kept=(DEFAULT_DTYPE,)).restored() as changes:
        module = _import_module(target) if target.module else _import_file(Path(target.path), reading)
    if os.getpid() != process:  # the file has forked, and its child came back here
        os._exit(0)
    return module, [each.note(target.name, "when it is imported", "here") for each in changes]


def _import_module(target: Target) -> ModuleType:
    _prepend_path(target.cwd)
    try:
        return importlib.import_module(target.module)
    except ModuleNotFoundError as problem:
        if problem.name and f"{target.module}.".startswith(f"{problem.name}."):
            raise BadTarget(_missing_module_message(target, problem.name)) from None
        raise


def _missing_module_message(target: Target, missing: str) -> str:
    above, _, last = missing.rpartition(".")
    parent = sys.modules.get(above)
    if parent is None:
        return f"There is no module {missing}; name a file, such as my_ops.py, or a module that is installed here."
    if hasattr(parent, last):
        inner = target.module[len(above) + 1 :]
        return f"{above} has no module {last}, but something else of that name; write {above}:{inner}."
    inside = [each.name for each in iter_modules(getattr(parent, "__path__", ()))]
    suggestion = closest_match(last, inside)
    hint = f"did you mean {above}.{suggestion}?" if suggestion else f"it has {', '.join(inside[:5]) or 'none at all'}."
    return f"{above} has no module {last}; {hint}"


def _import_file(path: Path, reading: UserFileFinder) -> ModuleType:
    """The module of a file: as part of its package if it has one, else alone with its folder first on ``sys.path``.

    A failed import is retried: a relative one with the file as a submodule of the folders above it, an absolute one
    with those folders on ``sys.path``.
    """
    modules_before, above = set(sys.modules), _package_depth(path)
    while True:
        try:
            return _import_alone(path, reading) if not above else _import_in_package(path, above, reading)
        except ImportError as problem:
            folder = _folder_with(problem.name or "", path)
            if "attempted relative import" in str(problem) and above < min(_MAX_DEPTH, len(path.parents) - 1):
                above += 1
            elif folder and folder not in sys.path:
                sys.path.insert(1, folder)
            else:
                raise
            _unload(modules_before, problem.name or "", reading)


def _package_depth(path: Path) -> int:
    """How many of the folders above a file are nested packages."""
    return next(n for n, folder in enumerate(path.parents) if not (folder / "__init__.py").is_file())


def _import_alone(path: Path, reading: UserFileFinder) -> ModuleType:
    loaded = sys.modules.get(path.stem)
    if getattr(loaded, "__file__", None) == str(path):  # another target has imported it
        return sys.modules[path.stem]
    _prepend_path(str(path.parent))
    name = _free_name(path.stem)
    reading.placed[name] = path
    return importlib.import_module(name)


def _import_in_package(path: Path, above: int, reading: UserFileFinder) -> ModuleType:
    """The module of a file in a package whose top folder is ``above`` levels up."""
    top = path.parents[above - 1]
    inner = path.relative_to(top).with_suffix("").parts
    submodules = [part for part in inner if part != "__init__"]
    root = Path(ROOT).resolve()
    if root in (top, *top.parents):  # an op of the gallery, perhaps changed since it was loaded
        name = ".".join((__name__.partition(".")[0], *path.relative_to(root).with_suffix("").parts))
        sys.modules.pop(name, None)
        return importlib.import_module(name)
    _prepend_path(str(top.parent))
    name = _loaded_package(top)
    if not name:
        own = (top / "__init__.py").is_file() and top.name == _free_name(top.name)
        name = top.name if own else _register_package(top, reading)
    return importlib.import_module(".".join((name, *submodules)))


def _loaded_package(folder: Path) -> str:
    """The name of the package already imported from a folder; "" if there is none."""
    packages = ((name, getattr(module, "__path__", ())) for name, module in list(sys.modules.items()))
    return next((name for name, path in packages if "." not in name and list(path) == [str(folder)]), "")


def _register_package(folder: Path, reading: UserFileFinder) -> str:
    """Register a folder as a package under a free name, and return that name."""
    name, init = _free_name(folder.name), folder / "__init__.py"
    reading.placed[name] = init if init.is_file() else folder
    return name


def _free_name(name: str) -> str:
    """A module name that is not taken: that of the file, with underscores appended where necessary."""
    name = re.sub(r"\W", "_", name)
    name = f"_{name}" if not name.isidentifier() else name
    while name in sys.modules or name in sys.stdlib_module_names or keyword.iskeyword(name):
        name += "_"
    return name


def _folder_with(module: str, path: Path) -> str:
    """The folder above the file, or its ``src``, that contains a module of that name; "" if none does."""
    if not module:
        return ""
    resolved = [path.resolve().parent] if path.is_symlink() else []  # Python looks there, too
    for folder in (*resolved, *path.parents[:_MAX_DEPTH]):
        for place in (folder, folder / "src"):
            candidate = place.joinpath(*module.split("."))
            if candidate.with_suffix(".py").is_file() or any(candidate.glob("*.py")):
                return str(place)
        if any((folder / mark).exists() for mark in _PROJECT_FILES):
            break
    return ""


def _prepend_path(folder: str) -> None:
    if folder in sys.path:
        sys.path.remove(folder)
    sys.path.insert(0, folder)
    importlib.invalidate_caches()


def _unload(modules_before: set[str], missing: str, reading: UserFileFinder) -> None:
    """Remove the user's modules that a failed import has loaded from ``sys.modules``, so that they are loaded again."""
    top = missing.partition(".")[0]
    for name in set(sys.modules) - modules_before:
        file = getattr(sys.modules[name], "__file__", None)
        if name.partition(".")[0] == top or (file and reading.owns(file)):
            del sys.modules[name]
