"""Import hook for user files: a finder and a loader that bypass the bytecode cache and record what was read."""

import linecache
import os
import sys
import sysconfig
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import decode_source, spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

from ..paths import OPS, SERVER
from ..protocol.load_error import source_lines

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
