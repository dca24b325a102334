"""Which modules of ours a module needs, so that a browser can ask for all of them at once."""

from __future__ import annotations

import re

from .assets import Assets

IMPORT = re.compile(r"""^(?:import|export)\b[^;"'()]*["']\./([\w-]+)\.js["']""", re.MULTILINE)


def needed(assets: Assets, entry: str) -> list[str]:
    """The file names of the modules that ``entry`` imports, and those that they import, without what it loads later."""
    found: list[str] = []
    wanted = [entry]
    while wanted:
        for name in IMPORT.findall(assets.read(wanted.pop()).decode()):
            if f"{name}.js" not in found:
                found.append(f"{name}.js")
                wanted.append(f"{name}.js")
    return sorted(found)
