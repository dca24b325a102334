"""Where the package lies on disk, its import name, and where it runs; the only module that uses its ``__file__``."""

import os

PACKAGE = __package__.rpartition(".")[0]
SERVER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(SERVER)
OPS = os.path.join(ROOT, "ops")
STATIC = os.path.join(ROOT, "static")
TEMPLATES = os.path.join(ROOT, "templates")
FONTS = os.path.join(SERVER, "png", "fonts")


def working_directory() -> str:
    """The working directory, or the root if it has been deleted."""
    try:
        return os.getcwd()
    except OSError:
        return os.sep


def source_files() -> list[str]:
    """The Python files of ``ops/`` and ``server/``, sorted: the code that answers depend on."""
    return sorted(
        os.path.join(folder, name)
        for top in (OPS, SERVER)
        for folder, _, names in os.walk(top)
        for name in names
        if name.endswith(".py")
    )
