"""The folder of a site: what of it is ours, and that it is never half written."""

import resource
from pathlib import Path

import pytest

from gradloupe.server.publish.command import MANIFEST, FolderRefused, Written, write_folder

FILES = {"index.html": b"first", "a/b.html": b"b", "a/c.html": b"c"}


def contents(folder: Path) -> dict[str, bytes]:
    """What lies in the folder, but for the list of our files."""
    found = {each.relative_to(folder).as_posix(): each.read_bytes() for each in folder.rglob("*") if each.is_file()}
    return {name: content for name, content in found.items() if name != MANIFEST}


def test_what_has_changed_is_written_and_what_is_gone_is_removed(tmp_path: Path) -> None:
    site = tmp_path / "new" / "site"
    assert write_folder(site, FILES) == Written(3, 3, 0, 7)
    assert write_folder(site, FILES) == Written(3, 0, 0, 0)
    (site / "theirs.txt").write_bytes(b"theirs")
    assert write_folder(site, {"index.html": b"second"}) == Written(1, 1, 2, 6)
    assert contents(site) == {"index.html": b"second", "theirs.txt": b"theirs"}
    assert not (site / "a").exists()


def test_a_folder_of_somebody_else_is_refused_and_so_is_a_file_of_hers_in_ours(tmp_path: Path) -> None:
    (tmp_path / "hers").mkdir()
    (tmp_path / "hers/thesis.tex").write_bytes(b"hers")
    with pytest.raises(FolderRefused, match="is not empty and was not made by gradloupe --publish"):
        write_folder(tmp_path / "hers", FILES)
    with pytest.raises(FolderRefused, match="is a file"):
        write_folder(tmp_path / "hers/thesis.tex", FILES)
    write_folder(tmp_path / "site", {"index.html": b"1"})
    (tmp_path / "site/notes.html").write_bytes(b"hers")
    with pytest.raises(FolderRefused, match=r"notes\.html was not made by gradloupe"):
        write_folder(tmp_path / "site", {"index.html": b"2", "notes.html": b"ours"})
    assert contents(tmp_path / "site") == {"index.html": b"1", "notes.html": b"hers"}


@pytest.mark.parametrize("listed", ['{"files": ["../outside"]}', '{"files": ["index.html", "link/outside"]}'])
def test_a_list_of_files_from_a_stranger_reaches_nothing_outside(tmp_path: Path, listed: str) -> None:
    (tmp_path / "outside").write_bytes(b"safe")
    (tmp_path / "site").mkdir()
    (tmp_path / "site/link").symlink_to(tmp_path)
    (tmp_path / "site" / MANIFEST).write_text(listed)
    write_folder(tmp_path / "site", {"index.html": b"1"})
    assert (tmp_path / "outside").read_bytes() == b"safe"


def test_a_list_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text("[]")
    with pytest.raises(FolderRefused, match="cannot be read"):
        write_folder(tmp_path, FILES)


def test_a_disk_that_is_full_leaves_the_site_as_it_was(tmp_path: Path) -> None:
    write_folder(tmp_path, FILES)
    before = contents(tmp_path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))  # no larger file can be written
    try:
        with pytest.raises(OSError, match="large"):
            write_folder(tmp_path, {"index.html": b"second", "z.html": b"z" * 5000})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert contents(tmp_path) == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a", MANIFEST, "index.html"]
