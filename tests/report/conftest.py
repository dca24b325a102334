from pathlib import Path

import pytest
from support.checked_files import Reports, written_into


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files of Functions good and bad, and one that cannot be read."""
    return written_into(tmp_path_factory.mktemp("visitor"))


@pytest.fixture(scope="session")
def reports(folder: Path) -> Reports:
    """What is reported of the files in the folder."""
    return Reports(folder)
