"""Atomic file write: temporary file and rename."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def atomic_write(path: Path, content: bytes) -> None:
    """Write or replace a file; raises ``OSError``, and then leaves the old file as it was."""
    path = path.resolve()
    if path.is_dir():
        raise IsADirectoryError(None, "it is a folder", str(path))
    if path.exists() and not path.is_file():  # a device or a pipe cannot be replaced
        path.write_bytes(content)
        return
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
