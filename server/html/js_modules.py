"""Which modules of ours a module needs, so that a browser can ask for all of them at once."""

from __future__ import annotations

import re
from posixpath import dirname, join, normpath

from .assets import Assets

# A name in parentheses is that of what is loaded later.
IMPORT = re.compile(r"""(\b(?:from|import)\s*)(\(?)(\s*["'])(\.{1,2}/[\w./-]+)(?=["'])""")


def needed(assets: Assets, entry: str) -> list[str]:
    """The paths of the modules that ``entry`` imports, and those that they import, without what it loads later."""
    found: list[str] = []
    wanted = [entry]
    while wanted:
        module = wanted.pop()
        for _, later, _, name in IMPORT.findall(assets.read(module).decode()):
            path = _resolved(module, name)
            if not later and path not in found:
                found.append(path)
                wanted.append(path)
    return sorted(found)


def bare(source: str, module: str) -> str:
    """The source of a module with the paths of those it imports as bare names, ``js/x.js`` for ``../x.js``."""
    return IMPORT.sub(lambda found: "".join(found.group(1, 2, 3)) + _resolved(module, found[4]), source)


def _resolved(module: str, name: str) -> str:
    """The path of what a module imports by a relative name."""
    return normpath(join(dirname(module), name))
