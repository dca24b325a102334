"""Which modules of ours a module needs, so that a browser can ask for all of them at once."""

from __future__ import annotations

import re

from .assets import Assets

# A name in parentheses is that of what is loaded later.
IMPORT = re.compile(r"""(\b(?:from|import)\s*)(\(?)(\s*["'])\./([\w.-]+)(?=["'])""")


def needed(assets: Assets, entry: str) -> list[str]:
    """The file names of the modules that ``entry`` imports, and those that they import, without what it loads later."""
    found: list[str] = []
    wanted = [entry]
    while wanted:
        for _, later, _, name in IMPORT.findall(assets.read(wanted.pop()).decode()):
            if not later and name not in found:
                found.append(name)
                wanted.append(name)
    return sorted(found)


def bare(source: str) -> str:
    """``source`` with the bare names of the modules it imports, ``x.js`` for ``./x.js``, as an import map has them."""
    return IMPORT.sub(r"\1\2\3\4", source)
