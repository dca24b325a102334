"""The site that is published of somebody's five Functions, once for all tests that leave it as it is."""

from pathlib import Path

import pytest
from support.command_line import ran
from support.published_site import written


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = written(tmp_path_factory.mktemp("published"))
    told = ran(folder, "my_ops.py --publish site")
    assert told.returncode == 0, told.stderr
    assert told.stderr.startswith("5 Functions and 1 lesson: ")
    assert "Unknown has a page that says why it cannot be called: " in told.stderr
    return folder / "site"
